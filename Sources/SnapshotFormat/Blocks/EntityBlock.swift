package import SnapshotModel

/// The entities of one block, parsed and checked, ready for a sink.
///
///     try reader.inflate(bytes, entry: entry.member, name: "block 0", into: block.raw)
///     try parser.parse(block, number: 0, of: index)
///     try block.send(to: applier)                     // possibly on another thread
///
/// Layout: the JSON itself, and a slot of 12 bytes for each column that is present; there are no allocations for entities or columns. Memory: at
/// most four times the JSON. Reusable: the next ``MemberReader/inflate(_:entry:name:into:)`` and parse overwrite it. Moves between threads, one
/// at a time.
package final class EntityBlock: @unchecked Sendable {
    // SAFETY (of @unchecked Sendable): a block has one owner at a time, which passes it on as a whole.

    /// The most names that ``unknownFieldNames`` holds.
    package static let unknownFieldLimit = 32

    /// The JSON: a member is decompressed into it and then parsed.
    package let raw = ByteBuffer()
    /// Unescaped texts and decoded blobs.
    let scratch = ByteBuffer()
    /// The number of entities.
    package internal(set) var count = 0
    /// Names in the JSON that the schema lacks; their values were skipped. At most ``unknownFieldLimit`` names.
    package internal(set) var unknownFieldNames: Set<String> = []

    private(set) var slots: UnsafeMutablePointer<EntitySlot>
    var slotCount = 0
    private var slotCapacity: Int
    private var row: UnsafeMutablePointer<ColumnValue>
    private var columnCount = 0
    // The keys of the first and the last entity.
    private var firstKeyPlace = KeyPlace.none
    private var lastKeyPlace = KeyPlace.none

    /// Makes an empty block.
    package init() {
        slotCapacity = 0
        slots = .allocate(capacity: 0)
        row = .allocate(capacity: 0)
    }

    deinit {
        slots.deallocate()
        row.deallocate()
    }

    /// The first entity's key, or nil.
    package var firstKey: EntityKey? { key(at: firstKeyPlace) }
    /// The last entity's key, or nil.
    package var lastKey: EntityKey? { key(at: lastKeyPlace) }

    /// Passes every entity to the sink, in the block's order. Can be repeated.
    ///
    /// - Throws: what the sink throws.
    package func send(to sink: any EntitySink) throws {
        // Local copies, because each access to a class's property has a runtime check.
        let slots = slots, row = row, columnCount = columnCount
        let raw = UnsafeRawPointer(raw.base), scratch = UnsafeRawPointer(scratch.base)
        row.initialize(repeating: .null, count: columnCount)
        var slot = slots
        let end = slots + slotCount
        while slot < end {
            let first = slot
            repeat {
                row[Int(slot.pointee.column)] = slot.pointee.value(raw: raw, scratch: scratch)
                slot += 1
            } while slot < end && !slot.pointee.beginsEntity
            try sink.receive(UnsafeBufferPointer(start: row, count: columnCount))
            var used = first
            while used < slot {
                row[Int(used.pointee.column)] = .null
                used += 1
            }
        }
    }

    /// The first slot of each entity, followed by the number of all slots.
    func entityBounds() -> [Int] {
        var bounds = (0..<slotCount).filter { slots[$0].beginsEntity }
        bounds.append(slotCount)
        return bounds
    }

    /// The positions of the columns that an entity names.
    func columns(slots range: Range<Int>) -> Set<Int> { Set(range.map { Int(slots[$0].column) }) }

    /// Passes the entity in a range of slots to the sink.
    ///
    /// - Parameter base: the values of the columns that it does not name; nil if they are NULL.
    func send(slots range: Range<Int>, over base: UnsafeBufferPointer<ColumnValue>? = nil, to sink: any EntitySink) throws {
        row.initialize(repeating: .null, count: columnCount)
        if let first = base?.baseAddress { row.update(from: first, count: columnCount) }
        for slot in range {
            row[Int(slots[slot].column)] = slots[slot].value(raw: UnsafeRawPointer(raw.base), scratch: UnsafeRawPointer(scratch.base))
        }
        try sink.receive(UnsafeBufferPointer(start: row, count: columnCount))
    }

    /// Removes the entities and prepares for entities of a schema.
    func begin(columnCount: Int) {
        scratch.clear()
        slotCount = 0
        count = 0
        firstKeyPlace = .none
        lastKeyPlace = .none
        if !unknownFieldNames.isEmpty { unknownFieldNames = [] }
        if columnCount != self.columnCount {
            row.deallocate()
            row = .allocate(capacity: columnCount)
            self.columnCount = columnCount
        }
    }

    /// Makes room for this many more slots.
    @inline(__always)
    func reserveSlots(_ more: Int) {
        if slotCapacity - slotCount < more { growSlots(slotCount + more) }
    }

    @inline(never)
    private func growSlots(_ needed: Int) {
        let larger = max(needed, slotCapacity * 2, 1024)
        let memory = UnsafeMutablePointer<EntitySlot>.allocate(capacity: larger)
        memory.update(from: slots, count: slotCount)
        slots.deallocate()
        slots = memory
        slotCapacity = larger
    }

    /// The bytes of a slot that holds text.
    @inline(__always)
    func text(at slot: Int) -> UnsafeRawBufferPointer {
        let slot = slots[slot]
        return slot.bytes(raw: raw.base, scratch: scratch.base)
    }

    /// Where a key is: in a slot, if it is a text or an integer as it is, or apart.
    private enum KeyPlace {
        case none
        case text(slot: Int)
        case integer(Int64)
        case apart(EntityKey)
    }

    /// Why a key is not allowed after another.
    enum KeyFault { case tooLong, notAscending }

    /// Notes the key of the entity that the parser has just read. Returns why it is not allowed here, or nil.
    ///
    /// - Parameter ordered: whether each key must be greater than the one before.
    @inline(__always)
    func parseKey(_ plan: SchemaPlan, _ parser: EntityParser, ordered: Bool) -> KeyFault? {
        let place: KeyPlace
        switch slots[parser.keySlot].form {
        case .rawText where plan.hasPlainKey, .scratchText where plan.hasPlainKey:
            guard text(at: parser.keySlot).count <= FormatLimits.keyBytes else { return .tooLong }
            place = .text(slot: parser.keySlot)
        case .integer where plan.hasPlainKey: place = .integer(slots[parser.keySlot].integer)
        default:
            let key = keyApart(plan.keyShape, slots: parser.firstSlot..<slotCount)
            guard key.byteCount <= FormatLimits.keyBytes else { return .tooLong }
            place = .apart(key)
        }
        if case .none = firstKeyPlace { firstKeyPlace = place } else if ordered, !isAscending(lastKeyPlace, place) { return .notAscending }
        lastKeyPlace = place
        return nil
    }

    @inline(__always)
    private func isAscending(_ first: KeyPlace, _ second: KeyPlace) -> Bool {
        switch (first, second) {
        case (.text(let first), .text(let second)): return KeyOrder.isAscending(text(at: first), text(at: second))
        case (.integer(let first), .integer(let second)): return first < second
        default:
            guard let first = key(at: first), let second = key(at: second) else { return true }
            return first < second
        }
    }

    private func key(at place: KeyPlace) -> EntityKey? {
        switch place {
        case .none: nil
        case .text(let slot): .text(Array(text(at: slot)))
        case .integer(let value): .integer(value)
        case .apart(let key): key
        }
    }

    /// The key of the entity in a range of slots. The parser has checked that every column of the key has a value.
    private func keyApart(_ shape: KeyShape, slots range: Range<Int>) -> EntityKey {
        let raw = UnsafeRawPointer(raw.base), scratch = UnsafeRawPointer(scratch.base)
        for slot in range { row[Int(slots[slot].column)] = slots[slot].value(raw: raw, scratch: scratch) }
        return shape.key(of: UnsafeBufferPointer(start: row, count: columnCount)) ?? .encoded([])
    }
}
