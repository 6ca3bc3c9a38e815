import Foundation
import SnapshotFormat
import SnapshotModel
import StrictText
import TestSupport
import Testing

@Suite struct IndependentReaderTests {
    private static let root = Repository.root
    private let script = root.appendingPathComponent("Tests/IndependentReader/read_asset.py").path

    private func fixture(_ name: String) throws -> Data { try Data(contentsOf: Self.root.appendingPathComponent("Fixtures/format-1/\(name)")) }

    /// Lets the independent reader check an asset and its index, and returns the container that it prints.
    private func readIndependently(_ asset: Data, _ index: Data) throws -> (Data, status: Int32, errors: String) {
        let scratch = try ScratchDirectory()
        try scratch.write(asset, to: "a.json.gz")
        try scratch.write(index, to: "a.index.json")
        return try Tool.attempt("python3", ["-B", script, scratch.path("a.json.gz"), scratch.path("a.index.json")])
    }

    @Test(arguments: [ColumnShape.text, .integer], 31...35)
    func aSecondImplementationReadsAndChecksOurAssets(key: ColumnShape, seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let schema = try Samples.everyKind(key: key)
        let rows = Samples.everyKindRows(50 + random.below(200), key: key, random: &random)
        let asset = try Asset.make(schema, rows, blockEntities: 1 + random.below(40), engine: random.below(2) == 0 ? .isal : .zlib)
        let (container, status, errors) = try readIndependently(asset.bytes, asset.index.encode())
        #expect(status == 0, "seed \(seed): \(errors)")
        #expect(try Tool.run("zcat", [], input: asset.bytes) == container)
        #expect(container.count == asset.index.rawSize)
        let pretty = try Tool.run("python3", ["-m", "json.tool"], input: container)
        let count = try Tool.run("python3", ["-c", "import json, sys; print(len(json.load(sys.stdin)['things']))"], input: pretty)
        #expect(String(decoding: count, as: UTF8.self) == "\(rows.count)\n")
    }

    @Test(arguments: [ColumnShape.text, .integer, nil], 41...44)
    func aSecondImplementationReadsColumnsWithoutAShape(key: ColumnShape?, seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let schema = try Samples.plainColumns(key: key)
        let asset = try Asset.make(schema, Samples.plainRows(200, key: key, random: &random), blockEntities: 1 + random.below(40))
        let index = asset.index.encode()
        #expect(String(decoding: index.prefix(20), as: UTF8.self) == "{\"formatVersion\":1,\"")
        let (container, status, errors) = try readIndependently(asset.bytes, index)
        #expect(status == 0, "seed \(seed): \(errors)")
        #expect(try Tool.run("zcat", [], input: asset.bytes) == container)
    }

    @Test func aSecondImplementationReadsFullBlocksAndNoBlocks() throws {
        let schema = try Samples.notes()
        let body = String(repeating: "x\n", count: 150_000)
        let rows: [[Value]] = (0..<12).map { [.text("k\(100 + $0)"), .text("t"), .text(body), .text("2026-01-01T00:00:00Z"), .json("[]")] }
        for rows in [rows, []] {
            let asset = try Asset.make(schema, rows, blockEntities: 65_536)
            let (_, status, errors) = try readIndependently(asset.bytes, asset.index.encode())
            #expect(status == 0, "\(errors)")
        }
    }

    @Test func aSecondImplementationRefusesDamage() throws {
        let asset = try Asset.make(try Samples.notes(), Samples.noteRows(40, seed: 77), blockEntities: 10)
        let index = asset.index.encode()
        var damaged = asset.bytes
        damaged[asset.index.blocks[1].member.offset + 30] ^= 4
        let wrongMean = Data(String(decoding: index, as: UTF8.self).replacing("\"blockEntities\":10", with: "\"blockEntities\":1").utf8)
        for (bytes, index) in [
            (damaged, index), (asset.bytes.dropLast(), index), (asset.bytes + Data([0]), index), (asset.bytes, wrongMean), (asset.bytes, index.dropLast()),
        ] {
            #expect(try readIndependently(Data(bytes), Data(index)).status == 1)
        }
    }

    @Test func foundationDecodesOurContainers() throws {
        struct Note: Decodable {
            var id, title: String
            var body: String?
            var updatedAt: String
        }
        struct Container: Decodable {
            var syncTimestamp: String
            var notes: [Note]
        }
        let rows = Samples.noteRows(200, seed: 12)
        let asset = try Asset.make(try Samples.notes(), rows, blockEntities: 30)
        let container = try JSONDecoder().decode(Container.self, from: try Tool.run("gzip", ["-dc"], input: asset.bytes))
        #expect(container.syncTimestamp == Asset.timestamp.description)
        #expect(container.notes.map { [.text($0.id), .text($0.title), $0.body.map { .text($0) } ?? .null] } == rows.map { Array($0[..<3]) })
    }

