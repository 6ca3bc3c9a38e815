public import CloudStore
import StrictText
import Synchronization

extension CloudDatabase {
    /// The same cloud with limits. A request that exceeds one is refused before anything is written.
    ///
    ///     let cloud = directory.limited(to: limits)
    ///
    /// - Parameter elapsed: a monotonic clock for the rate, counted from any start.
    /// - Throws: each call ``CloudError`` with `.limitExceeded`, `.quotaExceeded` or `.requestRateLimited`.
    public func limited(to limits: CloudLimits, elapsed: (@Sendable () -> Duration)? = nil) -> CloudDatabase {
        adding(LimitLayer(self, limits, elapsed: elapsed))
    }
}

/// Refuses the requests that exceed a cloud's limits.
private struct LimitLayer: CloudLayer {
    private let cloud: CloudDatabase
    private let limits: CloudLimits
    private let window: RequestWindow?

    init(_ cloud: CloudDatabase, _ limits: CloudLimits, elapsed: (@Sendable () -> Duration)?) {
        (self.cloud, self.limits) = (cloud, limits)
        let start = ContinuousClock.now
        window = limits.rate.map { RequestWindow($0, elapsed: elapsed ?? { ContinuousClock.now - start }) }
    }

    func willCall(_ call: CloudCall, in zone: ZoneID?) async throws {
        guard let zone else { return }
        switch call {
        // `publish` is not counted against the rate: it is the second half of a request that `prepare` admitted. Refusing it could only lose
        // the commit's number to another device.
        case .changes, .records, .history, .newAsset, .openAsset, .send, .mailbox: try window?.admit(at: zone.place)
        case .prepare(let draft):
            try window?.admit(at: zone.place)
            try verify(draft, in: zone)
            try await verifyQuota(of: draft, in: zone)
        default: break
        }
    }

    func writer(_ writer: any AssetWriter, for record: String, in zone: ZoneID) throws -> any AssetWriter {
        let limit = limits.bytesPerAsset ?? .max
        return LimitedAssetWriter(
            writer, limit: limit,
            exceeded: CloudError(.limitExceeded, at: "\(zone)/\(record)", "the asset has more than \(limit) bytes", hint: "split it into several assets"))
    }

    private func verify(_ draft: CommitDraft, in zone: ZoneID) throws {
        let items = draft.saving.count + draft.deleting.count
        if let limit = limits.itemsPerRequest, items > limit {
            throw exceeded("\(items) records in one request, the limit is \(limit)", at: zone.place, "split the request")
        }
        if let limit = limits.bytesPerAsset, draft.saving.contains(where: { $0.assets.contains { $0.byteCount > limit } }) {
            throw exceeded("an asset has more than \(limit) bytes", at: zone.place, "split the asset")
        }
        guard limits.bytesPerRecord != nil || limits.bytesPerRequest != nil else { return }
        let sizes = try draft.saving.map { try $0.byteCount() }
        if let limit = limits.bytesPerRecord, let size = sizes.max(), size > limit {
            throw exceeded("a record has \(size) bytes, the limit is \(limit)", at: zone.place, "put what is large into an asset")
        }
        let sum = sizes.reduce(0, +)
        if let limit = limits.bytesPerRequest, sum > limit {
            throw exceeded("\(sum) bytes in one request, the limit is \(limit)", at: zone.place, "split the request")
        }
    }

    /// Reads every zone completely, so that the quota is exact. This takes time.
    private func verifyQuota(of draft: CommitDraft, in zone: ZoneID) async throws {
        guard let quota = limits.quota, !draft.saving.isEmpty else { return }
        let replaced = Set(draft.saving.map(\.name) + draft.deleting)
        var sum = try draft.saving.reduce(0) { $0 + (try $1.byteCount()) + $1.assetByteCount }
        var before = 0
        for info in try await cloud.zones() {
            do {
                for record in try await cloud.records(in: info.id).records {
                    let size = try record.byteCount() + record.assetByteCount
                    before += size
                    if info.id != zone || !replaced.contains(record.name) { sum += size }
                }
            } catch let error as CloudError where error.code == .zoneMoved {}
        }
        // A commit that makes the data smaller is allowed even if the quota is already exceeded.
        guard sum > quota, sum > before else { return }
        throw CloudError(
            .quotaExceeded, at: zone.place, "the location would hold \(sum) bytes, the quota is \(quota)",
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

/// Counts requests in a sliding window. If there were too many, says how long to wait.
final class RequestWindow: Sendable {
    private let rate: CloudLimits.Rate
    private let elapsed: @Sendable () -> Duration
    private let times = Mutex<[Duration]>([])

    /// - Parameter elapsed: a monotonic clock, counted from any start.
    init(_ rate: CloudLimits.Rate, elapsed: @escaping @Sendable () -> Duration) { (self.rate, self.elapsed) = (rate, elapsed) }

    /// Counts one request.
    ///
    /// - Throws: ``CloudError`` with `.requestRateLimited`. Its `retryAfter` is the time until the next request is allowed. The refused
    ///   request is not counted.
    func admit(at place: String) throws(CloudError) {
        let now = elapsed()
        let wait: Duration? = times.withLock { times in
            times.removeAll { $0 + rate.window <= now }
            guard times.count >= rate.requests, let first = times.first else {
                times.append(now)
                return nil
            }
            return first + rate.window - now
        }
        guard let wait else { return }
        throw CloudError(
            .requestRateLimited, at: place, "more than \(rate.requests) requests in \(rate.window)", hint: "wait, then send the same request again",
            isRetryable: true, retryAfter: wait)
    }
}
