import LocalStore
import SnapshotEngine
public import SnapshotModel
import SnapshotVersions

extension CloudKitSyncManager {
    /// Publishes the changes. One version contains all datasets, so this publishes the notifications too.
    ///
    /// - Returns: the number of buckets.
    /// - Throws: ``SyncError``; `.refused` with "read-only" on a reader.
    @discardableResult
    public func syncBuckets() async throws -> Int { try await call(Self.publishing(countOf: "buckets")) }

    /// Publishes the changes. One version contains all datasets, so this publishes the buckets too.
    ///
    /// - Returns: the number of notifications.
    @discardableResult
    public func syncNotifications() async throws -> Int { try await call(Self.publishing(countOf: "notifications")) }

    /// Publishes the changes.
    ///
    /// - Returns: the numbers of buckets and of notifications.
    @discardableResult
    public func syncAll() async throws -> (buckets: Int, notifications: Int) { try await call(Self.publishAll) }

    /// Imports the newest version, sends and answers messages, and returns the buckets that are then in the database.
    @discardableResult
    public func fetchBuckets() async throws -> [Bucket] {
        try await call {
            _ = try await Self.fetching($0); return try await Self.buckets($0)
        }
    }

    /// Imports the newest version, sends and answers messages, and returns the notifications that are then in the database.
    @discardableResult
    public func fetchNotifications() async throws -> [Notification] {
        try await call {
            _ = try await Self.fetching($0); return try await Self.notifications($0)
        }
    }

    /// Imports the newest version, sends and answers messages, and returns everything that is then in the database.
    @discardableResult
    public func fetchAll() async throws -> (buckets: [Bucket], notifications: [Notification]) {
        try await call {
            _ = try await Self.fetching($0); return (try await Self.buckets($0), try await Self.notifications($0))
        }
    }

    /// Imports the newest version again, even if it is already applied (``SyncEngine/importAnew(progress:)``).
    public func forceRefresh() async throws { try await call { _ = try await $0.importAnew() } }

    static func publishing(countOf dataset: String) -> @Sendable (SyncEngine) async throws -> Int {
        { engine in
            try await publish(engine)
            return try await engine.entityCount(of: dataset)
        }
    }

    static let publishAll: @Sendable (SyncEngine) async throws -> (buckets: Int, notifications: Int) = { engine in
        try await publish(engine)
        return (try await engine.entityCount(of: "buckets"), try await engine.entityCount(of: "notifications"))
    }

    private static func publish(_ engine: SyncEngine) async throws {
        // Check the role before importing: a reader must get an error, and not believe that its changes were sent.
        let settings = try engine.database.read(at: .open) { try $0.settings.read() }
        guard settings.role.publishes else {
            throw SyncError(
                .refused, step: .announce, at: engine.database.path, "this device is a reader: read-only",
                hint: "publish from the writer; what is changed here stays here until the writer has it")
        }
        _ = try await engine.sync()
    }

    /// Imports the newest version. A reader also sends its messages; a publishing device answers those of others.
    ///
    /// - Returns: the import's report; nil if there was nothing to import.
    @Sendable static func fetching(_ engine: SyncEngine) async throws -> ImportReport? {
        guard try engine.database.read(at: .open, { try $0.settings.read().role }) == .reader else { return try await engine.sync().imported }
        // Unlike a sync, a fetch also ends the view of an old version.
        let report = try await engine.importNewest()
        _ = try await engine.sendMessages()
        return report
    }

    static func buckets(_ engine: SyncEngine) async throws -> [Bucket] { try await engine.entities(of: "buckets", as: Bucket.self) }

    static func notifications(_ engine: SyncEngine) async throws -> [Notification] {
        try await engine.entities(of: "notifications", as: Notification.self)
    }
}
