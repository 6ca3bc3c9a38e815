import Foundation
import SnapshotFormat
import SnapshotModel
import StrictText
import TestSupport
import Testing

@Suite struct BlockParserTests {
    private func schema(key: ColumnShape = .text) throws -> DatasetSchema {
        try DatasetSchema(
            name: "d", table: "d", keys: ["k"], timestamp: nil,
            columns: [
                DatasetColumn("k", key), DatasetColumn("t", .text, isOptional: true), DatasetColumn("i", .integer, isOptional: true),
                DatasetColumn("r", .real, isOptional: true), DatasetColumn("o", .boolean, isOptional: true), DatasetColumn("j", .json, isOptional: true),
                DatasetColumn("b", .blob, isOptional: true),
            ])
    }

    /// Parses a block's JSON as it stands, with an index entry that says what it should.
    private func parse(
        _ json: some Sequence<UInt8>, count: Int, firstKey: EntityKey = EntityKey("a"), number: Int = 0, next: EntityKey? = nil, key: ColumnShape = .text
    ) throws -> [[Value]] {
        let block = EntityBlock()
        Array(json).withUnsafeBytes { block.raw.append($0) }
        let member = MemberEntry(
            offset: 0, length: 20, rawLength: block.raw.count, sha256: ContentHash(of: block.raw.bytes), rawSHA256: ContentHash(of: block.raw.bytes))
        let entry = BlockEntry(firstKey: firstKey, count: count, member: member)
        try BlockParser(schema: try schema(key: key)).parse(block, entry: entry, number: number, nextFirstKey: next)
        let sink = CollectingSink()
        try block.send(to: sink)
        return sink.rows
    }

    /// Parses one entity with the key "a" and the given fields behind it; returns all columns but the key.
    private func entity(_ fields: String) throws -> [Value] { Array(try parse("\n{\"k\":\"a\"\(fields)}".utf8, count: 1)[0].dropFirst()) }

    private func refusal(_ fields: String, column: String?) throws {
        let error = try #require(throws: SyncError.self, "\(fields)") { try entity(fields) }
        #expect(error.format == .badEntity)
        #expect(error.place == "d, block 0, entity 0" + (column.map { ", column \($0)" } ?? ""), "\(fields)")
    }

