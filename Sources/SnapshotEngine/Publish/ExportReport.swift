public import ObjectCloud

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
    /// How many messages of readers the version answers as applied.
    public internal(set) var messagesApplied = 0
    /// How many it answers as refused.
    public internal(set) var messagesRefused = 0
    /// How many edits lost to readers' messages, or were lost with refused ones, and were written to the conflict journal.
    public internal(set) var conflicts = 0
    /// How many of them were lost with refused messages.
    public internal(set) var refusedEdits = 0
    /// What was removed because the settings keep only some versions; nil if nothing was.
    public internal(set) var pruned: RetentionOutcome?
    public package(set) var requests: RequestUsage?
}

extension ExportReport: RequestCounting {}

extension ExportReport {
    /// This report of a run that found nothing new, with the version that the zone had promised (``SyncEngine/setFreshness(_:)``).
    func keepingFresh(as version: Int) -> ExportReport {
        var report = ExportReport(published: true, version: version, written: [], unchanged: unchanged, warnings: warnings)
        (report.messagesApplied, report.messagesRefused, report.conflicts, report.refusedEdits) = (messagesApplied, messagesRefused, conflicts, refusedEdits)
        return report
    }
}

/// One dataset that an export wrote.
public struct ExportedDataset: Sendable, Encodable {
    /// What was written: the whole as a snapshot asset, or what changed as a change asset.
    public enum Kind: String, Sendable, Encodable {
        case snapshot, changes
    }

    public let name: String
    public let kind: Kind
    /// How many entities the version has.
    public let recordCount: Int
    /// The asset's path beneath the zone's directory.
    public let file: String
    /// The asset's size in bytes.
    public let size: Int
    /// The size of its JSON in bytes.
    public let rawSize: Int
    /// How many blocks the snapshot asset has; nil for a change asset.
    public let blocks: Int?
    /// How many of them were copied from the last version, for they had not changed; nil for a change asset.
    public let blocksReused: Int?
    /// What the change asset has, where one was written: alone, or beside a snapshot asset.
    public let changes: ExportedChanges?
}

extension ExportedDataset {
    /// The same with a change asset beside it.
    func with(_ changes: ExportedChanges?) -> ExportedDataset {
        ExportedDataset(
            name: name, kind: kind, recordCount: recordCount, file: file, size: size, rawSize: rawSize, blocks: blocks, blocksReused: blocksReused,
            changes: changes)
    }
}

/// A change asset that an export wrote.
public struct ExportedChanges: Sendable, Encodable {
    /// The asset's path beneath the zone's directory.
    public let file: String
    /// The asset's size in bytes.
    public let size: Int
    /// How many entities were changed or made.
    public let changed: Int
    /// How many entities were deleted.
    public let deleted: Int
}
