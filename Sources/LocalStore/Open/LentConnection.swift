import GRDB
import GRDBSQLite
import SnapshotModel
import StrictText
import Synchronization

/// Prepares an application's connection for each of the toolkit's transactions, and restores its settings afterwards.
///
/// The toolkit's SQL relies on its functions, on foreign keys and recursive triggers that are off, and on `synchronous = EXTRA` (see ``LocalDatabase``).
final class LentConnection: Sendable {
    private let wait: LockWait
    private let hasFunctions = Mutex(false)

    init(_ wait: LockWait) { self.wait = wait }

    /// Throws if the database has no file, because the toolkit's other connections must read what this one has committed.
    static func verifyFile(_ path: String) throws(LocalStoreError) {
        guard !path.isEmpty, !path.exact.hasPrefix(":memory:"), !path.exact.hasPrefix("file:") else {
            throw LocalStoreError(
                .notFound, at: path.isEmpty ? "the database" : path, "it is not a file that several connections can open by its path",
                hint: "open the pool or queue with the path of a file")
        }
    }

    /// Runs `body`, which begins and ends a transaction.
    func borrow<T>(_ db: Database, _ body: () throws -> T) throws -> T {
        try verifyTemporaryNames(db)
        try hasFunctions.withLock { isDone in
            if isDone { return }
            try db.addInstantFunction()
            try db.addColumnInstantFunctions()
            try db.addKeyFunctions()
            isDone = true
        }
        let before = try Self.settings.map { try Int.fetchOne(db, sql: "PRAGMA \($0.name)") ?? $0.value }
        for (setting, value) in zip(Self.settings, before) where setting.value != value { try db.execute(sql: "PRAGMA \(setting.name) = \(setting.value)") }
        takeBusyHandler(db)
        defer {
            giveBusyHandler(db)
            for (setting, value) in zip(Self.settings, before) where setting.value != value { try? db.execute(sql: "PRAGMA \(setting.name) = \(value)") }
        }
        return try body()
    }

    /// The settings that the toolkit needs. They are set outside of a transaction, because inside one SQLite ignores a change of `foreign_keys` and
    /// refuses one of `synchronous`.
    private static let settings: [(name: String, value: Int)] = [("foreign_keys", 0), ("recursive_triggers", 0), ("main.synchronous", 3)]

    // MARK: - Waiting for other connections' locks

    // Leaves an application's own callback in place, because GRDB does not tell which handler it installed for it, so it could not be restored.
    private func takeBusyHandler(_ db: Database) {
        if case .callback = db.configuration.busyMode { return }
        // SAFETY: `wait` outlives the handler, which is removed before `borrow(_:_:)` returns.
        sqlite3_busy_handler(
            db.sqliteConnection,
            { context, tries in
                guard let context else { return 0 }
                return Unmanaged<LockWait>.fromOpaque(context).takeUnretainedValue().goesOn(after: Int(tries)) ? 1 : 0
            }, Unmanaged.passUnretained(wait).toOpaque())
    }

    private func giveBusyHandler(_ db: Database) {
        switch db.configuration.busyMode {
        case .callback: break
        case .immediateError: sqlite3_busy_handler(db.sqliteConnection, nil, nil)
        case .timeout(let seconds): sqlite3_busy_timeout(db.sqliteConnection, Int32(clamping: Int((seconds * 1000).rounded())))
        }
    }

    /// Throws if there are temporary tables that hide tables of the file, or temporary triggers, which would run in imports.
    private func verifyTemporaryNames(_ db: Database) throws {
        let found = try String.fetchOne(
            db.keptStatement(
                sql: """
                    SELECT type || ' ' || name FROM temp.sqlite_schema
                    WHERE type = 'trigger' OR type IN ('table', 'view') AND lower(name) IN (SELECT lower(name) FROM main.sqlite_schema) LIMIT 1
                    """))
        guard let found else { return }
        throw LocalStoreError(
            .schemaMismatch, at: "the application's connection", "the temporary \(found) would come between the toolkit and the tables of the file",
            hint: "drop it before the engine runs, or give the engine the database's path")
    }
}