    @Test func keysMayComeInAnyOrderWithWhiteSpace() throws {
        let rows = try parse("\n{ \"j\" : [1] , \"i\":5,\t\"k\":\"a\"\n},\n{\"t\":\"\\u0041\", \"k\":\"b\" }".utf8, count: 2)
        #expect(
            rows == [
                [.text("a"), .null, .integer(5), .null, .null, .json(" [1] "), .null],
                [.text("b"), .text("A"), .null, .null, .null, .null, .null],
            ])
    }

    @Test func valuesOfEveryKind() throws {
        #expect(try entity(",\"t\":\"\\u00e9\\ud83d\\ude00\\/\\b\\f\\n\\r\\t\\\"\\\\\\u0000\"")[0] == .text("é😀/\u{8}\u{C}\n\r\t\"\\\u{0}"))
        for (text, value) in [("0", 0), ("-9223372036854775808", Int64.min), ("9223372036854775807", .max)] {
            #expect(try entity(",\"i\":\(text)")[1] == .integer(value))
        }
        for (text, value) in [
            ("7", Value.integer(7)), ("-0", .real(-0.0)), ("7.0", .real(7.0)), ("1e3", .real(1000.0)), ("1E-2", .real(0.01)),
            ("9223372036854775808", .real(9223372036854775808.0)), ("0.1", .real(0.1)), ("1e-400", .real(0.0)),
        ] { #expect(try entity(",\"r\":\(text)")[2] == value) }
        #expect(try entity(",\"o\":true,\"b\":\"AAH/\"") == [.null, .null, .null, .integer(1), .null, .blob([0, 1, 255])])
        #expect(try entity(",\"b\":\"\\/\\/8=\"")[5] == .blob([0xFF, 0xFF]))
        #expect(try entity(",\"b\":\"\"")[5] == .blob([]))
    }

    @Test func nullIsAbsentButJSONInAJSONColumn() throws {
        #expect(try entity(",\"t\":null,\"i\":null,\"r\":null,\"o\":null,\"j\":null,\"b\":null") == [.null, .null, .null, .null, .json("null"), .null])
        #expect(try entity(",\"j\": null ")[4] == .json(" null "))
    }

    @Test(
        arguments: [
            (",\"t\":1", "t"), (",\"t\":true", "t"), (",\"t\":[]", "t"), (",\"t\":\"\\ud800\"", "t"), (",\"t\":\"\\udc00x\"", "t"),
            (",\"t\":\"\\ud800\\u0041\"", "t"),
            (",\"t\":\"\u{1}\"", "t"), (",\"t\":\"\\x\"", "t"), (",\"t\":nul", "t"),
            (",\"i\":1.0", "i"), (",\"i\":1e3", "i"), (",\"i\":9223372036854775808", "i"), (",\"i\":-9223372036854775809", "i"), (",\"i\":\"1\"", "i"),
            (",\"i\":01", "i"), (",\"i\":-0", "i"), (",\"i\":-", "i"), (",\"i\":+1", "i"), (",\"i\":99999999999999999999999", "i"),
            (",\"i\":18446744073709551617", "i"),
            (",\"i\":true", "i"),
            (",\"r\":1e400", "r"), (",\"r\":-1e400", "r"), (",\"r\":NaN", "r"), (",\"r\":.5", "r"), (",\"r\":\"1\"", "r"), (",\"r\":1.", "r"),
            (",\"o\":0", "o"), (",\"o\":1", "o"), (",\"o\":\"true\"", "o"), (",\"o\":tru", "o"),
            (",\"b\":\"A\"", "b"), (",\"b\":\"AAA\"", "b"), (",\"b\":\"AA=A\"", "b"), (",\"b\":\"A===\"", "b"), (",\"b\":\"AB==\"", "b"),
            (",\"b\":\"AAB=\"", "b"),
            (",\"b\":\"AA-_\"", "b"), (",\"b\":\"AA==AA==\"", "b"), (",\"b\":\"AA ==\"", "b"), (",\"b\":\"====\"", "b"), (",\"b\":[1]", "b"),
            (",\"j\":[1,]", "j"), (",\"j\":tru", "j"), (",\"j\":", "j"), (",\"j\":{\"a\"}", "j"),
            (",\"t\":\"x\",\"t\":\"y\"", "t"), (",\"j\":1,\"\\u006a\":2", "j"), (",\"k\":\"a\"", "k"), (",\"t\":null,\"t\":null", "t"),
        ] as [(String, String)])
    func aValueThatItsColumnCannotHoldIsRefusedByName(fields: String, column: String) throws { try refusal(fields, column: column) }

    @Test(arguments: [",", ",\"x\":1,\"x\":2", ",\"x\":1,\"\\u0078\":2", ",\"x\":[", ",\"x\"", ",x:1", ",\"x\":1 2", ",\"x\":1,,\"y\":2", ",\"x\":01"])
    func anEntityThatIsNotStrictJSONIsRefused(fields: String) throws {
        let error = try #require(throws: SyncError.self) { try entity(fields) }
        #expect(error.format == .badEntity)
    }

    @Test func aRequiredColumnMustBeThere() throws {
        for json in ["\n{}", "\n{\"t\":\"x\"}", "\n{\"k\":null}"] {
            let error = try #require(throws: SyncError.self) { try parse(json.utf8, count: 1) }
            #expect(error.place == "d, block 0, entity 0, column k")
        }
    }

    @Test func nestingIsBoundedWithoutRecursion() throws {
        func nested(_ depth: Int) -> String { String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
        #expect(try entity(",\"j\":\(nested(512))")[4] == .json(nested(512)))
        try refusal(",\"j\":\(nested(513))", column: "j")
        try refusal(",\"j\":\(nested(50_000))", column: "j")
        try refusal(",\"x\":\(nested(50_000))", column: nil)
        try refusal(",\"x\":\(String(repeating: "{\"a\":", count: 50_000))", column: nil)
        #expect(try entity(",\"x\":\(nested(512))") == Array(repeating: .null, count: 6))
    }

    @Test func separatorsAreCheckedToTheByte() throws {
        let good = "\n{\"k\":\"a\"},\n{\"k\":\"b\"},\n{\"k\":\"c\"}"
        #expect(try parse(good.utf8, count: 3).count == 3)
        #expect(try parse(("," + good).utf8, count: 3, number: 1).count == 3)
        for bad in [
            "," + good, String(good.dropFirst()), good + "\n", good + ",", good + ",\n", " " + good, "\n" + good, good.replacing(",\n", with: ",\n "),
            good.replacing(",\n", with: ","), good.replacing(",\n", with: "\n,"), good.replacing(",\n", with: ",\r\n"), good.replacing(",\n", with: "\n"), "",
            "\n", ",",
        ] { #expect(throws: SyncError.self, "\(bad)") { try parse(bad.utf8, count: 3) } }
        for bad in [good, ",," + good, ", " + good, String(good.dropFirst()), ",\n", ""] {
            #expect(throws: SyncError.self, "\(bad)") { try parse(bad.utf8, count: 3, number: 1) }
        }
    }

    @Test func everyCutIsRefused() throws {
        let good = Array("\n{\"k\":\"a\",\"t\":\"é\\n\",\"i\":12,\"r\":1.5,\"o\":true,\"j\":[{}],\"b\":\"AAA=\"},\n{\"k\":\"b\"}".utf8)
        #expect(try parse(good, count: 2).count == 2)
        for length in 0..<good.count { #expect(throws: SyncError.self) { try parse(good.prefix(length), count: 2) } }
    }

    @Test func keysAscendStrictlyAndFitTheIndex() throws {
        let json = "\n{\"k\":\"a\"},\n{\"k\":\"b\"}"
        #expect(try parse(json.utf8, count: 2, next: EntityKey("c")).count == 2)
        for bad in [json.replacing("b", with: "a"), json.replacing("a", with: "c"), json.replacing("\"b\"", with: "\"\\u0061\"")] {
            let error = try #require(throws: SyncError.self) { try parse(bad.utf8, count: 2, firstKey: EntityKey(bad.contains("c") ? "c" : "a")) }
            #expect(error.format == .outOfOrder)
            #expect(error.place == "d, block 0, entity 1, column k")
        }
        #expect(throws: SyncError.self) { try parse(json.utf8, count: 1) }
        #expect(throws: SyncError.self) { try parse(json.utf8, count: 3) }
        #expect(throws: SyncError.self) { try parse(json.utf8, count: 2, firstKey: EntityKey("b")) }
        #expect(throws: SyncError.self) { try parse(json.utf8, count: 2, next: EntityKey("b")) }
        #expect(try parse("\n{\"k\":-5},\n{\"k\":12}".utf8, count: 2, firstKey: .integer(-5), next: .integer(13), key: .integer).count == 2)
        #expect(throws: SyncError.self) { try parse("\n{\"k\":12},\n{\"k\":-5}".utf8, count: 2, firstKey: .integer(12), key: .integer) }
        #expect(throws: SyncError.self) { try parse("\n{\"k\":-5},\n{\"k\":12}".utf8, count: 2, firstKey: .integer(-5), next: .integer(12), key: .integer) }
        let long = String(repeating: "a", count: 1025)
        #expect(throws: SyncError.self) { try parse("\n{\"k\":\"\(long)\"}".utf8, count: 1, firstKey: EntityKey(long)) }
    }

    @Test func textThatIsNotUTF8IsRefusedWhereverItStands() throws {
        for bad in [[0x80], [0xC3], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80]] as [[UInt8]] {
            for (before, after) in [
                ("\n{\"k\":\"a", "\"}"), ("\n{\"k\":\"a\",\"x\":\"", "\"}"), ("\n{\"k\":\"a\",\"", "\":1}"), ("\n{\"k\":\"a\",\"j\":[\"", "\"]}"),
            ] {
                #expect(throws: SyncError.self) { try parse(Array(before.utf8) + bad + Array(after.utf8), count: 1) }
            }
        }
    }

    @Test func unknownFieldNamesAreBounded() throws {
        let block = EntityBlock()
        let json = "\n{\"k\":\"a\"" + (0..<500).map { ",\"x\($0)\":{\"y\":[null]}" }.joined() + "}"
        Array(json.utf8).withUnsafeBytes { block.raw.append($0) }
        let hash = ContentHash(of: block.raw.bytes)
        let entry = BlockEntry(
            firstKey: EntityKey("a"), count: 1, member: MemberEntry(offset: 0, length: 20, rawLength: block.raw.count, sha256: hash, rawSHA256: hash))
        try BlockParser(schema: try schema()).parse(block, entry: entry, number: 0, nextFirstKey: nil)
        #expect(block.unknownFieldNames.count == EntityBlock.unknownFieldLimit)
    }

    /// Random damage to good blocks: refused, or read as something; never a crash, and never what the sanitiser would see.
    @Test(arguments: 1...8)
    func damagedBlocksAreRefusedOrReadButNeverCrash(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let schema = try Samples.everyKind()
        let rows = Samples.everyKindRows(6, random: &random)
        let asset = try Asset.make(schema, rows, blockEntities: 65_536)
        let reader = MemberReader(), parser = BlockParser(schema: schema)
        let entry = asset.index.blocks[0]
        let good = EntityBlock()
        try asset.bytes(of: entry.member).withUnsafeBytes { try reader.inflate($0, entry: entry.member, name: "block", into: good.raw) }
        let json = Array(good.raw.bytes)
        let block = EntityBlock()
        var refused = 0
        for _ in 0..<1500 {
            var damaged = json
            switch random.below(3) {
            case 0: damaged[random.below(damaged.count)] = UInt8(truncatingIfNeeded: random.next())
            case 1: damaged.removeSubrange(random.below(damaged.count)..<damaged.count)
            default:
                let from = random.below(damaged.count), length = min(random.below(20), damaged.count - from)
                damaged.replaceSubrange(from..<from + length, with: Array("{}[],:\"\\un0e-.".utf8.shuffled(using: &random)).prefix(random.below(6)))
            }
            block.raw.clear()
            damaged.withUnsafeBytes { block.raw.append($0) }
            do {
                try parser.parse(block, entry: entry, number: 0, nextFirstKey: nil)
                try block.send(to: CollectingSink())
            } catch let error as SyncError where error.format != nil {
                refused += 1
            }
        }
        #expect(refused > 500)
    }
}
