public import SnapshotVersions

/// How far a long step has come.
public struct SyncProgress: Sendable {
    /// What is being done: `encode` on the way out, `apply` on the way back.
    public let step: SyncStep
    public let dataset: String
    /// How many entities are done.
    public let entityCount: Int
    /// How many there will be, where that is known.
    public let expectedCount: Int?

    public init(step: SyncStep, dataset: String, entityCount: Int, expectedCount: Int?) {
        self.step = step
        self.dataset = dataset
        self.entityCount = entityCount
        self.expectedCount = expectedCount
    }

    /// How much is done, from 0 to 1; nil where it is not known how much there will be.
    public var fraction: Double? { expectedCount.map { $0 > 0 ? min(1, Double(entityCount) / Double($0)) : 1 } }
}

/// Takes progress, at most once a block. Called on any thread, one call at a time.
public typealias ProgressHandler = @Sendable (SyncProgress) -> Void
