/// The keys that one device of a zone uses for new rows of tables with AUTOINCREMENT.
///
/// The keys from 0 on are divided into blocks of ``blockSize``. Of every ``count`` consecutive blocks each device has one. So two devices never
/// use the same key for two rows, however often a device continues in its next block.
package struct DeviceKeyRange: Sendable, Hashable {
    /// How many keys a block has.
    package static let blockSize: Int64 = 1 << 20
    /// How many devices of a zone can have a range.
    package static let count = 256

    /// The device's number among those of its zone that have a range, from 0.
    package let index: Int

    /// Nil if there is no such range.
    package init?(index: Int) {
        guard (0..<Self.count).contains(index) else { return nil }
        self.index = index
    }

    /// The device's block among every ``count`` blocks: the index with its bits reversed. So the blocks of a few devices lie far apart, and a
    /// device that fills its block before it imports anything continues in blocks that no device has.
    private var place: Int64 { Int64(UInt8(index).bitReversed) }

    /// Whether a key is in the device's range.
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
