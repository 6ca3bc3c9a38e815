/// What an export did.
public struct ExportReport: Sendable, Encodable {
    /// Whether a version was published; false if nothing was new.
    public let published: Bool
    /// The zone's newest version now: a commit's number.
    public let version: Int?
    /// The datasets that were written; those that had not changed are not among them.
    public let written: [ExportedDataset]
    /// The datasets that had not changed.
    public let unchanged: [String]
    /// What deserves attention, in words.
    public internal(set) var warnings: [String]
}

/// One dataset that an export wrote.
public struct ExportedDataset: Sendable, Encodable {
    public let name: String
    public let recordCount: Int
    /// The asset's path beneath the zone's directory.
    public let file: String
    /// The asset's size in bytes.
    public let size: Int
    /// The size of the JSON in bytes.
    public let rawSize: Int
    /// How many blocks the asset has.
    public let blocks: Int
    /// How many of them were copied from the last version, for they had not changed.
    public let blocksReused: Int
}
