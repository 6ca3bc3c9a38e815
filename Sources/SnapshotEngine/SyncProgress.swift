public import SnapshotVersions

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
        self.step = step
        self.dataset = dataset
        self.entityCount = entityCount
        self.expectedCount = expectedCount
    }

    /// The completed part, from 0 to 1; nil if the total is not known.
    public var fraction: Double? { expectedCount.map { $0 > 0 ? min(1, Double(entityCount) / Double($0)) : 1 } }
}

/// Receives progress, at most once a block. The engine calls it on any thread, one call at a time.
public typealias ProgressHandler = @Sendable (SyncProgress) -> Void
