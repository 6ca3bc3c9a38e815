import LocalStore
import LocalTables
import SnapshotEngine
import SnapshotModel
import SnapshotVersions
public import StrictText

/// What `generate` added.
public struct SampleReport: Sendable, Encodable {
    public let database: String
    public let notifications: Int
    public let buckets: Int
    public let seed: UInt64
}

/// Adds generated entities to the built-in tables.
public enum SampleFiller {
    /// Adds this many buckets and notifications in one transaction. Creates the database and the tables if they do not exist.
    public static func fill(database path: String, notifications: Int, buckets: Int, seed: UInt64) async throws -> SampleReport {
        try await WorkerThreads.host {
            let database = try LocalDatabase(path: path, creating: true, waiting: LocalDatabase.waiting(for: path))
            let data = SampleData(notifications: notifications, buckets: buckets, seed: seed)
            try database.write { transaction in
                _ = try transaction.tables.createBuiltIn()
                for schema in DatasetSchema.builtIn { _ = try transaction.tables.check(of: schema) }
                do {
                    try data.sendBuckets(to: transaction.rows.inserting(into: .buckets))
                    try data.sendNotifications(to: transaction.rows.inserting(into: .notifications))
                } catch let error as SyncError where error.database == .badRow {
                    throw SyncError(
                        .dataRefused, step: .apply, at: error.place, error.reason,
                        hint: "what seed \(seed) makes may be there already; choose another --seed")
                }
            }
        }
        return SampleReport(database: path, notifications: notifications, buckets: buckets, seed: seed)
    }

    /// Marks notifications as read, as an application would: it sets `readAt` and `updatedAt` to `instant`.
    ///
    /// The seed and the rows that exist determine which notifications are marked.
    public static func markRead(database path: String, count: Int, seed: UInt64, at instant: Instant = .now) async throws -> MarkReport {
        try await WorkerThreads.host {
            let database = try LocalDatabase(path: path, waiting: LocalDatabase.waiting(for: path))
            let marked = try database.write { transaction in
                _ = try transaction.tables.check(of: .notifications)
                return try transaction.rows.markNotificationsRead(count: count, seed: seed, at: instant)
            }
            return MarkReport(database: path, marked: marked, at: instant.description)
        }
    }
}

/// What `generate --mark-read` changed.
public struct MarkReport: Sendable, Encodable {
    public let database: String
    /// How many notifications were marked; fewer than requested if the table has fewer.
    public let marked: Int
    public let at: String
}
