/// The keys that one device of a zone gives to new rows of tables with AUTOINCREMENT.
///
/// The keys from 0 on are divided into blocks of ``blockSize``, and of every ``count`` blocks in a row each device has one. So two devices never give one
/// key to two rows, however often a device moves on to its next block.
package struct DeviceKeyRange: Sendable, Hashable {
    /// How many keys a block has.
    package static let blockSize: Int64 = 1 << 20
    /// How many devices of a zone can have a range.
    package static let count = 256

    /// The device's number among those of its zone that have a range, from 0.
    package let index: Int

    /// Nil for a number beyond what there is.
    package init?(index: Int) {
        guard (0..<Self.count).contains(index) else { return nil }
        self.index = index
    }

    /// The block among every ``count``: the bits of the number in reverse, so that the blocks of few devices lie far apart. A device that fills its
    /// block before it imports anything then goes on in blocks that are nobody's.
    private var place: Int64 { Int64(UInt8(index).bitReversed) }

    /// Whether the device may give a key.
    package func contains(_ key: Int64) -> Bool { key >= 0 && key / Self.blockSize % Int64(Self.count) == place }

    /// The first key of the device's next block in which all keys are greater than `last`; nil if there is none.
    package func next(after last: Int64) -> Int64? {
        let stride = Self.blockSize * Int64(Self.count), offset = place * Self.blockSize
        let round = last < offset ? 0 : (last - offset) / stride + 1
        let (product, overflow) = round.multipliedReportingOverflow(by: stride)
        let (first, beyond) = product.addingReportingOverflow(offset)
        let (_, isCut) = first.addingReportingOverflow(Self.blockSize)
        return overflow || beyond || isCut ? nil : max(first, 1)
    }
}

extension UInt8 {
    fileprivate var bitReversed: UInt8 { (0..<8).reduce(0) { $0 | ((self >> $1) & 1) << (7 - $1) } }
}
