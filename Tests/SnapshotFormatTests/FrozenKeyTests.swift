import Foundation
import SnapshotFormat
import SnapshotModel
import StrictText
import TestSupport
import Testing

/// Frozen files with keys of several columns, of bytes, of real numbers, and of texts that a collation compares.
@Suite struct FrozenKeyTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let names = ["lines", "tags", "users", "files", "marks"]

    private func path(_ name: String) -> String { Self.root.appendingPathComponent("Fixtures/format-1/\(name)").path }
    private func fixture(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path(name))) }
    private func asset(_ name: String) throws -> Asset {
        Asset(bytes: try fixture("\(name).json.gz"), index: try SnapshotIndex.decode(fixture("\(name).index.json")))
    }

    @Test(arguments: names) func theFrozenFileIsReadAndWrittenAgain(name: String) throws {
        let asset = try asset(name)
        #expect(try asset.verify().deletionCount >= 2)
        #expect(asset.index.encode() == (try fixture("\(name).index.json")))
        // Another version of zlib may compress otherwise; what is compressed stays the same to the byte.
        let again = try Asset.make(try asset.index.schema(table: name), try asset.rows(), blockEntities: asset.index.blockEntities)
        #expect(again.index.blocks.map(\.firstKey) == asset.index.blocks.map(\.firstKey))
        #expect(again.index.blocks.map(\.member.rawSHA256) == asset.index.blocks.map(\.member.rawSHA256))
    }

    @Test(arguments: names + ["days"]) func theIndependentReaderReadsIt(name: String) throws {
        let script = Self.root.appendingPathComponent("Tests/IndependentReader/read_asset.py").path
        let read = try ProgramRun("python3", [script, path("\(name).json.gz"), path("\(name).index.json")])
        #expect(read.status == 0, "\(read.errorText)")
        #expect(try read.output == Tool.run("zcat", [], input: fixture("\(name).json.gz")))
    }

    /// Runs of entities are read whatever the size of the list.
    @Test func theFrozenRunsAreRead() throws {
        let asset = try asset("days")
        let tail = try asset.verify()
        #expect(tail.deletionCount == 2 && tail.instantCount == 2 && tail.runCount == 4)
        #expect(asset.index.encode() == (try fixture("days.index.json")))
    }

    @Test func blocksBeginWhereTheEncodedKeySays() throws {
        let index = try asset("lines").index
        #expect(index.blocks.count == 5)
        #expect(index.blocks[0].firstKey == EntityKey(encoding: [.integer(.min), .integer(1)]))
        let cutter = BlockCutter(blockEntities: index.blockEntities)
        #expect(index.blocks.dropFirst().allSatisfy { cutter.cuts(before: $0.firstKey) })
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

    @Test func anIndexOfAnotherVersionIsRefused() throws {
        let text = String(decoding: try fixture("lines.index.json"), as: UTF8.self)
        for (wrong, right, code) in [
            ("\"formatVersion\":1", "\"formatVersion\":2", FormatError.Code.unsupportedVersion),
            ("[\"order_id\",\"line\"]", "\"order_id\"", .damaged), ("[\"order_id\",\"line\"]", "[\"order_id\",\"order_id\"]", .damaged),
            ("[-9223372036854775808,1]", "[-9223372036854775808]", .damaged), ("[-9223372036854775808,1]", "[-9223372036854775808,1.0]", .damaged),
        ] {
            let error = try #require(throws: FormatError.self) { try SnapshotIndex.decode(Data(text.replacing(wrong, with: right).utf8)) }
            #expect(error.code == code, "\(right): \(error)")
        }
    }
}
