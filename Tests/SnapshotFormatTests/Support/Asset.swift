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

    /// A reader of the asset in memory.
    func reader(schema: DatasetSchema? = nil) throws -> SnapshotReader {
        let bytes = bytes
        return try SnapshotReader(index: index, schema: try schema ?? index.schema(table: "t"), boxes: boxes) { offset, target in
            let source = bytes.dropFirst(offset)
            guard source.count >= target.count else {
                throw SyncError(format: .truncated, at: "asset", "\(source.count) bytes instead of \(target.count)")
            }
            target.copyBytes(from: source.prefix(target.count))
        }
    }

    /// All entities, every byte checked.
    func rows(schema: DatasetSchema? = nil) throws -> [[Value]] {
        let sink = CollectingSink()
        let reader = try reader(schema: schema)
        while let block = try reader.next() { try block.send(to: sink) }
        _ = try reader.tail()
        return sink.rows
    }

    /// Checks everything; gives nothing.
    @discardableResult
    func verify() throws -> SnapshotTail { try reader().verify(byteCount: bytes.count) }

    func bytes(of member: MemberEntry) -> Data { bytes[member.offset..<member.end] }
}
