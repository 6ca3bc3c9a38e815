package import SnapshotModel
package import StrictText

/// The change assets of a version, combined: the state of each entity that they changed, on top of a snapshot asset.
///
///     var overlay = ChangeOverlay(schema: schema)
///     for set in sets { overlay.add(set) }                     // oldest first: the later change wins
///     try overlay.give(block, upTo: nextFirstKey, to: sink)    // each block of the snapshot, in order
///
/// Memory: the sets. One thread at a time.
package struct ChangeOverlay {
    /// The result of the changes for one entity.
    package enum Change {
        /// It exists.
        case present(RowInstants)
        /// It exists, as this JSON, and is in no table.
        case held(RowInstants, entity: String)
        case deleted(Instant)
    }

    private struct Place {
        let change: Change
        let set: Int
        let slots: Range<Int>
    }

    private let schema: DatasetSchema
    private var sets: [ChangeSet] = []
    private var places: [EntityKey: Place] = [:]
    /// The changed keys, ascending.
    package private(set) var keys: [EntityKey] = []

    /// Makes an overlay without changes.
    package init(schema: DatasetSchema) { self.schema = schema }

    /// Whether there are no changes.
    package var isEmpty: Bool { keys.isEmpty }

    /// Adds the next version's changes, which override earlier ones.
    package mutating func add(_ set: ChangeSet) {
        let bounds = set.entities.entityBounds()
        for (number, key) in set.entityKeys.enumerated() {
            places[key] = Place(
                change: .present(set.instants[key] ?? RowInstants()), set: sets.count, slots: bounds[number]..<bounds[number + 1])
        }
        for (key, entity) in set.held {
            places[key] = Place(change: .held(set.instants[key] ?? RowInstants(), entity: entity), set: sets.count, slots: 0..<0)
        }
        for (key, instant) in set.deletions { places[key] = Place(change: .deleted(instant), set: sets.count, slots: 0..<0) }
        sets.append(set)
        keys = places.keys.sorted()
    }

    /// The change of an entity; nil if it was not changed.
    package func change(of key: EntityKey) -> Change? { places[key]?.change }

    /// The changed keys from `first` up to, but without, `next`.
    package func keys(from first: EntityKey?, upTo next: EntityKey?) -> ArraySlice<EntityKey> {
        let start = first.map { first in position { $0 < first } } ?? 0
        let end = next.map { next in position { $0 < next } } ?? keys.count
        return keys[start..<max(start, end)]
    }

    /// Passes on the entity of a key, as the changes have it; nothing if it was deleted or not changed.
    package func give(_ key: EntityKey, to sink: any EntitySink) throws {
        guard let place = places[key], case .present = place.change else { return }
        try sets[place.set].entities.give(slots: place.slots, to: sink)
    }

    /// Passes on the version's entities in the range of one block of the snapshot, in key order: the block's entities with the changes applied.
    ///
    /// - Parameters:
    ///   - block: the block; nil if the snapshot has no blocks.
    ///   - first: the start of the range; nil for the first block, whose range begins before all keys.
    ///   - next: the next block's first key; nil for the last block.
    package func give(_ block: EntityBlock?, from first: EntityKey?, upTo next: EntityKey?, to sink: any EntitySink) throws {
        let touched = keys(from: first, upTo: next)
        guard let block else {
            for key in touched { try give(key, to: sink) }
            return
        }
        if touched.isEmpty { return try block.give(to: sink) }
        let merging = MergingSink(self, touched, schema.keyShape, sink)
        try block.give(to: merging)
        try merging.finish()
    }

    private func position(where isBefore: (EntityKey) -> Bool) -> Int {
        var low = 0, high = keys.count
        while low < high {
            let middle = (low + high) / 2
            if isBefore(keys[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// Merges the changes into a block's entities and passes the result on.
private final class MergingSink: EntitySink {
    private let overlay: ChangeOverlay
    private var waiting: ArraySlice<EntityKey>
    private let keyShape: KeyShape
    private let sink: any EntitySink

    init(_ overlay: ChangeOverlay, _ touched: ArraySlice<EntityKey>, _ keyShape: KeyShape, _ sink: any EntitySink) {
        self.overlay = overlay
        waiting = touched
        self.keyShape = keyShape
        self.sink = sink
    }

    func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        guard let key = keyShape.key(of: values) else { return try sink.take(values) }
        while let next = waiting.first, next < key { try overlay.give(waiting.removeFirst(), to: sink) }
        if waiting.first == key { try overlay.give(waiting.removeFirst(), to: sink) } else { try sink.take(values) }
    }

    func finish() throws {
        while !waiting.isEmpty { try overlay.give(waiting.removeFirst(), to: sink) }
    }
}
