package import SnapshotModel
package import StrictText

/// The change assets of a version, combined: the state of each entity that they changed, on top of a snapshot asset.
///
///     var overlay = ChangeOverlay(schema: schema)
///     for set in sets { overlay.add(set) }                     // oldest first: the later change wins
///     try overlay.send(block, upTo: nextFirstKey, to: sink)    // each block of the snapshot, in order
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
        var change: Change
        /// The entities of the key, by the numbers of their sets and in these: a partial one needs what the ones before it give, or the snapshot.
        var layers: [(set: Int, entity: Int)] = []
        var isPartial = false
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
    ///
    /// - Throws: ``SyncError`` with `.damaged` if an entity is partial that the version before does not have.
    package mutating func add(_ set: ChangeSet) throws {
        for (number, key) in set.entityKeys.enumerated() {
            let isPartial = set.partial[key] != nil
            var place = isPartial ? places[key] ?? Place(change: .present(RowInstants()), isPartial: true) : Place(change: .present(RowInstants()))
            guard case .present = place.change else { throw missing(key) }
            place.change = .present(set.instants[key] ?? RowInstants())
            place.layers.append((sets.count, number))
            places[key] = place
        }
        for (key, entity) in set.held { places[key] = Place(change: .held(set.instants[key] ?? RowInstants(), entity: entity)) }
        for (key, instant) in set.deletions { places[key] = Place(change: .deleted(instant)) }
        sets.append(set)
        keys = places.keys.sorted()
    }

    /// The change of an entity; nil if it was not changed.
    package func change(of key: EntityKey) -> Change? { places[key]?.change }

    /// The changed keys from `first` up to, but without, `next`.
    package func keys(from first: EntityKey?, upTo next: EntityKey?) -> ArraySlice<EntityKey> {
        let start = first.map { first in keys.partitioningIndex { !($0 < first) } } ?? 0
        let end = next.map { next in keys.partitioningIndex { !($0 < next) } } ?? keys.count
        return keys[start..<max(start, end)]
    }

    /// Passes on the entity of a key, as the changes have it; nothing if it was deleted or not changed.
    ///
    /// - Parameter base: the entity as the snapshot has it; nil if it does not.
    private func send(_ key: EntityKey, over base: UnsafeBufferPointer<ColumnValue>?, to sink: any EntitySink) throws {
        guard let place = places[key], case .present = place.change else { return }
        var first: ChangeSet.Layer?
        for one in place.layers.reversed() { first = sets[one.set].layer(one.entity, over: first ?? sink) }
        guard place.isPartial else { return try first?.send() ?? () }
        guard let base else { throw missing(key) }
        try first?.receive(base)
    }

    private func missing(_ key: EntityKey) -> SyncError {
        SyncError(format: .damaged, at: "key \(key)", "some columns of an entity changed that the version before does not have")
    }

    /// Passes on the version's entities in the range of one block of the snapshot, in key order: the block's entities with the changes applied.
    ///
    /// - Parameters:
    ///   - block: the block; nil if the snapshot has no blocks.
    ///   - first: the start of the range; nil for the first block, whose range begins before all keys.
    ///   - next: the next block's first key; nil for the last block.
    package func send(_ block: EntityBlock?, from first: EntityKey?, upTo next: EntityKey?, to sink: any EntitySink) throws {
        let touched = keys(from: first, upTo: next)
        guard let block else {
            for key in touched { try send(key, over: nil, to: sink) }
            return
        }
        if touched.isEmpty { return try block.send(to: sink) }
        let merging = MergingSink(touched, schema.keyShape, to: sink) { try send($0, over: $1, to: sink) }
        try block.send(to: merging)
        try merging.finish()
    }
}

/// Merges the changes into a block's entities and passes the result on.
private final class MergingSink: EntitySink {
    private var waiting: ArraySlice<EntityKey>
    private let keyShape: KeyShape
    private let sink: any EntitySink
    private let give: (EntityKey, UnsafeBufferPointer<ColumnValue>?) throws -> Void

    /// - Parameter give: passes a changed entity on, put over the block's, if that has it.
    init(
        _ touched: ArraySlice<EntityKey>, _ keyShape: KeyShape, to sink: any EntitySink,
        give: @escaping (EntityKey, UnsafeBufferPointer<ColumnValue>?) throws -> Void
    ) {
        waiting = touched
        self.keyShape = keyShape
        self.sink = sink
        self.give = give
    }

    func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        guard let key = keyShape.key(of: values) else { return try sink.receive(values) }
        while let next = waiting.first, next < key { try give(waiting.removeFirst(), nil) }
        if waiting.first == key { try give(waiting.removeFirst(), values) } else { try sink.receive(values) }
    }

    func finish() throws {
        while !waiting.isEmpty { try give(waiting.removeFirst(), nil) }
    }
}
