import LocalStore
package import LocalTables
public import ObjectCloud
package import SnapshotModel
import SnapshotVersions
public import StrictText

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
    /// The files beside the database with rows that are in no table: held rows and edits in open conflicts.
    public let keptFiles: [String]

    package init(database: String, zone: String?, cloud: String?, device: String?, keptChanges: Int, keptFiles: [String]) {
        (self.database, self.zone, self.cloud, self.device, self.keptChanges, self.keptFiles) = (database, zone, cloud, device, keptChanges, keptFiles)
    }
}

/// What `sync` did.
public struct SyncReport: Sendable, Encodable, RequestCounting {
    public let role: String
    /// What was published; nil at a reader.
    public let exported: ExportReport?
    /// What was imported; nil at a writer, and at a peer for which nothing was new.
    public let imported: ImportReport?
    /// The edits that a reader handed over to the publisher; nil if there were none.
    public package(set) var messages: SendReport?
    /// The changes of a reader that no message can carry: no other device gets them.
    public package(set) var kept: [KeptChanges] = []
    /// What was published of the databases that are filled from this one.
    public package(set) var audiences: [AudienceReport] = []
    public package(set) var requests: RequestUsage?

    package init(
        role: String, exported: ExportReport?, imported: ImportReport?, messages: SendReport? = nil, kept: [KeptChanges] = [], audiences: [AudienceReport] = [],
        requests: RequestUsage? = nil
    ) {
        (self.role, self.exported, self.imported, self.messages, self.kept, self.audiences, self.requests) = (
            role, exported, imported, messages, kept, audiences, requests
        )
    }
}

/// What was published of one audience.
public struct AudienceReport: Sendable, Encodable {
    public let database: String
    public let exported: ExportReport

    package init(database: String, exported: ExportReport) {
        (self.database, self.exported) = (database, exported)
    }
}

/// A reader's changes of a dataset that stay on it for one reason.
public struct KeptChanges: Sendable, Encodable {
    public let dataset: String
    /// How many entities were changed.
    public let changes: Int
    /// Why no message carries the changes, as a clause.
    public let reason: String

    /// The changes of a reader's datasets, the most frequent reasons first.
    package static func all(of datasets: [DatasetSchema], in transaction: LocalTransaction) throws -> [KeptChanges] {
        let absent = try transaction.sentEdits.absent(of: datasets)
        return try datasets.flatMap { schema -> [KeptChanges] in
            let counts: [ExactText: Int], isAbsent = absent.contains(schema.name.exact)
            if isAbsent || schema.messages.isEmpty {
                let reason: KeptEdit.Reason = isAbsent ? .dataset : .table
                counts = [reason.sentence().exact: try transaction.sentEdits.keptCount(ofUnsent: schema)]
            } else {
                counts = try transaction.sentEdits.kept(of: schema).reduce(into: [:]) { $0[$1.sentence.exact, default: 0] += 1 }
            }
            return counts.filter { $0.value > 0 }.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
                .map { KeptChanges(dataset: schema.name, changes: $0.value, reason: $0.key.text) }
        }
    }
}

/// The progress of a long step.
public struct SyncProgress: Sendable {
    /// The step: `encode` during an export, `apply` during an import.
    public let step: SyncStep
    public let dataset: String
    /// How many entities are done.
    public let entityCount: Int
    /// The total number of entities, if known.
    public let expectedCount: Int?

    public init(step: SyncStep, dataset: String, entityCount: Int, expectedCount: Int?) {
        (self.step, self.dataset, self.entityCount, self.expectedCount) = (step, dataset, entityCount, expectedCount)
    }

    /// The completed part, from 0 to 1; nil if the total is not known.
    public var fraction: Double? { expectedCount.map { $0 > 0 ? min(1, Double(entityCount) / Double($0)) : 1 } }
}

/// Receives progress, at most once a block. The engine calls it on any thread, one call at a time.
public typealias ProgressHandler = @Sendable (SyncProgress) -> Void

/// A report that carries the number of requests that its run sent to a bucket.
package protocol RequestCounting {
    /// The run's requests and their bytes; nil with a directory or with the application's own backend.
    var requests: RequestUsage? { get set }
}

