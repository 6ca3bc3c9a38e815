import CloudStore
import SnapshotModel

/// A cloud that refuses assets larger than the database's limit. The asset is refused while it is written, before anything is published.
struct AssetLimitedCloud: CloudDatabaseDecorator {
    let wrapped: any CloudDatabase
    private let limit: Int
    /// Dataset names by record name.
    private let names: [String: String]

    init(wrapping cloud: any CloudDatabase, limit: Int, datasets: [DatasetSchema]) {
        wrapped = cloud
        self.limit = limit
        names = Dictionary(datasets.map { ($0.recordName, $0.name) }) { first, _ in first }
    }

    func newAsset(for record: String, number: Int, kind: AssetKind, in zone: ZoneID) async throws -> sending any AssetWriter {
        LimitedAssetWriter(
            try await wrapped.newAsset(for: record, number: number, kind: kind, in: zone), limit: limit,
            exceeded: AssetLimits.exceeded(names[record] ?? record, limit: limit))
    }
}
