package import SnapshotModel

/// How many entities a block is to hold on average, so that it is about 128 KiB of JSON.
///
/// Sizes of blocks that keys cut are spread widely: a row that differs lies, on average, in a block of twice the mean. So 100 rows
/// of a million make a reader fetch 200 blocks' worth: 8.3 % of the asset with a mean of 256 KiB, index counted, 4.7 % with 128 KiB.
/// Halving it again would save 1.3 % more of it and make every asset 1.8 % larger, for each block is compressed by itself.
///
/// The number is chosen once and then kept from snapshot to snapshot, for another one would move every cut.
/// Source: docs/format.md, "The cut rule".
package enum BlockSizing {
    /// The number of entities, in key order from the first, whose size the choice looks at.
    package static let sampleCount = 256
    /// The mean raw size of a block that the choice aims at, in bytes.
    package static let targetBytes = 131_072
    /// The choice for a dataset without entities.
    package static let emptyChoice = 1024
    /// The mean raw sizes of a block, in bytes, with which a choice is kept.
    package static let keptMeanBytes = 32_768...1_048_576

    /// The choice for a sample of `count` entities of `bytes` bytes of canonical JSON, separators not counted.
    package static func blockEntities(sampleCount count: Int, bytes: Int) -> Int {
        guard count > 0 else { return emptyChoice }
        return max(1, min(FormatLimits.blockEntities, targetBytes / max(1, bytes / count)))
    }

    /// The choice after a snapshot: its own while that serves, else one by the mean size of all its entities.
    ///
    /// Better than a second sample: where the first entities are unlike the rest, a sample would choose wrongly each time.
    package static func blockEntities(after index: SnapshotIndex) -> Int {
        keeps(index) ? index.blockEntities : blockEntities(sampleCount: index.recordCount, bytes: blockBytes(index))
    }

    /// Whether the last snapshot's choice still serves: it has at most one block, or blocks of a fitting mean size.
    package static func keeps(_ index: SnapshotIndex) -> Bool {
        index.blocks.count <= 1 || keptMeanBytes.contains(blockBytes(index) / index.blocks.count)
    }

    private static func blockBytes(_ index: SnapshotIndex) -> Int { index.blocks.reduce(0) { $0 + $1.member.rawLength } }
}

/// Takes the first entities of a dataset in key order and tells how many a block is to hold.
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

    /// Whether the sample is complete; what comes then is left out of account.
    package var isComplete: Bool { count >= BlockSizing.sampleCount }

    /// Takes one entity into the sample.
    package func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        guard !isComplete else { return }
        scratch.clear()
        try encoder.encode(values, into: scratch)
        count += 1
        byteCount += scratch.count
    }

    /// The choice, from the entities so far.
    package var blockEntities: Int { BlockSizing.blockEntities(sampleCount: count, bytes: byteCount) }
}
