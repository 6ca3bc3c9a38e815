import Foundation
import SnapshotFormat
import SnapshotModel
import StrictText
import TestSupport
import Testing

@Suite struct ContainerReaderTests {
    /// A reader of a file that comes in pieces.
    private func reader(_ file: Data, limit: Int = FormatLimits.foreignBytes, schemas: [DatasetSchema]? = nil) throws -> ContainerReader {
        var offset = 0
        return ContainerReader(schemas: try schemas ?? [Samples.notes(), other()], limit: limit) { target in
            let count = min(target.count, file.count - offset, 60_000)
            target.copyBytes(from: file[(file.startIndex + offset)..<(file.startIndex + offset + count)])
            offset += count
            return count
        }
    }

    private func read(_ file: Data, schemas: [DatasetSchema]? = nil) throws -> (rows: [[Value]], reader: ContainerReader, unknown: Set<String>) {
        let reader = try reader(file, schemas: schemas)
        let sink = CollectingSink()
        var unknown: Set<String> = []
        while let block = try reader.next() {
            try block.send(to: sink)
            unknown.formUnion(block.unknownFieldNames)
        }
        #expect(reader.recordCount == sink.rows.count)
        return (sink.rows, reader, unknown)
    }

    private func read(_ text: String, schemas: [DatasetSchema]? = nil) throws -> [[Value]] { try read(Data(text.utf8), schemas: schemas).rows }

    private func other() throws -> DatasetSchema {
        try DatasetSchema(
            name: "others", table: "others", keys: ["id"], timestamp: nil,
            columns: [DatasetColumn("id", .integer), DatasetColumn("j", .json, isOptional: true)])
    }

    private func code(_ text: String) throws -> SyncError.FormatFault {
        try #require(try #require(throws: SyncError.self, "\(text)") { try read(text) }.format)
    }

    private static let time = "\"syncTimestamp\":\"2026-11-21T09:32:00.25+02:00\""

    /// The rows as Foundation writes them: any key order, escaped slashes, pretty or not.
    private func foundation(_ rows: [[Value]], pretty: Bool) throws -> Data {
        struct Note: Encodable {
            struct Action: Encodable { var type = "OPEN", destructive = false }
            var id, title: String
            var body: String?
            var updatedAt: String
            var actions: [Action]
        }
        struct Container: Encodable {
            var notes: [Note]
            var syncTimestamp: String
            var version = 7
        }
        func string(_ value: Value) -> String? { if case .text(let bytes) = value { String(decoding: bytes, as: UTF8.self) } else { nil } }
        let notes = rows.map { row in
            Note(
                id: string(row[0]) ?? "", title: string(row[1]) ?? "", body: string(row[2]), updatedAt: string(row[3]) ?? "",
                actions: row[4] == .json("[]") ? [] : [Note.Action()])
        }
        let encoder = JSONEncoder()
        if pretty { encoder.outputFormatting = .prettyPrinted }
        return try encoder.encode(Container(notes: notes, syncTimestamp: "2026-11-21T07:32:00.250Z"))
    }

    private func text(_ value: Value) -> String? {
        switch value {
        case .text(let bytes), .json(let bytes): String(decoding: bytes, as: UTF8.self)
        default: nil
        }
    }

