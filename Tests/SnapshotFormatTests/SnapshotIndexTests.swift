import Foundation
import SnapshotFormat
import SnapshotModel
import StrictText
import TestSupport
import Testing

@Suite struct SnapshotIndexTests {
    private func sample() throws -> Asset { try Asset.make(try Samples.notes(), Samples.noteRows(60, seed: 8), blockEntities: 10) }

    private func decode(_ text: String) throws -> SnapshotIndex { try SnapshotIndex.decode(Data(text.utf8)) }

    @Test func theTextIsCanonicalOneBlockALineAndStrictJSON() throws {
        let asset = try sample()
        let text = asset.index.encode()
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        // Two lines of facts, a line a column, three lines around the blocks, a line a block, two lines behind.
        #expect(lines.filter { $0.hasPrefix("{\"firstKey\":") }.count == asset.index.blocks.count)
        #expect(lines.filter { $0.hasPrefix("{\"name\":") }.count == 5)
        let object = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
        #expect(
            Set(object.keys) == [
                "formatVersion", "dataset", "key", "timestamp", "columns", "recordCount", "blockEntities", "size", "rawSize", "header", "blocks", "tail",
            ])
        #expect(object["size"] as? Int == asset.bytes.count)
    }

    @Test func theSchemaComesBackUnderItsJSONNames() throws {
        var random = SeededGenerator(seed: 1)
        let schema = try Samples.everyKind(key: .integer)
        let index = try Asset.make(schema, Samples.everyKindRows(10, key: .integer, random: &random), blockEntities: 4).index
        #expect(try SnapshotIndex.decode(index.encode()).schema(table: "things") == schema)
        #expect(throws: SchemaError.self) { try index.schema(table: "") }
    }

    @Test func anotherHashThanTheCommitsIsRefusedBeforeReading() throws {
        let text = try sample().index.encode()
        let hash = text.withUnsafeBytes { ContentHash(of: $0) }
        #expect(try SnapshotIndex.decode(text, expecting: hash).recordCount == 60)
        let error = try #require(throws: SyncError.self) { try SnapshotIndex.decode(Data("{}".utf8), expecting: hash) }
        #expect(error.format == .hashMismatch)
    }

    @Test func aNewerVersionIsNamedAsSuch() throws {
        let text = String(decoding: try sample().index.encode(), as: UTF8.self)
        let newer = text.replacing("\"formatVersion\":1,", with: "\"formatVersion\":2,\"whatever\":[],")
        let error = try #require(throws: SyncError.self) { try decode(newer) }
        #expect(error.format == .unsupportedVersion)
    }

    /// Each lie is told in an index that is well-formed otherwise.
    @Test(arguments: [
        ("\"recordCount\":60", "\"recordCount\":61"), ("\"blockEntities\":10", "\"blockEntities\":0"), ("\"blockEntities\":10", "\"blockEntities\":65537"),
        ("\"size\":", "\"size\":1"), ("\"rawSize\":", "\"rawSize\":2"), ("\"offset\":0", "\"offset\":1"), ("\"count\":", "\"count\":9"),
        ("\"count\":", "\"count\":-"), ("\"length\":", "\"length\":9"), ("\"rawLength\":", "\"rawLength\":99999999999999999"),
        ("\"key\":\"id\"", "\"key\":\"title\\u0021\""), ("\"key\":\"id\"", "\"key\":\"body\""), ("\"timestamp\":\"updatedAt\"", "\"timestamp\":\"nothing\""),
        ("\"dataset\":\"notes\"", "\"dataset\":\"no tes\""), ("\"dataset\":\"notes\"", "\"dataset\":\"deletions\""),
        ("\"type\":\"text\"", "\"type\":\"TEXT\""), ("\"name\":\"body\"", "\"name\":\"title\""), ("\"name\":\"id\"", "\"name\":\"\\u0069d\""),
        ("\"optional\":true", "\"optional\": true"), ("\n", " "), ("\"sha256\":\"", "\"sha256\":\"A"), ("{\"firstKey\":", "{\"firstKey\":7,\"x\":"),
        ("\"dataset\"", "\"a\":1,\"dataset\""),
    ])
    func anIndexThatLiesIsRefused(from: String, to: String) throws {
        let text = String(decoding: try sample().index.encode(), as: UTF8.self)
        let range = try #require(text.firstRange(of: from))
        #expect(throws: SyncError.self) { try decode(text.replacingCharacters(in: range, with: to)) }
    }

    @Test(arguments: [
        ("[\"a\",\"b\"]", "\"a\""), ("[\"a\",\"b\"]", "[\"a\",\"a\"]"), ("[-7,1]", "[-7]"), ("[-7,1]", "[-7,1.0]"),
    ])
    func anIndexThatLiesAboutAKeyOfTwoColumnsIsRefused(from: String, to: String) throws {
        let schema = try DatasetSchema(
            name: "t", table: "t", keys: ["a", "b"], timestamp: nil, columns: [DatasetColumn("a", .integer), DatasetColumn("b", .integer)])
        let text = String(decoding: try Asset.make(schema, [[.integer(-7), .integer(1)]], blockEntities: 10).index.encode(), as: UTF8.self)
        #expect(text.contains(from) && (try? decode(text)) != nil)
        #expect(try #require(throws: SyncError.self) { try decode(text.replacing(from, with: to)) }.format == .damaged)
    }

    @Test func everyCutIndexIsRefused() throws {
        let text = try sample().index.encode()
        for length in 0..<text.count {
            let error = try #require(throws: SyncError.self) { try SnapshotIndex.decode(text.prefix(length)) }
            #expect(error.format == .truncated || error.format == .damaged)
        }
        for bad in [text + Data("\n".utf8), Data("{}".utf8)] { #expect(throws: SyncError.self) { try SnapshotIndex.decode(bad) } }
    }

    @Test func entriesThatDoNotFitTogetherAreRefused() throws {
        let index = try sample().index, schema = try Samples.notes()
        func make(header: MemberEntry? = nil, blocks: [BlockEntry]? = nil, tail: MemberEntry? = nil) throws {
            _ = try SnapshotIndex(
                schema: schema, blockEntities: 10, header: header ?? index.header, blocks: blocks ?? index.blocks, tail: tail ?? index.tail)
        }
        func changed(_ entry: MemberEntry, offset: Int? = nil, length: Int? = nil, rawLength: Int? = nil) -> MemberEntry {
            MemberEntry(
                offset: offset ?? entry.offset, length: length ?? entry.length, rawLength: rawLength ?? entry.rawLength, sha256: entry.sha256,
                rawSHA256: entry.rawSHA256)
        }
        try make()
        var swapped = index.blocks
        swapped.swapAt(1, 2)
        #expect(throws: SyncError.self) { try make(blocks: swapped) }
        #expect(throws: SyncError.self) { try make(blocks: Array(index.blocks.dropFirst())) }
        #expect(throws: SyncError.self) { try make(blocks: index.blocks + [index.blocks[0]]) }
        #expect(throws: SyncError.self) { try make(tail: changed(index.tail, offset: index.tail.offset + 1)) }
        #expect(throws: SyncError.self) { try make(tail: changed(index.tail, rawLength: 0)) }
        #expect(throws: SyncError.self) { try make(tail: changed(index.tail, length: 19)) }
        #expect(throws: SyncError.self) { try make(header: changed(index.header, rawLength: 257)) }
        #expect(throws: SyncError.self) { try make(header: changed(index.header, length: Int.max)) }
        #expect(throws: SyncError.self) { try make(tail: changed(index.tail, length: Int.min)) }
        // More than deflate can make of its bytes; a bomb has to be declared to be inflated.
        #expect(throws: SyncError.self) { try make(tail: changed(index.tail, rawLength: index.tail.length * 1032 + 1)) }
        let huge = BlockEntry(
            firstKey: index.blocks[0].firstKey, count: index.blocks[0].count, member: changed(index.blocks[0].member, rawLength: FormatLimits.blockRawBytes + 1)
        )
        #expect(throws: SyncError.self) { try make(blocks: [huge] + index.blocks.dropFirst()) }
        let crowded = BlockEntry(firstKey: index.blocks[0].firstKey, count: index.blocks[0].member.rawLength / 8 + 1, member: index.blocks[0].member)
        #expect(throws: SyncError.self) { try make(blocks: [crowded] + index.blocks.dropFirst()) }
        let numbered = BlockEntry(firstKey: .integer(1), count: index.blocks[0].count, member: index.blocks[0].member)
        #expect(throws: SyncError.self) { try make(blocks: [numbered] + index.blocks.dropFirst()) }
    }
}
