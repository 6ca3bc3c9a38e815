/// Which rows of one dataset were inserted, updated and deleted.
///
///     for key in changes.updated { reload(key.text) }
///     if changes.isEverything { reloadAll() }
///
/// Does not include rows that an import wrote without changing them.
public struct DatasetChanges: Sendable, Hashable {
    /// The dataset's name.
    public let dataset: String
    /// The table of the dataset.
    public let table: String
    public private(set) var inserted: Set<EntityKey>
    public private(set) var updated: Set<EntityKey>
    public private(set) var deleted: Set<EntityKey>
    /// Whether any row may have changed, because there were too many changes to list. Then the three sets are empty.
    public private(set) var isEverything: Bool

    /// - Parameter table: nil if it has the dataset's name.
    public init(dataset: String, table: String? = nil, inserted: Set<EntityKey> = [], updated: Set<EntityKey> = [], deleted: Set<EntityKey> = []) {
        self.dataset = dataset
        self.table = table ?? dataset
        self.inserted = inserted
        self.updated = updated
        self.deleted = deleted
        isEverything = false
    }

    /// Changes that may affect any row of a dataset.
    public static func everything(of dataset: String, table: String? = nil) -> DatasetChanges {
        var changes = DatasetChanges(dataset: dataset, table: table)
        changes.isEverything = true
        return changes
    }

    /// The keys of all changed rows; nil if any row may have changed.
    public var keys: Set<EntityKey>? { isEverything ? nil : inserted.union(updated).union(deleted) }

    /// How many keys are listed.
    public var count: Int { inserted.count + updated.count + deleted.count }

    /// Whether nothing changed.
    public var isEmpty: Bool { count == 0 && !isEverything }

    /// Combines these changes with later ones of the same dataset. A row that was inserted and then deleted is not in the result.
    ///
    /// - Parameter limit: the most keys that are listed; with more, the result is ``everything(of:)``.
    public func followed(by later: DatasetChanges, limit: Int) -> DatasetChanges {
        guard !isEverything, !later.isEverything else { return .everything(of: dataset, table: table) }
        var sum = self
        for key in later.deleted where sum.inserted.remove(key) == nil {
            sum.updated.remove(key)
            sum.deleted.insert(key)
        }
        for key in later.inserted {
            if sum.deleted.remove(key) == nil { sum.inserted.insert(key) } else { sum.updated.insert(key) }
        }
        for key in later.updated where !sum.inserted.contains(key) { sum.updated.insert(key) }
        return sum.count > limit ? .everything(of: dataset, table: table) : sum
    }
}
