package import SnapshotModel

/// Walks two runs of entities in key order side by side, one pulled and one pushed, and tells where they differ.
///
///     let merge = EntityMerge(schema: schema, left: cursor.next) { key, before, after in … }
///     try block.give(to: merge)          // for everything of the right side
///     try merge.finish()
///
/// Memory: one run of the left side.
package final class EntityMerge: EntitySink {
    /// A key with what each side has; never both nil, and never the same.
    package typealias Difference = (_ key: EntityKey, _ left: [OwnedValue]?, _ right: [OwnedValue]?) throws -> Void

    private let keyShape: KeyShape
    private let place: String
    private let pull: () throws -> [OwnedEntity]?
    private let differ: Difference
    private var pending: ArraySlice<OwnedEntity> = []
    private var hasEnded = false
    /// How many entities both sides have in the same state, of those that were walked.
    package private(set) var equalCount = 0

    package init(schema: DatasetSchema, left pull: @escaping () throws -> [OwnedEntity]?, _ differ: @escaping Difference) {
        keyShape = schema.keyShape
        place = schema.name
        self.pull = pull
        self.differ = differ
    }

    package func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        guard let key = keyShape.key(of: values) else {
            throw SyncError(
                .dataRefused, step: .read, at: "dataset \(place)", "a row has no key, or one of another type",
                hint: "correct or delete the row; snapsync verify --local names it")
        }
        while let left = try left(), left.key < key {
            try differ(left.key, left.values, nil)
            pending.removeFirst()
        }
        guard let left = try left(), left.key == key else { return try differ(key, nil, values.map(OwnedValue.init)) }
        pending.removeFirst()
        let right = values.map(OwnedValue.init)
        if left.values == right { equalCount += 1 } else { try differ(key, left.values, right) }
    }

    /// Tells what the left side alone has behind the right side's last entity.
    package func finish() throws {
        while let left = try left() {
            try differ(left.key, left.values, nil)
            pending.removeFirst()
        }
    }

    private func left() throws -> OwnedEntity? {
        while pending.isEmpty, !hasEnded {
            if let next = try pull() { pending = next[...] } else { hasEnded = true }
        }
        return pending.first
    }
}
