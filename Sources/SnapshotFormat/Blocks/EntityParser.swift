internal import SnapshotModel
internal import StrictText

/// Why an entity is refused, and which of its columns is at fault.
struct EntityFault: Error {
    let reason: String
    let column: Int?

    init(_ reason: String, column: Int? = nil) { (self.reason, self.column) = (reason, column) }
}

/// Parses entities from JSON into the slots of a block.
///
/// Canonical entities take a fast path, which compares labels word by word in the schema's order. If anything is unexpected, the entity is
/// parsed again by the slow path, which allows any order and white space, and reports every error. The caller has checked UTF-8 for the whole
/// block.
final class EntityParser {
    let plan: SchemaPlan
    /// Whether the JSON comes from another program. Then white space around a JSON column is layout, and its `null` means that the column is
    /// absent.
    let isForeign: Bool
    /// The slot of the first key column of the entity parsed last.
    private(set) var keySlot = 0
    /// The first slot of the entity parsed last.
    private(set) var firstSlot = 0

    // For the slow path: the last entity that had each column, and the column that came after it.
    var seen: [UInt32]
    var follower: [Int]
    var generation: UInt32 = 0

    init(_ plan: SchemaPlan, isForeign: Bool) {
        self.plan = plan
        self.isForeign = isForeign
        seen = Array(repeating: 0, count: plan.count)
        follower = Array(0..<plan.count).map { $0 + 1 < plan.count ? $0 + 1 : 0 }
    }

    /// Parses the entity at `start` and returns the position after it. The block's JSON must be sealed, and `scanner` must scan it.
    @inline(__always)
    func parse(_ scanner: JSONScanner, at start: Int, into block: EntityBlock) throws(EntityFault) -> Int {
        block.reserveSlots(plan.count)
        let slotCount = block.slotCount, scratchCount = block.scratch.count
        firstSlot = slotCount
        if let end = parseCanonical(scanner, at: start, into: block) { return end }
        block.slotCount = slotCount
        block.scratch.count = scratchCount
        return try parseAnyOrder(scanner, at: start, into: block)
    }

    func record(keySlot: Int) { self.keySlot = keySlot }

    /// Parses a canonical entity; nil if anything is unexpected.
    private func parseCanonical(_ scanner: JSONScanner, at start: Int, into block: EntityBlock) -> Int? {
        let columns = plan.columns, count = plan.count, keyIndex = plan.keyIndex
        let base = scanner.base, end = scanner.end
        let first = block.slots + block.slotCount
        var slot = first
        var position = start
        var separator = UInt8(ascii: "{")
        var index = 0
        while index < count {
            let column = columns[index]
            // SAFETY: the JSON is sealed with zeros, so the byte at the end and a label's last word may be read.
            guard base[position] == separator, position + column.labelLength < end, Self.matches(column, base + position + 1) else {
                guard column.isOptional else { return nil }
                index += 1
                continue
            }
            separator = UInt8(ascii: ",")
            position += 1 + column.labelLength
            let beginsEntity = slot == first
            switch column.shape {
            case .text:
                guard base[position] == UInt8(ascii: "\"") else { return nil }
                let close = scanner.plainEnd(position + 1)
                guard close < end else { return nil }
                if base[close] == UInt8(ascii: "\"") {
                    slot.initialize(
                        to: EntitySlot(
                            .rawText, column: index, beginsEntity: beginsEntity, offset: position + 1, count: close - position - 1))
                    position = close + 1
                } else {
                    guard let (offset, length, after) = try? unescape(scanner, at: position, to: block.scratch) else { return nil }
                    slot.initialize(
                        to: EntitySlot(
                            .scratchText, column: index, beginsEntity: beginsEntity, offset: offset, count: length))
                    position = after
                }
            case .json:
                let valueEnd: Int
                if isForeign, base[position] == UInt8(ascii: "n") || scanner.skipSpace(position) != position { return nil }
                do throws(JSONFault) {
                    valueEnd = try scanner.skipValue(isForeign ? position : scanner.skipSpace(position))
                } catch {
                    return nil
                }
                let after = isForeign ? valueEnd : scanner.skipSpace(valueEnd)
                slot.initialize(
                    to: EntitySlot(
                        .json, column: index, beginsEntity: beginsEntity, offset: position, count: after - position))
                position = after
            case nil, .integer, .boolean, .real, .blob:
                guard let (value, after) = try? scalar(scanner, at: position, of: index, beginsEntity: beginsEntity, to: block.scratch) else { return nil }
                slot.initialize(to: value)
                position = after
            }
            if index == keyIndex { keySlot = block.slotCount + (slot - first) }
            slot += 1
            index += 1
        }
        guard base[position] == UInt8(ascii: "}"), position < end, slot > first else { return nil }
        block.slotCount += slot - first
        return position + 1
    }

    @inline(__always)
    private static func matches(_ column: SchemaPlan.Column, _ text: UnsafePointer<UInt8>) -> Bool {
        let text = UnsafeRawPointer(text)
        let last = (column.labelLength - 1) >> 3
        var word = 0
        while word < last {
            if text.loadUnaligned(fromByteOffset: word << 3, as: UInt64.self) != column.label[word] { return false }
            word += 1
        }
        return text.loadUnaligned(fromByteOffset: last << 3, as: UInt64.self) & column.lastMask == column.label[last]
    }
}
