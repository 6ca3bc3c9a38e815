/// One version of all buckets, as the JSON document in an asset.
///
/// Any asset of the dataset `buckets`, decompressed, decodes into this.
public struct BucketsDataContainer: Codable, Hashable, Sendable {
    public let buckets: [Bucket]
    /// When the container was made, as RFC 3339 text.
    public let syncTimestamp: String

    public init(buckets: [Bucket], syncTimestamp: String) {
        self.buckets = buckets
        self.syncTimestamp = syncTimestamp
    }
}

extension BucketsDataContainer: DatasetContainer {
    public static let dataset = "buckets"
    public var entities: [Bucket] { buckets }

    public init(entities: [Bucket], syncTimestamp: String) { self.init(buckets: entities, syncTimestamp: syncTimestamp) }
}
