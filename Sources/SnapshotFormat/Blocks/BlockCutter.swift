package import Sealing
package import SnapshotModel

/// The cut rule: decides from an entity's key alone whether the entity begins a new block.
///
///     let cutter = BlockCutter(blockEntities: 400)
///     if cutter.cuts(before: key) { … }
///
/// An entity begins a block if h(key) < 2^64 / blockEntities. h is FNV-1a (64 bits) followed by the finaliser of MurmurHash3 (fmix64), of a text
/// key's UTF-8 bytes, an integer key's decimal text, or an encoded key's bytes. In a sealed zone, h is SipHash-2-4 of the same bytes. A full
/// block is cut as well; see ``FormatLimits/fullBlockBytes``. Source: docs/format.md and docs/sealed.md, "The cut rule".
package struct BlockCutter: Sendable {
    /// The mean number of entities in a block, 1 to 65,536.
    package let blockEntities: Int
    // h < 2^64 / b, in whole numbers: h * b <= 2^64 - 1.
    private let last: UInt64
    private let cutKey: CutKey?

    /// Makes the rule for a mean number of entities in a block. A number out of range is clamped.
    ///
    /// - Parameter cutKey: the cut key of a sealed zone.
    package init(blockEntities: Int, cutKey: CutKey? = nil) {
        self.cutKey = cutKey
        self.blockEntities = max(1, min(FormatLimits.blockEntities, blockEntities))
        last = UInt64.max / UInt64(self.blockEntities)
    }

    /// Whether the entity with this key begins a block.
    @inline(__always)
    package func cuts(before key: LentKey) -> Bool {
        switch key {
        case .text(let bytes), .encoded(let bytes): hash(bytes) <= last
        case .integer(let value): cuts(beforeInteger: value)
        }
    }

    private func cuts(beforeInteger key: Int64) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { digits in
            var position = 20
            var rest = key.magnitude
            repeat {
                position -= 1
                digits[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if key < 0 {
                position -= 1
                digits[position] = UInt8(ascii: "-")
            }
            return hash(UnsafeRawBufferPointer(rebasing: digits[position...])) <= last
        }
    }

    /// Whether the entity with this key begins a block.
    package func cuts(before key: EntityKey) -> Bool { key.lend { cuts(before: $0) } }

    @inline(__always)
    private func hash(_ key: UnsafeRawBufferPointer) -> UInt64 { cutKey.map { $0.hash(key) } ?? Self.hash(key) }

    /// The hash h of the cut rule in a zone that is not sealed.
    static func hash(_ key: UnsafeRawBufferPointer) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in key { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        hash = (hash ^ hash >> 33) &* 0xFF51_AFD7_ED55_8CCD
        hash = (hash ^ hash >> 33) &* 0xC4CE_B9FE_1A85_EC53
        return hash ^ hash >> 33
    }
}
