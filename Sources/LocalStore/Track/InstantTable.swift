/// A hash table from keys to instants, with 21 bytes for each slot.
///
/// The hash has 96 bits and a random seed for each process, so a collision of two keys is not to be expected with any number of rows. Not
/// thread-safe.
final class InstantTable {
    struct Hash: Hashable {
        let high: UInt64
        let low: UInt32
    }

    private(set) var count = 0
    private(set) var plainCount = 0
    private(set) var latest = Int64.min
    private let mask: Int
    private let limit: Int
    private let seed = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
    // SAFETY: all four have `mask + 1` elements, and every index is masked.
    private let highs: UnsafeMutablePointer<UInt64>
    private let lows: UnsafeMutablePointer<UInt32>
    private let instants: UnsafeMutablePointer<Int64>
    /// 0: empty; 1: the instant equals the row's own timestamp; 2: it differs. 4 is added when the table is known to have the row.
    private let states: UnsafeMutablePointer<UInt8>

    init(slotCount: Int) {
        mask = slotCount - 1
        limit = slotCount - slotCount / 8
        highs = .allocate(capacity: slotCount)
        lows = .allocate(capacity: slotCount)
        instants = .allocate(capacity: slotCount)
        states = .allocate(capacity: slotCount)
    }

    deinit {
        highs.deallocate()
        lows.deallocate()
        instants.deallocate()
        states.deallocate()
    }

    func clear() {
        states.initialize(repeating: 0, count: mask + 1)
        (count, plainCount, latest) = (0, 0, .min)
    }

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

    /// The slot of a key, or an empty slot for it; nil if the table is full.
    func slot(of hash: Hash) -> Int? {
        var slot = Int(truncatingIfNeeded: hash.high >> 8) & mask
        while states[slot] != 0 {
            if highs[slot] == hash.high, lows[slot] == hash.low { return slot }
            slot = (slot + 1) & mask
        }
        return count < limit ? slot : nil
    }

    func isUsed(_ slot: Int) -> Bool { states[slot] != 0 }

    func at(_ slot: Int) -> Int64 { instants[slot] }

    /// Whether the instant in a slot equals the row's own timestamp.
    func isPlain(_ slot: Int) -> Bool { states[slot] & 1 != 0 }

    /// Records that the table has a row for a slot's key. Do not call ``set(_:_:at:isPlain:)`` afterwards.
    func setPresent(_ slot: Int) { states[slot] |= 4 }

    func set(_ slot: Int, _ hash: Hash, at: Int64, isPlain: Bool) {
        switch states[slot] {
        case 0: count += 1
        case 1: plainCount -= 1
        default: break
        }
        if isPlain { plainCount += 1 }
        highs[slot] = hash.high
        lows[slot] = hash.low
        instants[slot] = at
        states[slot] = isPlain ? 1 : 2
        latest = max(latest, at)
    }

    func forEachException(_ body: (Hash, Int64) -> Void) {
        for slot in 0...mask where states[slot] == 2 { body(Hash(high: highs[slot], low: lows[slot]), instants[slot]) }
    }

    /// Calls `body` with the instants of keys that have no row.
    func forEachAbsent(_ body: (Hash, Int64) -> Void) {
        for slot in 0...mask where states[slot] == 1 || states[slot] == 2 { body(Hash(high: highs[slot], low: lows[slot]), instants[slot]) }
    }

    /// The instant that more than half of the exceptions have; an arbitrary one if no instant has a majority.
    func mostCommonException() -> Int64 {
        var found = Int64.min, votes = 0
        for slot in 0...mask where states[slot] == 2 {
            if votes == 0 { found = instants[slot] }
            votes += instants[slot] == found ? 1 : -1
        }
        return found
    }
}
