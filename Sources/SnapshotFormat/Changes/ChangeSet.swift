package import Sealing
package import SnapshotModel
package import StrictText

/// What one commit changed in a dataset, read from its change asset and checked.
///
///     let changes = try ChangeSet(compressed, entry: entry, schema: schema, name: "changes 14 of notifications")
///     for key in changes.keys { … }
///     try changes.entities.give(to: applier)
///
/// Entities and tombstones are in key order, and no key is in both. Memory: the JSON and its slots.
package final class ChangeSet: @unchecked Sendable {
    // SAFETY (of @unchecked Sendable): the owner uses it on one thread at a time.

    /// When the commit's version was made.
    package let syncTimestamp: Instant
    /// The new state of each entity that was changed or added.
    package let entities: EntityBlock
    /// The keys of these entities, ascending.
    package let entityKeys: [EntityKey]
    /// The entities that were deleted, with their instants, in key order.
    package let deletions: [(key: EntityKey, instant: Instant)]
    /// The instants of entities whose own timestamps differ from them.
    package let instants: [EntityKey: Instant]

    /// Decompresses and parses a change asset.
    ///
    /// - Parameters:
    ///   - entry: its lengths and hash, as the commit states them; the lengths are hard limits.
    ///   - name: its name in errors.
    ///   - boxes: decrypts it in a sealed zone.
    /// - Throws: ``FormatError``, naming entity and column.
    package init(_ compressed: UnsafeRawBufferPointer, entry: MemberEntry, schema: DatasetSchema, name: String, boxes: DatasetBoxes? = nil) throws {
        guard entry.rawLength <= FormatLimits.changeRawBytes else {
            throw FormatError(.tooLarge, at: name, "it declares more than \(FormatLimits.changeRawBytes >> 20) MiB of JSON")
        }
        let block = EntityBlock()
        try MemberReader(boxes: boxes).inflate(compressed, entry: entry, name: name, into: block.raw)
        let parser = ChangeParser(schema: schema, name: name)
        let (header, tailStart) = try parser.parse(block)
        syncTimestamp = header.syncTimestamp

        let keys = EntityKeys(schema)
        try block.give(to: keys)
        entityKeys = keys.keys
        entities = block

        var deletions: [(EntityKey, Instant)] = []
        var instants: [EntityKey: Instant] = [:]
        let tail = UnsafeRawBufferPointer(rebasing: block.raw.bytes[tailStart...])
        // A change asset has no runs: it lists the instant of each entity separately.
        _ = try SnapshotTail.read(
            tail, keyShape: schema.keyShape, hasRuns: false, .init(deletion: { deletions.append(($0, $1)) }, instant: { instants[$0] = $1 }, run: { _ in }))
        self.deletions = deletions
        self.instants = instants
        let changed = Set(entityKeys)
        guard instants.keys.allSatisfy(changed.contains), deletions.allSatisfy({ !changed.contains($0.0) }) else {
            throw FormatError(.damaged, at: name, "an entity is both changed and deleted, or has an instant and is not there")
        }
    }

    /// Every key that the commit changed: the entities' keys, then the deleted ones.
    package var keys: [EntityKey] { entityKeys + deletions.map(\.key) }
}

/// Parses the JSON of a change asset as strictly as a block.
private struct ChangeParser {
    let plan: SchemaPlan
    let name: String

    init(schema: DatasetSchema, name: String) {
        plan = SchemaPlan(schema)
        self.name = name
    }

    /// Parses head and entities. Returns the head and the offset of the tail.
    func parse(_ block: EntityBlock) throws -> (SnapshotHeader, Int) {
        block.begin(columnCount: plan.count)
        block.raw.seal()
        let bytes = block.raw.bytes
        guard UTF8Check.firstFault(in: bytes) == nil else { throw FormatError(.damaged, at: name, "it is not UTF-8") }
        var reader = LiteralReader(bytes, place: name)
        let header = try SnapshotHeader.read(&reader)
        guard header.dataset == plan.schema.name else { throw FormatError(.damaged, at: name, "it is of another dataset") }

        let scanner = JSONScanner(bytes)
        let entities = EntityParser(plan, isForeign: false)
        var position = reader.position
        // The sealed buffer ends with zeros, so the next bytes can be read without a check.
        while scanner.base[position] == UInt8(ascii: "\n"), scanner.base[position + 1] == UInt8(ascii: "{") {
            let end: Int
            do throws(EntityFault) {
                end = try entities.parse(scanner, at: position + 1, into: block)
            } catch {
                throw FormatError(.badEntity, at: "\(name), entity \(block.count)" + (error.column.map { ", column \(plan.name($0))" } ?? ""), error.reason)
            }
            switch block.takeKey(plan, entities, ordered: true) {
            case .tooLong?: throw FormatError(.badEntity, at: "\(name), entity \(block.count)", "the key is longer than \(FormatLimits.keyBytes) bytes")
            case .notAscending?: throw FormatError(.outOfOrder, at: "\(name), entity \(block.count)", "its key does not come after the one before")
            case nil: break
            }
            block.count += 1
            position = end
            guard scanner.base[position] == UInt8(ascii: ",") else { break }
            position += 1
            guard scanner.base[position] == UInt8(ascii: "\n"), scanner.base[position + 1] == UInt8(ascii: "{") else {
                throw FormatError(.damaged, at: "\(name), byte \(position)", "an entity is expected")
            }
        }
        return (header, position)
    }
}
