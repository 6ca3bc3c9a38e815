import Foundation
import Sealing
import SnapshotFormat
import SnapshotModel
import StrictText
import TestSupport

/// A snapshot asset in memory, and how it is made and read.
struct Asset {
    var bytes: Data
    var index: SnapshotIndex
    /// What opens its members; nil if they are not sealed.
    var boxes: DatasetBoxes?

    static let timestamp = Instant(microseconds: 1_795_250_000_000_000)

    /// Encodes rows on one encoder, compresses and assembles them.
    static func make(
        _ schema: DatasetSchema, _ rows: [[Value]], blockEntities: Int, timestamp: Instant = Asset.timestamp, engine: DeflateEngine = .isal,
        boxes: DatasetBoxes? = nil
    ) throws -> Asset {
        let encoder = BlockEncoder(schema: schema, cutter: BlockCutter(blockEntities: blockEntities, cutKey: boxes?.cutKey))
        try send(rows, to: encoder)
        encoder.finish()
        var blocks: [RawBlock] = []
        while let block = encoder.popCompleted() { blocks.append(block) }
        return try assemble(schema, blocks, blockEntities: blockEntities, timestamp: timestamp, engine: engine, boxes: boxes)
    }

    static func assemble(
        _ schema: DatasetSchema, _ blocks: [RawBlock], blockEntities: Int, timestamp: Instant = Asset.timestamp, engine: DeflateEngine = .isal,
        boxes: DatasetBoxes? = nil
    ) throws -> Asset {
        let compressor = MemberCompressor(engine: engine, boxes: boxes)
        var bytes = Data()
        let assembly = try SnapshotAssembly(
            schema: schema, syncTimestamp: timestamp, blockEntities: blockEntities, boxes: boxes
        ) { bytes.append(contentsOf: $0) }
        for (number, block) in blocks.enumerated() {
            try assembly.append(try compressor.compress(block, isFirst: number == 0))
        }
        let index = try assembly.end()
        return Asset(bytes: bytes, index: index, boxes: boxes)
    }

    /// Reads the asset from end to end; without a schema, by its index's own.
    @discardableResult
    func read(schema: DatasetSchema? = nil, take: (EntityBlock) throws -> Void = { _ in }) throws -> (header: SnapshotHeader, tail: SnapshotTail) {
        try readAsset(bytes, of: index, as: schema ?? index.schema(table: "t"), boxes: boxes, take: take)
    }

    /// All entities, every byte checked.
    func rows(schema: DatasetSchema? = nil) throws -> [[Value]] {
        let sink = CollectingSink()
        try read(schema: schema) { try $0.send(to: sink) }
        return sink.rows
    }

    /// Checks everything; gives nothing.
    @discardableResult
    func verify() throws -> SnapshotTail { try readAsset(bytes, of: index, as: index.schema(table: "t"), boxes: boxes, isWhole: true).tail }

    func bytes(of member: MemberEntry) -> Data { bytes[member.offset..<member.end] }
}
