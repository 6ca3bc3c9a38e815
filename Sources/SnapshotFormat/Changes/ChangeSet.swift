package import Sealing
package import SnapshotModel
package import StrictText

/// What one commit changed in a dataset, read from its change asset and checked.
///
///     let changes = try ChangeSet(compressed, entry: entry, schema: schema, name: "changes 14 of notifications")
///     for key in changes.keys { … }
///     try changes.send(to: applier) { key, sink in try rows.send(key, to: sink) }
///
/// Entities and tombstones are in key order, and no key is in both. Memory: the JSON and its slots.
package final class ChangeSet: @unchecked Sendable {
    // SAFETY (of @unchecked Sendable): the owner uses it on one thread at a time.

    /// When the commit's version was made.
    package let syncTimestamp: Instant
    /// Each entity that was changed or added. A partial one has NULL in the columns that did not change.
    package let entities: EntityBlock
    /// The keys of these entities, ascending.
    package let entityKeys: [EntityKey]
    /// The partial entities, each with the columns that it names beside the key's: those that changed.
    package let partial: [EntityKey: Set<Int>]
    /// The first slot of each entity, followed by the number of all slots.
    private let bounds: [Int]
    /// The entities that were deleted, with their instants, in key order.
    package let deletions: [(key: EntityKey, instant: Instant)]
    /// The entities that are in no table from the commit on, as JSON, in key order.
    package let held: [(key: EntityKey, entity: String)]
    /// What the commit states of the instants of its entities.
    package let instants: [EntityKey: RowInstants]

    /// Decompresses and parses a change asset.
    ///
    /// - Parameters:
    ///   - entry: its lengths and hash, as the commit states them; the lengths are hard limits.
    ///   - name: its name in errors.
    ///   - after: the name of the asset that the version before ends with; nil if that is not known.
    ///   - boxes: decrypts it in a sealed zone.
    /// - Throws: ``SyncError``, naming entity and column.
    package init(
        _ compressed: UnsafeRawBufferPointer, entry: MemberEntry, schema: DatasetSchema, name: String, after: String? = nil, boxes: DatasetBoxes? = nil
    ) throws {
        guard entry.rawLength <= FormatLimits.changeRawBytes else {
            throw SyncError(format: .tooLarge, at: name, "it declares more than \(FormatLimits.changeRawBytes >> 20) MiB of JSON")
        }
        let block = EntityBlock()
        try MemberReader(boxes: boxes).inflate(compressed, entry: entry, name: name, into: block.raw)
        let parser = ChangeParser(schema: schema, name: name)
        let (header, tailStart, partialNumbers) = try parser.parse(block)
        syncTimestamp = header.syncTimestamp
        guard after == nil || header.after?.exact == after?.exact else {
            throw SyncError(format: .damaged, at: name, "it stands on the asset \(header.after ?? ""), and the version before ends with \(after ?? "")")
        }

        let keys = EntityKeys(schema)
        try block.send(to: keys)
        entityKeys = keys.keys
        entities = block
        let bounds = block.entityBounds()
        self.bounds = bounds
        let partial = Dictionary(
            uniqueKeysWithValues: partialNumbers.map {
                (keys.keys[$0], block.columns(slots: bounds[$0]..<bounds[$0 + 1]).subtracting(schema.keyIndices))
            })
        self.partial = partial

        var deletions: [(EntityKey, Instant)] = [], held: [(EntityKey, String)] = []
        var instants: [EntityKey: RowInstants] = [:], undated: [(EntityKey, InstantPart)] = []
        let own = OwnInstants(schema: schema, notAfter: syncTimestamp)
        let tail = UnsafeRawBufferPointer(rebasing: block.raw.bytes[tailStart...])
        try SnapshotTail.read(
            tail, .init(schema, columns: nil, at: syncTimestamp),
            visitor: .init(
                held: { key, entity in
                    held.append((key, try EntityDocument.make(schema) { try entity.send(to: $0) } ?? ""))
                    try entity.send(to: own)
                },
                deletion: { deletions.append(($0, $1)) },
                instant: { part, key, at in if let at { instants[key, default: RowInstants()].set(part, at) } else { undated.append((key, part)) } }))
        if !undated.isEmpty {
            try block.send(to: own)
            for (key, part) in undated {
                guard schema.timestampIndex.flatMap({ partial[key]?.contains($0) }) ?? true else {
                    throw SyncError(format: .damaged, at: name, "a partial entity without its timestamp has an instant that only the timestamp says")
                }
                instants[key, default: RowInstants()].set(part, own.instants[key] ?? .distantPast)
            }
        }
        (self.deletions, self.held, self.instants) = (deletions, held, instants)
        let changed = Set(entityKeys), apart = Set(held.map(\.0))
        guard changed.isDisjoint(with: apart), instants.keys.allSatisfy({ changed.contains($0) || apart.contains($0) }),
            deletions.allSatisfy({ !changed.contains($0.0) && !apart.contains($0.0) })
        else {
            throw SyncError(format: .damaged, at: name, "two of its lists have one entity, or an entity has an instant and is not there")
        }
    }

    /// Every key that the commit changed: the entities' keys, then those of entities in no table, then the deleted ones.
    package var keys: [EntityKey] { entityKeys + held.map(\.key) + deletions.map(\.key) }

    /// Passes on the entities, in key order.
    ///
    /// - Parameter base: passes the entity with that key on as it is in the version before; called for partial entities.
    package func send(to sink: any EntitySink, over base: (EntityKey, any EntitySink) throws -> Void) throws {
        guard !partial.isEmpty else { return try entities.send(to: sink) }
        for (number, key) in entityKeys.enumerated() {
            let layer = layer(number, over: sink)
            if partial[key] == nil { try layer.send() } else { try base(key, layer) }
        }
    }

    /// One entity, to be put over what the version before has.
    func layer(_ number: Int, over sink: any EntitySink) -> Layer { Layer(entities, bounds[number]..<bounds[number + 1], over: sink) }

    /// A sink that puts an entity over the entity that it gets, and passes the result on.
    final class Layer: EntitySink {
        private let block: EntityBlock
        private let slots: Range<Int>
        private let sink: any EntitySink

        init(_ block: EntityBlock, _ slots: Range<Int>, over sink: any EntitySink) { (self.block, self.slots, self.sink) = (block, slots, sink) }

        func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws { try block.send(slots: slots, over: values, to: sink) }

        /// Passes on the entity alone, which is whole.
        func send() throws { try block.send(slots: slots, to: sink) }
    }
}

