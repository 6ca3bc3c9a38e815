import SnapshotModel
public import SnapshotVersions

/// One side of a comparison.
public enum DiffSide: Sendable, Hashable, CustomStringConvertible {
    /// A kept or pinned version of the zone.
    case version(Int)
    /// The rows of this database.
    case local

    public var description: String {
        switch self {
        case .version(let number): "version \(number)"
        case .local: "the local tables"
        }
    }
}

/// One entity that differs between two versions.
public struct EntityDifference: Sendable, Encodable {
    /// How the entity changed from the first side to the second.
    public enum Kind: String, Sendable, Encodable {
        case added, changed, removed
    }

    /// One column that differs, with its values formatted for people.
    public struct Column: Sendable {
        public let name: String
        public let before: String
        public let after: String
    }

    public let dataset: String
    public let change: Kind
    /// The entity's key.
    public let key: ReportedKey
    /// The names of the columns that differ; empty if one side lacks the entity.
    public let columns: [String]
    /// The values of these columns on both sides; nil unless values were requested.
    public let values: [Column]?
    let before: [String: OwnedValue]?
    let after: [String: OwnedValue]?

    enum CodingKeys: String, CodingKey {
        case dataset, change, key, columns, before, after
    }
}

/// The number of differences between two versions.
public struct DiffReport: Sendable, Encodable {
    public struct Dataset: Sendable, Encodable {
        public let dataset: String
        public let added: Int
        public let changed: Int
        public let removed: Int
        public let unchanged: Int
    }

    public let datasets: [Dataset]

    /// Whether the two sides are equal.
    public var isSame: Bool { datasets.allSatisfy { $0.added + $0.changed + $0.removed == 0 } }
}
