package import SnapshotModel

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
    package func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        guard !isComplete else { return }
        scratch.clear()
        try encoder.encode(values, into: scratch)
        count += 1
        byteCount += scratch.count
    }

    /// The number, from the entities so far.
    package var blockEntities: Int { BlockSizing.blockEntities(sampleCount: count, bytes: byteCount) }
}