/// The result of an export.
public struct ExportReport: Sendable, Encodable {
    /// Whether a version was published; false if nothing was new.
    public package(set) var published: Bool
    /// The number of the zone's newest commit.
    public package(set) var version: Int?
    /// The datasets that were written.
    public package(set) var written: [ExportedDataset]
    /// The datasets that had not changed.
    public let unchanged: [String]
    /// Warnings, one sentence each.
    public package(set) var warnings: [String]
    /// The number of readers' edits that stand, wholly or in part.
    public package(set) var messagesApplied = 0
    /// The number of readers' edits of which nothing stands.
    public package(set) var messagesRefused = 0
    /// The number of edits that were written to the conflict journal because they lost to readers' edits or were refused.
    public package(set) var conflicts = 0
    /// The number of those edits by their reasons: `laterEdit`, `laterDeletion`, `sameKey`, `valueTaken`, `parentNeeded` and `refused`.
    public package(set) var conflictReasons: [String: Int] = [:]
    /// What was pruned according to the retention settings; nil if nothing was.
    public package(set) var pruned: RetentionOutcome?
    public package(set) var requests: RequestUsage?
}

extension ExportReport: RequestCounting {}

extension ExportReport {
    /// This report of a run that found nothing new, after the run published a version to keep the freshness promise
    /// (``SyncMembers/setFreshness(_:)``).
    package func keepingFresh(as version: Int) -> ExportReport {
        var report = self
        (report.published, report.version, report.written, report.pruned) = (true, version, [], nil)
        return report
    }
}

/// One dataset that an export wrote.
public struct ExportedDataset: Sendable, Encodable {
    /// The asset that holds the new version: a snapshot asset, or a change asset alone.
    public enum Kind: String, Sendable, Encodable {
        case snapshot, changes
    }

    public let name: String
    public let kind: Kind
    /// The number of entities in the version.
    public let recordCount: Int
    /// The asset's path beneath the zone's directory.
    public let file: String
    /// The asset's size in bytes.
    public let size: Int
    /// The size of its JSON in bytes.
    public let rawSize: Int
    /// The number of blocks in the snapshot asset; nil for a change asset.
    public let blocks: Int?
    /// The number of unchanged blocks that were copied from the last version; nil for a change asset.
    public let blocksReused: Int?
    /// The change asset, if one was written, alone or beside a snapshot asset.
    public package(set) var changes: ExportedChanges?
}

/// A change asset that an export wrote.
public struct ExportedChanges: Sendable, Encodable {
    /// The asset's path beneath the zone's directory.
    public let file: String
    /// The asset's size in bytes.
    public let size: Int
    /// The number of entities that were changed or inserted.
    public let changed: Int
    /// The number of entities that were deleted.
    public let deleted: Int
}

/// What a publisher removed automatically after publishing.
public struct RetentionOutcome: Sendable, Encodable {
    /// The versions that were removed.
    public let removedVersions: [Int]
    /// The number of removed files.
    public let removedFiles: Int
    /// The size of the removed files, in bytes.
    public let bytesFreed: Int

    package init(removedVersions: [Int], removedFiles: Int, bytesFreed: Int) {
        (self.removedVersions, self.removedFiles, self.bytesFreed) = (removedVersions, removedFiles, bytesFreed)
    }
}

/// What a reader handed over to the publisher.
public struct SendReport: Hashable, Sendable, Encodable {
    /// The number of edits that are new in the mailbox.
    public let sent: Int
    /// 1 if the message was missing from the mailbox or damaged, and was put there again.
    public let putBack: Int
    /// The number of edits that no version has decided.
    public let waiting: Int
    /// Warnings, one sentence each. A sync has them in its import's report.
    public internal(set) var warnings: [String] = []

    package init(sent: Int, putBack: Int, waiting: Int, warnings: [String] = []) {
        (self.sent, self.putBack, self.waiting, self.warnings) = (sent, putBack, waiting, warnings)
    }

    private enum CodingKeys: CodingKey { case sent, putBack, waiting }
}
