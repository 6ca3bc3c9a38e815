public import ObjectCloud

/// The result of an import.
public struct ImportReport: Sendable, Encodable {
    /// Whether a version was applied; false if it was applied already.
    public package(set) var applied: Bool
    /// The zone's version that the database now has; nil for a file.
    public package(set) var version: Int?
    /// The version that the database had before; nil if none of this zone was applied.
    public package(set) var versionBefore: Int?
    /// The datasets that were replaced.
    public package(set) var datasets: [ImportedDataset]
    /// Warnings, one sentence each.
    public package(set) var warnings: [String]
    /// The number of edits that lost to others and were written to the conflict journal (``SyncConflicts/list(all:)``).
    public package(set) var conflicts = 0
    /// The number of those edits by their reasons: `laterEdit`, `laterDeletion`, `sameKey`, `valueTaken`, `parentNeeded` and `refused`.
    public package(set) var conflictReasons: [String: Int] = [:]
    public package(set) var requests: RequestUsage?
}

extension ImportReport: RequestCounting {}

/// One dataset that an import replaced.
public struct ImportedDataset: Sendable, Encodable {
    public let name: String
    public let recordCount: Int
    /// The container's `syncTimestamp`.
    public let syncTimestamp: String
    /// The number of bytes that were read.
    public let size: Int
    /// The number of blocks in the version; nil for a file.
    public let blocks: Int?
    /// The number of blocks that differed from the local rows and were fetched; nil for a file.
    public let blocksFetched: Int?
    /// The number of change assets that were read; nil for a file.
    public let changeFiles: Int?
}
