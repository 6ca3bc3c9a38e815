import LocalStore
public import ObjectCloud
import SnapshotModel
import StrictText

/// What `detach` did.
public struct DetachReport: Sendable, Encodable {
    public let database: String
    /// The zone that the database was part of; nil, like the next two, if its settings were gone and only triggers were left.
    public let zone: String?
    public let cloud: String?
    /// The device's name; the next `init` of the database uses it again.
    public let device: String?
    /// The number of unpublished edits. They stay in the database for the next `init` with the same zone.
    public let keptChanges: Int
}

/// What `sync` did.
public struct SyncReport: Sendable, Encodable {
    public let role: String
    /// What was published; nil at a reader.
    public let exported: ExportReport?
    /// What was imported; nil at a writer, and at a peer for which nothing was new.
    public let imported: ImportReport?
    /// The edits that a reader handed over to the publisher; nil if there were none.
    public internal(set) var messages: SendReport?
    /// The changes of a reader that no message can carry: no other device gets them.
    public internal(set) var kept: [KeptChanges] = []
    public package(set) var requests: RequestUsage?
}

/// A reader's changes of a dataset that stay on it for one reason.
public struct KeptChanges: Sendable, Encodable {
    public let dataset: String
    /// How many entities were changed.
    public let changes: Int
    /// Why no message carries the changes, as a clause.
    public let reason: String

    /// The changes of a reader's datasets, the most frequent reasons first.
    static func all(of datasets: [DatasetSchema], in transaction: LocalTransaction) throws -> [KeptChanges] {
        try datasets.flatMap { schema -> [KeptChanges] in
            let counts: [ExactText: Int]
            if schema.messages.isEmpty {
                counts = [KeptEdit.Reason.table.sentence().exact: try transaction.sentEdits.keptCount(ofUnsent: schema)]
            } else {
                counts = try transaction.sentEdits.kept(of: schema).reduce(into: [:]) { $0[$1.sentence.exact, default: 0] += 1 }
            }
            return counts.filter { $0.value > 0 }.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
                .map { KeptChanges(dataset: schema.name, changes: $0.value, reason: $0.key.text) }
        }
    }
}

extension SyncReport: RequestCounting {}
