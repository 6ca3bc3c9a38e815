public import StrictText

/// A cloud with limits. A request that exceeds one is refused before anything is written.
public struct LimitedCloudDatabase: CloudDatabaseDecorator {
    /// The cloud that does the work.
    public let wrapped: any CloudDatabase
    /// What is allowed.
    public let limits: CloudLimits
    private let window: RequestWindow?

    /// Wraps a cloud with limits.
    ///
    /// - Parameter elapsed: a monotonic clock for the rate, counted from any start.
    public init(wrapping cloud: any CloudDatabase, limits: CloudLimits, elapsed: (@Sendable () -> Duration)? = nil) {
        wrapped = cloud
        self.limits = limits
        let start = ContinuousClock.now
        window = limits.rate.map { RequestWindow($0, elapsed: elapsed ?? { ContinuousClock.now - start }) }
    }

    public func changes(since token: ChangeToken?, in zone: ZoneID) async throws -> ZoneChanges {
        try window?.admit(at: "\(zone)")
        return try await wrapped.changes(since: token, in: zone)
    }

    public func records(in zone: ZoneID, at number: Int?, notBefore token: ChangeToken?) async throws -> ZoneState {
        try window?.admit(at: "\(zone)")
        return try await wrapped.records(in: zone, at: number, notBefore: token)
    }

    public func history(in zone: ZoneID) async throws -> [Commit] {
        try window?.admit(at: "\(zone)")
        return try await wrapped.history(in: zone)
    }

    /// Prepares a commit after checking it against the limits.
    ///
    /// - Throws: ``CloudError`` with `.limitExceeded`, `.quotaExceeded` or `.requestRateLimited`.
    public func prepare(_ draft: CommitDraft, after token: ChangeToken?, in zone: ZoneID) async throws -> PreparedCommit {
        try window?.admit(at: "\(zone)")
        try verify(draft, in: zone)
        try await verifyQuota(of: draft, in: zone)
        return try await wrapped.prepare(draft, after: token, in: zone)
    }

    // `publish` is not counted against the rate: it is the second half of a request that `prepare` admitted. Refusing it could only lose the
    // commit's number to another device.

    public func newAsset(
        for record: String, number: Int, kind: AssetKind, in zone: ZoneID
    ) async throws -> sending any AssetWriter {
        try window?.admit(at: "\(zone)")
        let limit = limits.bytesPerAsset ?? .max
        return LimitedAssetWriter(
            try await wrapped.newAsset(for: record, number: number, kind: kind, in: zone), limit: limit,
            exceeded: CloudError(.limitExceeded, at: "\(zone)/\(record)", "the asset has more than \(limit) bytes", hint: "split it into several assets"))
    }

    public func openAsset(_ asset: CloudAsset, in zone: ZoneID) async throws -> any AssetReader {
        try window?.admit(at: "\(zone)")
        return try await wrapped.openAsset(asset, in: zone)
    }

    public func send(_ message: CloudMessage, clock: Instant, in zone: ZoneID) async throws {
        try window?.admit(at: "\(zone)")
        try await wrapped.send(message, clock: clock, in: zone)
    }

    public func mailbox(_ request: MailboxRequest, in zone: ZoneID) async throws -> CloudMailbox {
        try window?.admit(at: "\(zone)")
        return try await wrapped.mailbox(request, in: zone)
    }

    private func verify(_ draft: CommitDraft, in zone: ZoneID) throws {
        let items = draft.saving.count + draft.deleting.count
        if let limit = limits.itemsPerRequest, items > limit {
            throw exceeded("\(items) records in one request, the limit is \(limit)", at: "\(zone)", "split the request")
        }
        if let limit = limits.bytesPerAsset, draft.saving.contains(where: { $0.assets.contains { $0.byteCount > limit } }) {
            throw exceeded("an asset has more than \(limit) bytes", at: "\(zone)", "split the asset")
        }
        guard limits.bytesPerRecord != nil || limits.bytesPerRequest != nil else { return }
        let sizes = try draft.saving.map { try $0.byteCount() }
        if let limit = limits.bytesPerRecord, let size = sizes.max(), size > limit {
            throw exceeded("a record has \(size) bytes, the limit is \(limit)", at: "\(zone)", "put what is large into an asset")
        }
        let sum = sizes.reduce(0, +)
        if let limit = limits.bytesPerRequest, sum > limit {
            throw exceeded("\(sum) bytes in one request, the limit is \(limit)", at: "\(zone)", "split the request")
        }
    }

    /// Reads every zone completely, so that the quota is exact. This takes time.
    private func verifyQuota(of draft: CommitDraft, in zone: ZoneID) async throws {
        guard let quota = limits.quota, !draft.saving.isEmpty else { return }
        let replaced = Set(draft.saving.map(\.name) + draft.deleting)
        var sum = try draft.saving.reduce(0) { $0 + (try $1.byteCount()) + $1.assetByteCount }
        var before = 0
        for info in try await wrapped.liveZones() {
            for record in try await wrapped.records(in: info.id).records {
                let size = try record.byteCount() + record.assetByteCount
                before += size
                if info.id != zone || !replaced.contains(record.name) { sum += size }
            }
        }
        // A commit that makes the data smaller is allowed even if the quota is already exceeded.
        guard sum > quota, sum > before else { return }
        throw CloudError(
            .quotaExceeded, at: "\(zone)", "the cloud would hold \(sum) bytes, the quota is \(quota)",
            hint: "make room, then try again; nothing was lost")
    }

    private func exceeded(_ reason: String, at place: String, _ hint: String) -> CloudError {
        CloudError(.limitExceeded, at: place, reason, hint: hint)
    }
}

extension CloudRecord {
    /// The record's size as JSON, in bytes, without its assets' content.
    fileprivate func byteCount() throws -> Int { try StrictJSON.encode(RecordDocument(self, tagged: false)).count }

    /// The size of the record's assets and their indexes, in bytes.
    fileprivate var assetByteCount: Int { assets.reduce(0) { $0 + $1.byteCount + ($1.index?.byteCount ?? 0) } }
}
