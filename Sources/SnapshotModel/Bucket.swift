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
