import LocalStore
import SnapshotEngine
public import SnapshotModel
import SnapshotVersions

extension CloudKitSyncManager {
    /// Publishes what is new. All datasets travel in one version, so the notifications do, too.
    ///
    /// - Returns: how many buckets there are.
    /// - Throws: ``SyncError``; `.refused` with "read-only" at a reader.
    @discardableResult
    public func syncBuckets() async throws -> Int { try await call(Self.publishing(countOf: "buckets")) }

    /// Publishes what is new. All datasets travel in one version, so the buckets do, too.
    ///
    /// - Returns: how many notifications there are.
    @discardableResult
    public func syncNotifications() async throws -> Int { try await call(Self.publishing(countOf: "notifications")) }

    /// Publishes what is new.
    ///
    /// - Returns: how many buckets and notifications there are.
    @discardableResult
    public func syncAll() async throws -> (buckets: Int, notifications: Int) { try await call(Self.publishAll) }

    /// Imports what is new, carries messages, and returns the buckets as the database then has them.
    @discardableResult
    public func fetchBuckets() async throws -> [Bucket] {
        try await call {
            _ = try await Self.fetching($0); return try await Self.buckets($0)
        }
    }

    /// Imports what is new, carries messages, and returns the notifications as the database then has them.
    @discardableResult
    public func fetchNotifications() async throws -> [Notification] {
        try await call {
            _ = try await Self.fetching($0); return try await Self.notifications($0)
        }
    }

    /// Imports what is new, carries messages, and returns all that the database then has.
    @discardableResult
    public func fetchAll() async throws -> (buckets: [Bucket], notifications: [Notification]) {
        try await call {
            _ = try await Self.fetching($0); return (try await Self.buckets($0), try await Self.notifications($0))
        }
    }

    /// Reads the newest version anew, whatever is here already (``SyncEngine/importAnew(progress:)``).
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
        // Before anything is imported: who may only read must hear so, and not believe that something was sent.
        let settings = try engine.database.read(at: .open) { try $0.settings.read() }
        guard settings.role.publishes else {
            throw SyncError(
                .refused, step: .announce, at: engine.database.path, "this device is a reader: read-only",
                hint: "publish from the writer; what is changed here stays here until the writer has it")
        }
        _ = try await engine.sync()
    }

    /// Imports what is new and carries messages: a reader sends its own, a device that publishes answers those of others.
    ///
    /// - Returns: what was imported; nil if nothing was to be.
    @Sendable static func fetching(_ engine: SyncEngine) async throws -> ImportReport? {
        guard try engine.database.read(at: .open, { try $0.settings.read().role }) == .reader else { return try await engine.sync().imported }
        // Unlike a sync, a fetch ends the view of an old version.
        let report = try await engine.importNewest()
        _ = try await engine.sendMessages()
        return report
    }

    static func buckets(_ engine: SyncEngine) async throws -> [Bucket] { try await engine.entities(of: "buckets", as: Bucket.self) }

    static func notifications(_ engine: SyncEngine) async throws -> [Notification] {
        try await engine.entities(of: "notifications", as: Notification.self)
    }
}
