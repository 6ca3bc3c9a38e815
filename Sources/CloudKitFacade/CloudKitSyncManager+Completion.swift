import SnapshotEngine
public import SnapshotModel
import SnapshotVersions

extension CloudKitSyncManager {
    /// Publishes the changes. The completion gets whether that succeeded, and the number of buckets.
    public func syncBucketsToCloudKit(completion: (@Sendable (Bool, Int) -> Void)? = nil) {
        begin(Self.publishing(countOf: "buckets")) { completion?((try? $0.get()) != nil, (try? $0.get()) ?? 0) }
    }

    /// Publishes the changes. The completion gets whether that succeeded, and the number of notifications.
    public func syncNotificationsToCloudKit(completion: (@Sendable (Bool, Int) -> Void)? = nil) {
        begin(Self.publishing(countOf: "notifications")) { completion?((try? $0.get()) != nil, (try? $0.get()) ?? 0) }
    }

    /// Publishes the changes. The completion gets whether that succeeded, and the numbers of buckets and of notifications.
    public func syncAllToCloudKit(completion: (@Sendable (Bool, Int, Int) -> Void)? = nil) {
        begin(Self.publishAll) { result in
            let counts = try? result.get()
            completion?(counts != nil, counts?.buckets ?? 0, counts?.notifications ?? 0)
        }
    }

    /// Imports the newest version. The completion gets the buckets; if the import fails, the local ones, and ``lastError`` says why.
    public func fetchBucketsFromCloudKit(completion: (@Sendable ([Bucket]) -> Void)? = nil) {
        begin(Self.fetching) { _ in completion?(await self.here(Self.buckets)) }
    }

    /// Imports the newest version. The completion gets the notifications; if the import fails, the local ones, and ``lastError`` says why.
    public func fetchNotificationsFromCloudKit(completion: (@Sendable ([Notification]) -> Void)? = nil) {
        begin(Self.fetching) { _ in completion?(await self.here(Self.notifications)) }
    }

    /// Imports the newest version. The completion gets everything; if the import fails, the local data, and ``lastError`` says why.
    public func fetchAllFromCloudKit(completion: (@Sendable ([Bucket], [Notification]) -> Void)? = nil) {
        begin(Self.fetching) { _ in completion?(await self.here(Self.buckets), await self.here(Self.notifications)) }
    }

    /// Imports the newest version again, even if it is already applied. The completion gets whether that succeeded.
    public func forceRefreshFromCloudKit(completion: (@Sendable (Bool) -> Void)? = nil) {
        begin({ _ = try await $0.importAnew() }) { result in completion?((try? result.get()) != nil) }
    }

    /// Imports what other devices publish from now on, until ``stopSubscriptions()``. The completion gets whether that could be set up.
    public func setupSubscriptions(completion: (@Sendable (Bool) -> Void)? = nil) {
        begin({ try await self.subscribe($0) }) { result in completion?((try? result.get()) != nil) }
    }

    /// Always refused: a version contains the whole dataset, and no record of it can be deleted separately.
    @available(*, deprecated, message: "Delete the row in the database, then call syncNotificationsToCloudKit().")
    public func deleteNotificationFromCloudKit(id: String, completion: (@Sendable (Bool) -> Void)? = nil) {
        refuseDeletion(then: "syncNotificationsToCloudKit()", completion)
    }

    /// Always refused: a version contains the whole dataset, and no record of it can be deleted separately.
    @available(*, deprecated, message: "Delete the row in the database, then call syncBucketsToCloudKit().")
    public func deleteBucketFromCloudKit(id: String, completion: (@Sendable (Bool) -> Void)? = nil) {
        refuseDeletion(then: "syncBucketsToCloudKit()", completion)
    }

    private func refuseDeletion(then call: String, _ completion: (@Sendable (Bool) -> Void)?) {
        calls.enqueue {
            self.keep(
                SyncError(
                    .refused, step: .announce, at: "the cloud", "a version is the whole dataset; no record is deleted alone",
                    hint: "delete the row in the database, then call \(call)"))
            completion?(false)
        }
    }

    /// Returns the local data. If even that cannot be read, returns nothing, and stores the error unless there is one already.
    private func here<Entity: Sendable>(_ read: @Sendable (SyncEngine) async throws -> [Entity]) async -> [Entity] {
        do {
            return try await read(engine())
        } catch {
            if lastError == nil { keep(SyncError(error, step: .read)) }
            return []
        }
    }
}