    @Test func theFileTakenApartInTheDocumentIsReadAndWrittenAgain() throws {
        let index = try SnapshotIndex.decode(fixture("notes.index.json"))
        let asset = Asset(bytes: try fixture("notes.json.gz"), index: index)
        let rows: [[Value]] = [
            [.text("a"), .text("Call \"Zoë\""), .integer(1), .json("[]"), .text("2026-11-21T08:00:00.000Z")],
            [.text("b"), .text("Two\nlines"), .null, .json("[\"home\", 7]"), .text("2026-11-21T08:05:00.000Z")],
            [.text("d"), .text("Tea"), .integer(0), .json("[]"), .text("2026-11-21T08:10:00.000Z")],
        ]
        try asset.verify()
        #expect(try asset.rows() == rows)
        #expect(index.encode() == (try fixture("notes.index.json")))
        // Another version of zlib may compress otherwise; what is compressed stays the same to the byte.
        let again = try Asset.make(try index.schema(table: "notes"), rows, blockEntities: 2, timestamp: try asset.read().header.syncTimestamp)
        #expect(try Tool.run("zcat", [], input: again.bytes) == Tool.run("zcat", [], input: asset.bytes))
        #expect(again.index.blocks.map(\.member.rawSHA256) == index.blocks.map(\.member.rawSHA256))
        #expect(
            String(decoding: try Tool.run("zcat", [], input: asset.bytes), as: UTF8.self) == """
                {"syncTimestamp":"2026-11-21T08:32:00.250Z","notes":[
                {"id":"a","title":"Call \\"Zoë\\"","done":true,"tags":[],"updatedAt":"2026-11-21T08:00:00.000Z"},
                {"id":"b","title":"Two\\nlines","tags":["home", 7],"updatedAt":"2026-11-21T08:05:00.000Z"},
                {"id":"d","title":"Tea","done":false,"tags":[],"updatedAt":"2026-11-21T08:10:00.000Z"}
                ]}

                """)
    }

    @Test func theDocumentShowsTheFrozenFile() throws {
        let text = try String(contentsOf: Self.root.appendingPathComponent("docs/format.md"), encoding: .utf8)
        #expect(text.contains(String(decoding: try fixture("notes.index.json"), as: UTF8.self)))
        let bytes = Array(try fixture("notes.json.gz"))
        let shown = text.split(separator: "\n").compactMap { line -> [UInt8]? in
            let parts = line.split(separator: "  ", maxSplits: 2)
            guard parts.count == 3, parts[0].utf8.count == 4, UInt(parts[0], radix: 16) != nil else { return nil }
            return parts[1].split(separator: " ").compactMap { UInt8($0, radix: 16) }
        }
        // The header and the first block.
        #expect(shown.flatMap { $0 } == Array(bytes.prefix(182)))
    }

    @Test func anAssetOfAnotherWriterWithTombstonesIsReadAndOurEncoderAgreesWithIt() throws {
        let index = try SnapshotIndex.decode(fixture("tombstones.index.json"))
        let asset = Asset(bytes: try fixture("tombstones.json.gz"), index: index)
        let tail = try asset.verify()
        #expect(tail.deletionCount == 2 && tail.heldCount == 1)
        #expect(tail.instantCount == 4 && tail.runCount == 2)
        let rows = try asset.rows()
        #expect(rows.count == 18)
        #expect(rows.first?[1] == .integer(.min))
        #expect(rows.last?[1] == .integer(.max))
        let again = try Asset.make(try index.schema(table: "samples"), rows, blockEntities: index.blockEntities)
        #expect(again.index.blocks.map(\.firstKey) == index.blocks.map(\.firstKey))
        #expect(again.index.blocks.map(\.member.rawSHA256) == index.blocks.map(\.member.rawSHA256))
    }

    /// The table of docs/format.md, "Keys".
    @Test func keysAreEncodedAsThePageSays() throws {
        let page = try String(contentsOf: Self.root.appendingPathComponent("docs/format.md"), encoding: .utf8)
        for (values, hex) in [
            ([KeyValue.integer(0)], "10 8000000000000000 0000"), ([.integer(1)], "10 bff0000000000000 0000"), ([.integer(-1)], "10 400fffffffffffff 0000"),
            ([.real(0.5)], "10 bfe0000000000000 0000"), ([.integer(9_007_199_254_740_993)], "10 c340000000000000 0001"),
            ([.integer(.max)], "10 c3dfffffffffffff 03ff"), ([.text([0x61])], "20 61 0000"), ([.text([0])], "20 00ff 0000"),
            ([.blob([0, 1])], "30 00ff01 0000"),
            ([.integer(17), .text([0x62])], "10 c031000000000000 0000 20 62 0000"),
        ] {
            guard case .encoded(let bytes) = EntityKey(encoding: values) else { throw CocoaError(.coderInvalidValue) }
            #expect(bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == hex.replacing(" ", with: ""))
            #expect(page.contains("| `\(hex)` |"), "\(hex)")
            #expect(EntityKey.encoded(bytes).values == values)
        }
    }
}
