/// Which rows of one dataset were inserted, updated and deleted.
///
///     for key in changes.updated { reload(key.text) }
///     if changes.isEverything { reloadAll() }
///
/// Rows that came out of an import as they were are not among them.
public struct DatasetChanges: Sendable, Hashable {
    /// The dataset's name.
    public let dataset: String
    public private(set) var inserted: Set<EntityKey>
    public private(set) var updated: Set<EntityKey>
    public private(set) var deleted: Set<EntityKey>
    /// Whether any row may have changed: too many did to name them. The three sets are empty then.
    public private(set) var isEverything: Bool

    public init(dataset: String, inserted: Set<EntityKey> = [], updated: Set<EntityKey> = [], deleted: Set<EntityKey> = []) {
        self.dataset = dataset
        self.inserted = inserted
        self.updated = updated
        self.deleted = deleted
        isEverything = false
    }

    /// Says that any row of a dataset may have changed.
    public static func everything(of dataset: String) -> DatasetChanges {
        var changes = DatasetChanges(dataset: dataset)
        changes.isEverything = true
        return changes
    }

    /// How many keys are named.
    public var count: Int { inserted.count + updated.count + deleted.count }

    /// Whether nothing changed.
    public var isEmpty: Bool { count == 0 && !isEverything }

    /// These changes and later ones of the same dataset as one: a row that was inserted and deleted again is not among them.
    ///
    /// - Parameter limit: how many keys are named; with more of them the result is ``everything(of:)``.
    public func followed(by later: DatasetChanges, limit: Int) -> DatasetChanges {
        guard !isEverything, !later.isEverything else { return .everything(of: dataset) }
        var sum = self
        for key in later.deleted where sum.inserted.remove(key) == nil {
            sum.updated.remove(key)
            sum.deleted.insert(key)
        }
        for key in later.inserted {
            if sum.deleted.remove(key) == nil { sum.inserted.insert(key) } else { sum.updated.insert(key) }
        }
        for key in later.updated where !sum.inserted.contains(key) { sum.updated.insert(key) }
        return sum.count > limit ? .everything(of: dataset) : sum
    }
}
