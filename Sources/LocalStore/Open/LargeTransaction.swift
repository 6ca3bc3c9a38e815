import CSQLiteConfig
import GRDB

/// How much a write transaction may write.
package enum WriteExtent: Sendable {
    /// Some pages.
    case few
    /// A page for each of many rows.
    case many
    /// Many megabytes.
    case large
}

/// Makes one write transaction of many pages cheaper for SQLite.
///
/// - The log is written and read in pieces (`csqlite_log_gather`).
/// - For many megabytes, a larger cache keeps the inner pages of a growing index until their neighbours are split. A page that SQLite had to write
///   to the write-ahead log and changes again makes it compute the checksums of everything after it anew.
///
/// Memory: 184 KiB, and for many megabytes 2 MB more than SQLite's default cache.
final class LargeTransaction {
    private static let cacheKibibytes = 4096

    private let db: Database
    /// The cache's size as it was; nil if it was large enough.
    private let cacheBefore: Int?
    private var log: OpaquePointer?

    /// Call it before the transaction begins.
    init(_ db: Database, _ extent: WriteExtent) throws {
        self.db = db
        guard extent == .large else {
            cacheBefore = nil
            return
        }
        let size = try Int.fetchOne(db, sql: "PRAGMA main.cache_size") ?? 0
        // A negative size is in KiB, a positive one in pages.
        let kibibytes = try size < 0 ? -size : size * (Int.fetchOne(db, sql: "PRAGMA main.page_size") ?? 4096) / 1024
        cacheBefore = kibibytes < Self.cacheKibibytes ? size : nil
        if cacheBefore != nil { try db.execute(sql: "PRAGMA main.cache_size = -\(Self.cacheKibibytes)") }
    }

    /// Call it when the transaction has begun and has written nothing.
    func begin() {
        // With less than FULL, SQLite does not sync the log before other connections read it.
        guard log == nil, (try? db.journalMode()) == "wal",
            let synchronous = try? Int.fetchOne(db, sql: "PRAGMA main.synchronous"), synchronous >= 2
        else { return }
        log = csqlite_log_gather(db.sqliteConnection)
    }

    /// Call it when the transaction has ended, also if that failed.
    func end() {
        csqlite_log_end(log)
        log = nil
        if let cacheBefore { try? db.execute(sql: "PRAGMA main.cache_size = \(cacheBefore)") }
    }
}
