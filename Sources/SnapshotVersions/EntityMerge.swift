package import SnapshotModel
import StrictText

/// Compares two streams of entities in key order, one pulled and one pushed, and reports where they differ.
///
///     let merge = EntityMerge(schema: schema, left: cursor.next) { key, before, after in … }
///     try block.send(to: merge)          // for all of the right side
///     try merge.finish()
///
/// Memory: one run of the left side.
package final class EntityMerge: EntitySink {
    /// A key with the values on each side; nil on the side that lacks the entity. The two sides always differ.
    package typealias Difference = (_ key: EntityKey, _ left: [OwnedValue]?, _ right: [OwnedValue]?) throws -> Void

    private let keyShape: KeyShape
    private let place: String
    private let pull: () throws -> [OwnedEntity]?
    private let differ: Difference
    private var pending: ArraySlice<OwnedEntity> = []
    private var hasEnded = false
    /// The number of entities compared so far that are equal on both sides.
    package private(set) var equalCount = 0

    package init(schema: DatasetSchema, left pull: @escaping () throws -> [OwnedEntity]?, _ differ: @escaping Difference) {
        keyShape = schema.keyShape
        place = schema.name
        self.pull = pull
        self.differ = differ
    }

    package func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        guard let key = keyShape.key(of: values) else {
            throw SyncError(
                .dataRefused, step: .read, at: "dataset \(place)", "a row has no usable key",
                hint: "correct or delete the row; snapsync check --local names it")
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

    /// Reports the entities of the left side after the right side's last one.
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