    @Test(arguments: [false, true], [1, 2])
    func whatFoundationEncodesIsRead(pretty: Bool, seed: UInt64) throws {
        let rows = Samples.noteRows(200, seed: seed).shuffled()
        let (read, reader, unknown) = try read(foundation(rows, pretty: pretty))
        #expect(read.map { $0[..<4] } == rows.map { $0[..<4] })
        for (read, row) in zip(read, rows) {
            let json = try #require(text(read[4]))
            #expect(json == json.trimmingCharacters(in: .whitespacesAndNewlines))
            let left = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? NSArray
            let right = try JSONSerialization.jsonObject(with: Data(try #require(text(row[4])).utf8)) as? NSArray
            #expect(left == right)
        }
        #expect(reader.syncTimestamp == (try Instant(parsing: "2026-11-21T07:32:00.250Z")))
        #expect(reader.schema?.name == "notes")
        #expect(unknown.isEmpty)
    }

    @Test func gzipOfOneMemberByGzipItselfIsRead() throws {
        let rows = Samples.noteRows(300, seed: 5)
        let packed = try Tool.run("gzip", ["-c"], input: foundation(rows, pretty: true))
        #expect(packed.prefix(2) == Data([0x1F, 0x8B]))
        #expect(try read(packed).rows.count == 300)
        for length in stride(from: 0, to: packed.count, by: 97) {
            #expect(throws: SyncError.self) { try read(packed.prefix(length)) }
        }
        for length in packed.count - 12..<packed.count { #expect(throws: SyncError.self) { try read(packed.prefix(length)) } }
        #expect(throws: SyncError.self) { try read(packed + Data([0])) }
        #expect(throws: SyncError.self) { try read(packed + Data(repeating: 0, count: 512)) }
        #expect(throws: SyncError.self) { try read(packed + Data("x".utf8)) }
        #expect(throws: SyncError.self) { try read(packed + packed.prefix(15)) }
        #expect(try read(packed + Tool.run("gzip", ["-c"], input: Data())).rows.count == 300)
        var broken = packed
        broken[packed.count - 6] ^= 1
        #expect(throws: SyncError.self) { try read(broken) }
    }

    @Test func ourOwnAssetsAreReadWholeAndDecompressed() throws {
        let rows = Samples.noteRows(500, seed: 9)
        let asset = try Asset.make(try Samples.notes(), rows, blockEntities: 20)
        #expect(try read(asset.bytes).rows == rows)
        #expect(try read(Tool.run("zcat", [], input: asset.bytes)).rows == rows)
        let tail = asset.index.tail
        #expect(throws: SyncError.self) { try read(asset.bytes.prefix(tail.offset)) }
        #expect(throws: SyncError.self) { try read(asset.bytes.prefix(asset.index.blocks[3].member.offset)) }
    }

    @Test(arguments: [
        "{\(time),\"notes\":[@]}", "{\"notes\":[@],\(time)}", " \n{ \(time) , \"x\" : { \"notes\" : [ 1 ] } , \"notes\" : [ @ ] }\r\n\t ",
        "{\"a\":[],\"b\":[1,[2,{}],\"]\"],\"c\":null,\"d\":-1.5e3,\"e\":\"}\",\"notes\":[@],\"deletions\":[{\"id\":1}],\(time)}",
        "{\"\\u006eotes\":[@],\"sync\\u0054imestamp\":\"2026-01-01T00:00:00Z\"}",
    ])
    func theContainersKeysMayComeInAnyOrder(shape: String) throws {
        let entity = "{\"id\":\"z\",\"actions\": [ {\"a\" : 1} ] ,\"title\":\"\\\"]}{\",\"updatedAt\":\"\",\"extra\":[{}]}"
        let second = "{\"updatedAt\":\"u\",\"title\":\"t\",\"id\":\"a\",\"body\":null,\"actions\":7}"
        let expected: [[Value]] = [
            [.text("z"), .text("\"]}{"), .null, .text(""), .json("[ {\"a\" : 1} ]")], [.text("a"), .text("t"), .null, .text("u"), .json("7")],
        ]
        for (entities, rows) in [("", []), (entity, [expected[0]]), ("\(entity) ,\n\(second)", expected)] {
            let file = Data(shape.replacing("@", with: entities).utf8)
            #expect(try read(file).rows == rows)
            #expect(try read(file).unknown == (rows.isEmpty ? [] : ["extra"]))
            for length in 0..<file.count where !file[length...].allSatisfy({ $0 <= 0x20 }) {
                #expect(throws: SyncError.self) { try read(file.prefix(length)) }
            }
        }
    }

    @Test func nullInAJSONColumnIsAbsent() throws {
        let rows = try read("{\(Self.time),\"others\":[{\"id\":2,\"j\":null},{\"id\":1,\"j\":[null]}]}")
        #expect(rows == [[.integer(2), .null], [.integer(1), .json("[null]")]])
    }

    @Test func whatIsNotAContainerIsToldApart() throws {
        #expect(try code("") == .truncated)
        #expect(try code("  ") == .truncated)
        #expect(try code("[]") == .notAContainer)
        #expect(try code("\u{FEFF}{}") == .notAContainer)
        #expect(try code("SQLite format 3") == .notAContainer)
        #expect(try code("{}") == .notAContainer)
        #expect(try code("{\(Self.time)}") == .notAContainer)
        #expect(try code("{\(Self.time),\"unknown\":[]}") == .notAContainer)
        #expect(try code("{\"notes\":[]}") == .notAContainer)
        #expect(try code("{\(Self.time),\"notes\":[],\"others\":[]}") == .notAContainer)
        #expect(try code("{\(Self.time),\"notes\":[],\"notes\":[]}") == .damaged)
        #expect(try code("{\(Self.time),\(Self.time),\"notes\":[]}") == .damaged)
        #expect(try code("{\(Self.time),\"notes\":{}}") == .damaged)
        #expect(try code("{\"syncTimestamp\":5,\"notes\":[]}") == .damaged)
        #expect(try code("{\"syncTimestamp\":\"2026-02-30T00:00:00Z\",\"notes\":[]}") == .damaged)
    }

    @Test(arguments: [
        "{@,\"notes\":[,]}", "{@,\"notes\":[{\"id\":1,}]}", "{@,\"notes\":[]]}", "{@,\"notes\":[]}}", "{@,\"notes\":[]} x", "{@,\"notes\":[]}{}",
        "{@,,\"notes\":[]}",
        "{@,\"notes\":[],}", "{,@,\"notes\":[]}", "{@ \"notes\":[]}", "{@,\"notes\" []}", "{@,notes:[]}", "{@,\"notes\":[1]}", "{@,\"notes\":[[]]}",
        "{@,\"notes\":[null]}",
        "{@,\"notes\":[{]}]}", "{@,\"x\":[1,],\"notes\":[]}", "{@,\"x\":[,1],\"notes\":[]}", "{@,\"x\":[1 2],\"notes\":[]}", "{@,\"x\":01,\"notes\":[]}",
        "{@,\"x\":nul,\"notes\":[]}",
        "{@,\"x\":{\"a\":},\"notes\":[]}", "{@,\"x\":\"\\q\",\"notes\":[]}", "{@,\"x\":,\"notes\":[]}", "{@,\"x\":{]},\"notes\":[]}",
        "{@,\"\\ud800\":1,\"notes\":[]}",
        "{@,\"notes\":[{\"id\":\"a\"}{\"id\":\"b\"}]}", "{@,\"notes\":[{\"id\":\"a\"},,{\"id\":\"b\"}]}", "{@,\"notes\":[{\"id\":\"a\"},]}",
        "{@,\"others\":[{\"id\":1}{\"id\":2}]}",
        "{@,\"others\":[,{\"id\":1}]}", "{@,\"others\":[{\"id\":1},]}", "{@,\"others\":[{\"id\":1},,{\"id\":2}]}", "{@,\"others\":[{\"id\":1.0}]}",
        "{@,\"others\":[{\"id\":1}]",
    ])
    func whatIsNotStrictIsRefused(shape: String) throws {
        let file = Data(shape.replacing("@", with: Self.time).utf8)
        #expect(throws: SyncError.self, "\(shape)") { try read(file) }
    }

    @Test func errorsNameTheEntityInTheFile() throws {
        let good = (0..<9000).map { "{\"id\":\($0),\"j\":[\"0123456789012345678901234567890\"]}" }.joined(separator: ",")
        let error = try #require(throws: SyncError.self) { try read("{\(Self.time),\"others\":[\(good),{\"id\":true}]}") }
        #expect(error.format == .badEntity)
        #expect(error.place == "others, entity 9000, column id")
    }

    @Test func textThatIsNotUTF8IsRefusedInsideAndOutsideOfEntities() throws {
        for shape in [
            "{@,\"others\":[{\"id\":1,\"j\":\"#\"}]}", "{@,\"x\":\"#\",\"others\":[]}", "{@,\"x#\":1,\"others\":[]}", "{@,\"x\":[\"#\"],\"others\":[]}",
            "{@,\"others\":[{\"id\":1,\"#\":2}]}",
        ] {
            let file = Data(shape.replacing("@", with: Self.time).utf8)
            let place = try #require(file.firstIndex(of: UInt8(ascii: "#")))
            var bad = file
            bad[place] = 0xFF
            #expect(throws: SyncError.self) { try read(bad) }
            bad.replaceSubrange(place...place, with: Array("é".utf8))
            #expect(throws: Never.self) { try read(bad) }
        }
    }

    @Test func aLargeEntityIsReadAndALargerOneRefused() throws {
        let long = String(repeating: "é\\n", count: 1 << 20)
        let rows = try read(Data("{\(Self.time),\"others\":[{\"id\":1},{\"j\":\"\(long)\",\"id\":2},{\"id\":3}]}".utf8)).rows
        #expect(rows == [[.integer(1), .null], [.integer(2), .json("\"\(long)\"")], [.integer(3), .null]])

        let head = Data("{\(Self.time),\"others\":[{\"id\":1,\"j\":\"".utf8)
        let file = head + Data(repeating: UInt8(ascii: "x"), count: FormatLimits.entityBytes) + Data("\"}]}".utf8)
        let error = try #require(throws: SyncError.self) { try read(file) }
        #expect(error.format == .tooLarge)
    }

    @Test func aFileAboveTheLimitIsRefusedPlainAndCompressed() throws {
        let file = Data("{\(Self.time),\"others\":[\(String(repeating: " ", count: 100_000))]}".utf8)
        for file in [file, try Tool.run("gzip", ["-c"], input: file)] {
            #expect(try reader(file, limit: 110_000).next() == nil)
            let error = try #require(throws: SyncError.self) { try reader(file, limit: 90_000).next() }
            #expect(error.format == .tooLarge)
        }
    }

    @Test func blocksAreBoundedAndComeInTheFilesOrder() throws {
        let rows = Samples.noteRows(6000, seed: 2).reversed()
        let file = try foundation(Array(rows), pretty: false)
        let reader = try reader(file)
        var blocks = 0
        while let block = try reader.next() {
            blocks += 1
            #expect(block.raw.count < ContainerReader.blockBytes + 2000)
        }
        #expect(blocks > 2)
        #expect(try read(file).rows.map { $0[0] } == rows.map { $0[0] })
    }

    @Test func whatTheInputThrowsReachesTheCaller() throws {
        struct Broken: Error {}
        let reader = ContainerReader(schemas: [try other()]) { _ in throw Broken() }
        #expect(throws: Broken.self) { try reader.next() }
    }
}
