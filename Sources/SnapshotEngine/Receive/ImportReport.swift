public import ObjectCloud

/// What an import did.
public struct ImportReport: Sendable, Encodable {
    /// Whether anything was applied; false if the version was here already.
    public let applied: Bool
    /// The zone's version that the database now shows; nil for a file.
    public let version: Int?
    /// The datasets that were replaced.
    public let datasets: [ImportedDataset]
    /// What the database shows instead of the newest version, in words; nil if it follows the cloud.
    public let view: String?
    /// What deserves attention, in words.
    public let warnings: [String]
    /// How many edits lost to others and were written to the conflict journal (``SyncEngine/conflicts(all:)``).
    public internal(set) var conflicts = 0
    /// How many of them lost to no other edit: the publisher refused them.
    public internal(set) var refusedEdits = 0
    public package(set) var requests: RequestUsage?
}

extension ImportReport: RequestCounting {}

/// One dataset that an import replaced.
public struct ImportedDataset: Sendable, Encodable {
    public let name: String
    public let recordCount: Int
    /// The container's `syncTimestamp`.
    public let syncTimestamp: String
    /// The size of what was read, in bytes.
    public let size: Int
    /// How many blocks the version has; nil for a file.
    public let blocks: Int?
    /// How many of them differed from the rows that were here and were fetched; nil for a file.
    public let blocksFetched: Int?
    /// How many change assets were read; nil for a file.
    public let changeFiles: Int?
}
