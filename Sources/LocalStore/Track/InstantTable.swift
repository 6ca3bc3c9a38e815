import LocalTables
/// A hash table from keys to instants, with 24 bytes for each slot.
///
/// Its variables lie behind a pointer: for those of a class, Swift checks at each change that no other one is under way. Not thread-safe.
final class InstantTable {
    typealias Hash = KeyHasher.Hash

    // Together, because each look at a slot waits for memory once.
    private struct Slot {
        var high: UInt64
        var at: Int64
        var low: UInt32
        var columns: ColumnSets.Number
        var state: State
    }

    private struct State: OptionSet {
        let rawValue: UInt8
        static let used = State(rawValue: 1)
        /// The instant equals the row's own timestamp.
        static let plain = State(rawValue: 2)
        /// The table is known to have the row.
        static let present = State(rawValue: 4)
    }

    private struct Totals {
        var count = 0
        var plainCount = 0
        var latest = Int64.min
    }

    private let limit: Int
    // SAFETY: both are freed with the table, and every index of a slot is below their number.
    private let slots: UnsafeMutableBufferPointer<Slot>
    private let totals: UnsafeMutablePointer<Totals>

    var count: Int { totals.pointee.count }
    var plainCount: Int { totals.pointee.plainCount }
    var latest: Int64 { totals.pointee.latest }

    /// Makes room for the instants of `count` keys and a tenth more.
    init(for count: Int) {
        let slotCount = max(1 << 10, count + count / 4)
        limit = slotCount - slotCount / 10
        slots = .allocate(capacity: slotCount)
        slots.initialize(repeating: Slot(high: 0, at: 0, low: 0, columns: 0, state: []))
        totals = .allocate(capacity: 1)
        totals.initialize(to: Totals())
    }

    deinit {
        slots.deallocate()
        totals.deallocate()
    }

    /// The slot of a key, or an empty slot for it; nil if the table is full.
    func slot(of hash: Hash) -> Int? {
        var slot = Int(truncatingIfNeeded: hash.high.multipliedFullWidth(by: UInt64(slots.count)).high)
        while isUsed(slot) {
            if slots[slot].high == hash.high, slots[slot].low == hash.low { return slot }
            slot = slot + 1 < slots.count ? slot + 1 : 0
        }
        return count < limit ? slot : nil
    }

    func isUsed(_ slot: Int) -> Bool { slots[slot].state.contains(.used) }

    func at(_ slot: Int) -> Int64 { slots[slot].at }

    /// The columns that the row of a slot's key changed.
    func columns(_ slot: Int) -> ColumnSets.Number { slots[slot].columns }

    /// Whether the instant in a slot equals the row's own timestamp.
    func isPlain(_ slot: Int) -> Bool { slots[slot].state.contains(.plain) }

    /// Records that the table has a row for a slot's key. Do not call ``set(_:_:at:columns:isPlain:)`` afterwards.
    func setPresent(_ slot: Int) { slots[slot].state.insert(.present) }

    func set(_ slot: Int, _ hash: Hash, at: Int64, columns: ColumnSets.Number, isPlain: Bool) {
        if !isUsed(slot) { totals.pointee.count += 1 } else if self.isPlain(slot) { totals.pointee.plainCount -= 1 }
        if isPlain { totals.pointee.plainCount += 1 }
        slots[slot] = Slot(high: hash.high, at: at, low: hash.low, columns: columns, state: isPlain ? [.used, .plain] : .used)
        totals.pointee.latest = max(latest, at)
    }

    /// The columns that every key's row changed; those of all if they differ, and 0 if there is no key.
    func commonColumns() -> ColumnSets.Number {
        var found: ColumnSets.Number = 0
        for slot in slots where slot.state.contains(.used) && slot.columns != found {
            guard found == 0 else { return ColumnSets.all }
            found = slot.columns
        }
        return found
    }

    func forEachException(_ body: (Hash, Int64) -> Void) {
        for slot in slots where slot.state == .used { body(Hash(high: slot.high, low: slot.low), slot.at) }
    }

    /// Calls `body` with the instants of keys that have no row.
    func forEachAbsent(_ body: (Hash, Int64) -> Void) {
        for slot in slots where slot.state.isDisjoint(with: .present) && slot.state.contains(.used) {
            body(Hash(high: slot.high, low: slot.low), slot.at)
        }
    }

    /// The instant that more than half of the exceptions have; an arbitrary one if no instant has a majority.
    func mostCommonException() -> Int64 {
        var found = Int64.min, votes = 0
        for slot in slots where slot.state == .used {
            if votes == 0 { found = slot.at }
            votes += slot.at == found ? 1 : -1
        }
        return found
    }
}

/// Hashes keys: 96 bits with a random seed, so a collision of two keys is not to be expected with any number of rows.
struct KeyHasher: Sendable {
    struct Hash: Hashable {
        let high: UInt64
        let low: UInt32
    }

    private let seed = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))

    /// The hash of a key in a column of a statement's row; nil if the value is not a key.
    func hash(_ row: KeyedStatement, _ column: Int32) -> Hash? {
        var (high, low) = seed
        func add(_ word: UInt64) {
            high = (high ^ word) &* 0x9E37_79B9_7F4A_7C15
            high ^= high >> 29
            low = (low &+ word) &* 0xC2B2_AE3D_27D4_EB4F
            low ^= low >> 31
        }
        let isKey = row.withKeyBytes(column) { type, bytes, number in
            add(UInt64(bitPattern: Int64(type)))
            if let number { return add(UInt64(bitPattern: number)) }
            var position = 0
            while position + 8 <= bytes.count {
                add(bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
                position += 8
            }
            var rest = UInt64(bytes.count) << 56
            for (number, byte) in bytes[position...].enumerated() { rest ^= UInt64(byte) << UInt64(8 * number) }
            add(rest)
        }
        guard isKey else { return nil }
        add(high >> 32)
        return Hash(high: high, low: UInt32(truncatingIfNeeded: low >> 32))
    }
}