/// Parses the JSON of a change asset as strictly as a block.
private struct ChangeParser {
    let plan: SchemaPlan
    let name: String

    init(schema: DatasetSchema, name: String) {
        plan = SchemaPlan(schema)
        self.name = name
    }

    /// Parses head and entities. Returns the head, the offset of the tail, and the numbers of the partial entities.
    func parse(_ block: EntityBlock) throws -> (SnapshotHeader, Int, partial: [Int]) {
        block.begin(columnCount: plan.count)
        block.raw.seal()
        let bytes = block.raw.bytes
        guard UTF8Check.firstFault(in: bytes) == nil else { throw SyncError(format: .damaged, at: name, "it is not UTF-8") }
        var reader = LiteralReader(bytes, place: name)
        let header = try SnapshotHeader.read(&reader, ofChanges: true)
        guard header.dataset == plan.schema.name else { throw SyncError(format: .damaged, at: name, "it is of another dataset") }

        let scanner = JSONScanner(bytes)
        let whole = EntityParser(plan, isForeign: false), parts = EntityParser(SchemaPlan(plan.schema.partial), isForeign: false)
        var position = reader.position, partial: [Int] = []
        // The sealed buffer ends with zeros, so the next bytes can be read without a check.
        func beginsEntity(_ position: Int) -> Bool {
            scanner.base[position] == UInt8(ascii: "\n")
                && (scanner.base[position + 1] == UInt8(ascii: "{") || scanner.base[position + 1] == UInt8(ascii: "["))
        }
        while beginsEntity(position) {
            let isPartial = scanner.base[position + 1] == UInt8(ascii: "["), entities = isPartial ? parts : whole
            var end: Int
            do throws(EntityFault) {
                end = try entities.parse(scanner, at: position + (isPartial ? 2 : 1), into: block)
                if isPartial { end = try parts.parseNullColumns(scanner, at: end, of: plan, into: block) }
            } catch {
                throw SyncError(
                    format: .badEntity, at: "\(name), entity \(block.count)" + (error.column.map { ", column \(plan.name($0))" } ?? ""), error.reason)
            }
            switch block.parseKey(plan, entities, ordered: true) {
            case .tooLong?: throw SyncError(format: .badEntity, at: "\(name), entity \(block.count)", "the key is longer than \(FormatLimits.keyBytes) bytes")
            case .notAscending?: throw SyncError(format: .outOfOrder, at: "\(name), entity \(block.count)", "its key does not come after the one before")
            case nil: break
            }
            if isPartial { partial.append(block.count) }
            block.count += 1
            position = end
            guard scanner.base[position] == UInt8(ascii: ",") else { break }
            position += 1
            guard beginsEntity(position) else {
                throw SyncError(format: .damaged, at: "\(name), byte \(position)", "an entity is expected")
            }
        }
        return (header, position, partial)
    }
}
