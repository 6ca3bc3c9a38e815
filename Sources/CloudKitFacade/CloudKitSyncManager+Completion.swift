import SnapshotEngine
public import SnapshotModel
import SnapshotVersions

extension CloudKitSyncManager {
    /// Publishes what is new; the completion gets whether that went well, and how many buckets there are.
    public func syncBucketsToCloudKit(completion: (@Sendable (Bool, Int) -> Void)? = nil) {
        begin(Self.publishing(countOf: "buckets")) { completion?((try? $0.get()) != nil, (try? $0.get()) ?? 0) }
    }

    /// Publishes what is new; the completion gets whether that went well, and how many notifications there are.
    public func syncNotificationsToCloudKit(completion: (@Sendable (Bool, Int) -> Void)? = nil) {
        begin(Self.publishing(countOf: "notifications")) { completion?((try? $0.get()) != nil, (try? $0.get()) ?? 0) }
    }

    /// Publishes what is new; the completion gets whether that went well, and how many buckets and notifications there are.
    public func syncAllToCloudKit(completion: (@Sendable (Bool, Int, Int) -> Void)? = nil) {
        begin(Self.publishAll) { result in
            let counts = try? result.get()
            completion?(counts != nil, counts?.buckets ?? 0, counts?.notifications ?? 0)
        }
    }

    /// Imports what is new; the completion gets the buckets. Where that fails, those that are here: ``lastError`` says why.
    public func fetchBucketsFromCloudKit(completion: (@Sendable ([Bucket]) -> Void)? = nil) {
        begin(Self.fetching) { _ in completion?(await self.here(Self.buckets)) }
    }

    /// Imports what is new; the completion gets the notifications. Where that fails, those that are here: ``lastError`` says why.
    public func fetchNotificationsFromCloudKit(completion: (@Sendable ([Notification]) -> Void)? = nil) {
        begin(Self.fetching) { _ in completion?(await self.here(Self.notifications)) }
    }

    /// Imports what is new; the completion gets everything. Where that fails, what is here: ``lastError`` says why.
    public func fetchAllFromCloudKit(completion: (@Sendable ([Bucket], [Notification]) -> Void)? = nil) {
        begin(Self.fetching) { _ in completion?(await self.here(Self.buckets), await self.here(Self.notifications)) }
    }

    /// Reads the newest version anew, whatever is here already; the completion gets whether that went well.
    public func forceRefreshFromCloudKit(completion: (@Sendable (Bool) -> Void)? = nil) {
        begin({ _ = try await $0.importAnew() }) { result in completion?((try? result.get()) != nil) }
    }

    /// From now on imports what others publish, until ``stopSubscriptions()``; the completion gets whether that could be set up.
    public func setupSubscriptions(completion: (@Sendable (Bool) -> Void)? = nil) {
        begin({ try await self.subscribe($0) }) { result in completion?((try? result.get()) != nil) }
    }

    /// Refused: a version is the whole dataset, and no record of it can be deleted alone.
    @available(*, deprecated, message: "Delete the row in the database, then call syncNotificationsToCloudKit().")
    public func deleteNotificationFromCloudKit(id: String, completion: (@Sendable (Bool) -> Void)? = nil) {
        refuseDeletion(then: "syncNotificationsToCloudKit()", completion)
    }

    /// Refused: a version is the whole dataset, and no record of it can be deleted alone.
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

    /// What is here; nothing where even that cannot be read, which leaves its error unless there is one already.
    private func here<Entity: Sendable>(_ read: @Sendable (SyncEngine) async throws -> [Entity]) async -> [Entity] {
        do {
            return try await read(engine())
        } catch {
            if lastError == nil { keep(SyncError(error, step: .read)) }
            return []
        }
    }
}
