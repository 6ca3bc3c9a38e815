import Foundation
import SnapshotFormat
import SnapshotModel
import TestSupport
import Testing

@Suite struct RoundTripTests {
    @Test(arguments: [ColumnShape.text, .integer], 1...12)
    func randomEntitiesComeBackAsTheyWere(key: ColumnShape, seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let schema = try Samples.everyKind(key: key)
        let rows = Samples.everyKindRows(40 + random.below(300), key: key, random: &random)
        let asset = try Asset.make(schema, rows, blockEntities: 1 + random.below(60), engine: random.below(2) == 0 ? .isal : .zlib)
        #expect(try asset.rows(schema: schema) == rows)
        #expect(asset.index.recordCount == rows.count)
        #expect(asset.index.size == asset.bytes.count)
        #expect(try SnapshotIndex.decode(asset.index.encode()) == asset.index)
        try asset.verify()
    }

    @Test func zeroEntitiesAreAValidAsset() throws {
        let asset = try Asset.make(try Samples.notes(), [], blockEntities: 10)
        #expect(asset.index.blocks.isEmpty)
        #expect(try asset.rows().isEmpty)
        #expect(try asset.verify() == SnapshotTail.check(Array("\n]}\n".utf8), of: asset.index))
        #expect(try SnapshotIndex.decode(asset.index.encode()) == asset.index)
    }

    @Test func equalRowsGiveEqualBytes() throws {
        let schema = try Samples.notes()
        let first = try Asset.make(schema, Samples.noteRows(500, seed: 3), blockEntities: 40)
        let second = try Asset.make(schema, Samples.noteRows(500, seed: 3), blockEntities: 40)
        #expect(first.bytes == second.bytes)
        #expect(first.index.encode() == second.index.encode())
    }

    @Test func recycledRawBlocksGiveTheSameAsset() throws {
        let schema = try Samples.everyKind()
        var random = SeededGenerator(seed: 100)
        let rows = Samples.everyKindRows(400, random: &random)
        let encoder = BlockEncoder(schema: schema, blockEntities: 7)
        let compressor = MemberCompressor()
        var bytes = Data()
        let assembly = try SnapshotAssembly(schema: schema, syncTimestamp: Asset.timestamp, blockEntities: 7) { bytes.append(contentsOf: $0) }
        var seen: Set<ObjectIdentifier> = []
        func drain() throws {
            while let block = encoder.popCompleted() {
                seen.insert(ObjectIdentifier(block))
                try assembly.append(try compressor.compress(block, isFirst: assembly.recordCount == 0))
                encoder.recycle(block)
            }
        }
        for row in rows {
            try send(row, to: encoder)
            try drain()
        }
        encoder.finish()
        try drain()
        let index = try assembly.end()
        let fresh = try Asset.make(schema, rows, blockEntities: 7)
        #expect(seen.count < index.blocks.count / 2)
        #expect(index == fresh.index)
        #expect(bytes == fresh.bytes)
    }

    @Test func aBlockCanBeGivenTwiceAndParsedOnAnotherThread() async throws {
        let schema = try Samples.notes()
        let rows = Samples.noteRows(50, seed: 5)
        let asset = try Asset.make(schema, rows, blockEntities: 1000)
        let member = asset.index.blocks[0].member
        let bytes = asset.bytes(of: member), index = asset.index
        let block = try await Task.detached {
            let block = EntityBlock()
            try bytes.withUnsafeBytes { try MemberReader().inflate($0, entry: member, name: "block 0", into: block.raw) }
            try BlockParser(schema: schema).parse(block, number: 0, of: index)
            return block
        }.value
        let sink = CollectingSink()
        try block.send(to: sink)
        try block.send(to: sink)
        #expect(sink.rows == rows + rows)
        #expect(block.count == 50)
    }

    @Test func fieldsThatTheSchemaLacksAreSkippedAndNamed() throws {
        let rows = Samples.noteRows(30, seed: 6)
        let asset = try Asset.make(try Samples.notes(), rows, blockEntities: 1000)
        let narrow = try DatasetSchema(
            name: "notes", table: "notes", keys: ["id"], timestamp: nil,
            columns: [DatasetColumn("actions", .json), DatasetColumn("id", .text)])
        let sink = CollectingSink()
        try asset.read(schema: narrow) { block in
            #expect(block.unknownFieldNames == ["title", "body", "updatedAt"])
            try block.send(to: sink)
        }
        #expect(sink.rows == rows.map { [$0[4], $0[0]] })
    }
}

extension SnapshotTail {
    static func check(_ bytes: [UInt8], of index: SnapshotIndex) throws -> SnapshotTail {
        try bytes.withUnsafeBytes { try read($0, .init(index, at: Asset.timestamp)) }
    }
}
