public import CloudStore
import StrictText

extension CloudDatabase {
    /// The same cloud with limits. A request that exceeds one is refused before anything is written.
    ///
    ///     let cloud = directory.limited(to: limits)
    ///
    /// - Throws: each call ``CloudError`` with `.limitExceeded`.
    public func limited(to limits: CloudLimits) -> CloudDatabase { adding(LimitLayer(limits: limits)) }
}

/// Refuses the requests that exceed a cloud's limits.
private struct LimitLayer: CloudLayer {
    let limits: CloudLimits

    func willCall(_ call: CloudCall, in zone: ZoneID?) async throws {
        if let zone, case .prepare(let draft) = call { try verify(draft, in: zone) }
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

    private func exceeded(_ reason: String, at place: String, _ hint: String) -> CloudError {
        CloudError(.limitExceeded, at: place, reason, hint: hint)
    }
}

extension CloudRecord {
    /// The record's size as JSON, in bytes, without its assets' content.
    fileprivate func byteCount() throws -> Int { try StrictJSON.encode(RecordDocument(self, tagged: false)).count }
}
