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

/// Chooses how many entities a block holds on average, so that a block is about 128 KiB of JSON.
///
/// Because keys decide the cuts, block sizes vary widely: a row that differs lies, on average, in a block of twice the mean size. So 100 changed
/// rows of a million make a reader fetch 200 mean blocks: 8.3 % of the asset with a mean of 256 KiB, index included, and 4.7 % with 128 KiB.
/// A mean of 64 KiB would save another 1.3 % of the asset, but make every asset 1.8 % larger, because each block is compressed separately.
///
/// The number is chosen once and kept from snapshot to snapshot, because another number would move every cut. Source: docs/format.md, "The cut
/// rule".
package enum BlockSizing {
    /// The number of entities, in key order from the first, that are sampled.
    package static let sampleCount = 256
    /// The target for the mean raw size of a block, in bytes.
    package static let targetBytes = 131_072
    /// The number for a dataset without entities.
    package static let emptyChoice = 1024
    /// The range of mean raw block sizes, in bytes, in which the number is kept.
    package static let keptMeanBytes = 32_768...1_048_576

    /// The number for a sample of `count` entities with `bytes` bytes of canonical JSON, without separators.
    package static func blockEntities(sampleCount count: Int, bytes: Int) -> Int {
        guard count > 0 else { return emptyChoice }
        return max(1, min(FormatLimits.blockEntities, targetBytes / max(1, bytes / count)))
    }

    /// The number after a snapshot: the snapshot's own if that still fits, else one from the mean size of all its entities.
    ///
    /// The mean is better than a second sample: if the first entities are not typical, each sample would be wrong.
    package static func blockEntities(after index: SnapshotIndex) -> Int {
        keeps(index) ? index.blockEntities : blockEntities(sampleCount: index.recordCount, bytes: blockBytes(index))
    }

    /// Whether the last snapshot's number still fits: it has at most one block, or its blocks have a suitable mean size.
    package static func keeps(_ index: SnapshotIndex) -> Bool {
        index.blocks.count <= 1 || keptMeanBytes.contains(meanBlockBytes(index) ?? 0)
    }

    /// The mean raw size of a snapshot's blocks; nil if it has none.
    package static func meanBlockBytes(_ index: SnapshotIndex) -> Int? { index.blocks.isEmpty ? nil : blockBytes(index) / index.blocks.count }

    private static func blockBytes(_ index: SnapshotIndex) -> Int { index.blocks.reduce(0) { $0 + $1.member.rawLength } }
}

/// Samples the first entities of a dataset in key order and computes how many a block should hold.
///
///     let probe = BlockSizeProbe(schema: schema)
///     // give it up to BlockSizing.sampleCount entities
///     let encoder = BlockEncoder(schema: schema, blockEntities: probe.blockEntities)
package final class BlockSizeProbe: EntitySink {
    private let encoder: EntityEncoder
    private let scratch = ByteBuffer(capacity: 4096)
    private var count = 0
    private var byteCount = 0

    /// Makes a probe for entities of a schema.
    package init(schema: DatasetSchema) { encoder = EntityEncoder(SchemaPlan(schema)) }

    /// Whether the sample is complete; further entities are ignored.
    package var isComplete: Bool { count >= BlockSizing.sampleCount }

    /// Takes one entity into the sample.
    package func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        guard !isComplete else { return }
        scratch.clear()
        try encoder.encode(values, into: scratch)
        count += 1
        byteCount += scratch.count
    }

    /// The number, from the entities so far.
    package var blockEntities: Int { BlockSizing.blockEntities(sampleCount: count, bytes: byteCount) }
}
