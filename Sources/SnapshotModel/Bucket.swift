/// A group of notifications. Dates are RFC 3339 texts and are kept as written.
///
/// Source: the JSON fields of the dataset `buckets`; docs/format.md.
public struct Bucket: Codable, Hashable, Sendable, Identifiable {
    public let id: String
    public let name: String
    public let description: String?
    /// A colour as the application writes it: `#1e90ff`.
    public let color: String?
    public let iconUrl: String?
    public let createdAt: String
    public let updatedAt: String
    /// Whether the bucket stands in for a deleted one.
    public let isOrphan: Bool?

    public init(
        id: String, name: String, description: String? = nil, color: String? = nil, iconUrl: String? = nil,
        createdAt: String, updatedAt: String, isOrphan: Bool? = nil
    ) {
        self.id = id
        self.name = name
        self.description = description
        self.color = color
        self.iconUrl = iconUrl
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.isOrphan = isOrphan
    }
}

/// One version of all buckets, as the JSON document in an asset.
///
/// Any asset of the dataset `buckets`, decompressed, decodes into this.
public struct BucketsDataContainer: Codable, Hashable, Sendable {
    public let buckets: [Bucket]
    /// When the container was made, as RFC 3339 text.
    public let syncTimestamp: String

    public init(buckets: [Bucket], syncTimestamp: String) { (self.buckets, self.syncTimestamp) = (buckets, syncTimestamp) }
}

extension BucketsDataContainer: DatasetContainer {
    public static let dataset = "buckets"
    public var entities: [Bucket] { buckets }

    public init(entities: [Bucket], syncTimestamp: String) { self.init(buckets: entities, syncTimestamp: syncTimestamp) }
}
