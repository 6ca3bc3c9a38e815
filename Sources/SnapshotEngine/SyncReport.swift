public import ObjectCloud
public import SnapshotVersions

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
    /// The changes that a reader has made of datasets that readers may not edit: no other device gets them.
    public internal(set) var kept: [KeptChanges] = []
    public package(set) var requests: RequestUsage?
}

/// A reader's changes of a dataset that stay on it, because readers may not make them.
public struct KeptChanges: Sendable, Encodable {
    public let dataset: String
    /// How many entities were changed.
    public let changes: Int

    package init(dataset: String, changes: Int) { (self.dataset, self.changes) = (dataset, changes) }
}

extension SyncReport: RequestCounting {}

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
