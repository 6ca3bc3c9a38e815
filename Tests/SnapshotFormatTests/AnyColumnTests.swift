import Foundation
import SnapshotFormat
import SnapshotModel
import Testing

/// Columns of type `any`: each value keeps its storage class, and each has one form.
@Suite struct AnyColumnTests {
    @Test(arguments: [ColumnKind.text, .integer], 1...12)
    func randomValuesComeBackAsTheyWere(key: ColumnKind, seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        let schema = try Samples.anyColumns(key: key)
        let rows = Samples.anyRows(40 + random.below(300), key: key, random: &random)
        let asset = try Asset.make(schema, rows, blockEntities: 1 + random.below(60))
        #expect(try asset.rows(schema: schema) == rows, "seed \(seed)")
        #expect(try SnapshotIndex.decode(asset.index.encode()) == asset.index)
        try asset.verify()
    }

    /// The canonical form of each value.
    private static let forms: [(value: Value, json: String)] = [
        (.integer(12), "12"), (.integer(.min), "-9223372036854775808"), (.real(12.0), "12.0"), (.real(-0.0), "-0.0"), (.real(1e300), "1e+300"),
        (.real(.infinity), #"{"real":"Infinity"}"#), (.real(-.infinity), #"{"real":"-Infinity"}"#), (.text("12"), #""12""#), (.text(""), #""""#),
        (.text("a\u{0}b"), #""a\u0000b""#), (.text([0x61, 0xFF]), #"{"textBase64":"Yf8="}"#), (.blob([]), #"{"base64":""}"#),
        (.blob(Array("12".utf8)), #"{"base64":"MTI="}"#), (.text(#"{"base64":""}"#), #""{\"base64\":\"\"}""#),
    ]

    @Test(arguments: forms.indices)
    func valueHasOneForm(number: Int) throws {
        let schema = try Samples.anyColumns(), form = Self.forms[number]
        let text = EntityText(schema: schema)
        try give([.null, .text("k"), form.value], to: text)
        let json = String(decoding: text.bytes, as: UTF8.self).dropFirst()
        #expect(json == "{\"id\":\"k\",\"value\":\(form.json)}")
        // The long way reads the same: other order, white space.
        for spelt in [String(json), "{ \"value\" : \(form.json) , \"id\":\"k\" }"] {
            let sink = CollectingSink()
            #expect(try EntityDocument.give(spelt, of: schema, to: sink) == [])
            #expect(sink.rows == [[.null, .text("k"), form.value]], "\(spelt)")
        }
    }

    @Test(arguments: [
        (#"{ "base64" : "AAE=" }"#, Value.blob([0, 1])), (#"{"textBase64":"\/w=="}"#, .text([0xFF])), ("1e2", .real(100.0)), ("-0", .integer(0)),
        ("1.50", .real(1.5)),
    ])
    func otherSpellingsAreRead(json: String, value: Value) throws {
        let sink = CollectingSink()
        try EntityDocument.give("{\"id\":\"k\",\"value\":\(json)}", of: Samples.anyColumns(), to: sink)
        #expect(sink.rows == [[.null, .text("k"), value]])
    }

    @Test(arguments: [
        "true", "false", "[]", "{}", #"{"base64":1}"#, #"{"base64":"AAE"}"#, #"{"base64":"AA==","real":"Infinity"}"#, #"{"text":"YQ=="}"#,
        #"{"textBase64":"YQ=="}"#,
        #"{"textBase64":""}"#, #"{"real":"NaN"}"#, #"{"real":1}"#, #"{"real":"Infinity""#, #"{"base64":"AA=="#, "1e400", "9223372036854775808", "-",
        #"{"base64" "AA=="}"#, "{",
        #"{"b\u0061se64":"AA=="}"#, "null",
    ])
    func otherJSONIsRefused(json: String) throws {
        for text in ["{\"id\":\"k\",\"value\":\(json)}", "{\"value\": \(json), \"id\":\"k\"}"] {
            #expect(throws: FormatError.self, "\(text)") { try EntityDocument.give(text, of: Samples.anyColumns()) }
        }
    }

    @Test func keyOrTimestampCannotBeOfTypeAny() throws {
        let columns = [DatasetColumn("id", .text), DatasetColumn("v", .any)]
        #expect(throws: SchemaError.self) { try DatasetSchema(name: "t", table: "t", key: "v", timestamp: nil, columns: columns) }
        #expect(throws: SchemaError.self) { try DatasetSchema(name: "t", table: "t", key: "id", timestamp: "v", columns: columns) }
        #expect(try Samples.notes().formatVersion == 1)
        #expect(try Samples.anyColumns().formatVersion == 2)
    }

    /// An index that names another version than its columns need is not canonical.
    @Test(arguments: [true, false])
    func indexOfAWrongVersionIsRefused(usesAny: Bool) throws {
        let asset = try Asset.make(usesAny ? Samples.anyColumns() : Samples.notes(), [], blockEntities: 10)
        let text = String(decoding: asset.index.encode(), as: UTF8.self)
        let other = text.replacing("{\"formatVersion\":\(usesAny ? 2 : 1)", with: "{\"formatVersion\":\(usesAny ? 1 : 2)")
        #expect(other != text)
        let error = try #require(throws: FormatError.self) { try SnapshotIndex.decode(Data(other.utf8)) }
        #expect(error.code == .damaged)
    }

    /// A frozen file of format version 2: a column of type `any`, and a timestamp that counts seconds.
    @Test func frozenFileOfVersion2IsRead() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Fixtures/format-2")
        let bytes = try Data(contentsOf: folder.appendingPathComponent("prefs.index.json"))
        let index = try SnapshotIndex.decode(bytes)
        #expect(index.formatVersion == 2)
        #expect(index.timestampUnit == .seconds)
        #expect(index.encode() == bytes)
        let asset = Asset(bytes: try Data(contentsOf: folder.appendingPathComponent("prefs.json.gz")), index: index)
        try asset.verify()
        let values: [Value] = [.integer(12), .text("12"), .real(12.0), .blob([0, 0xFF]), .real(.infinity), .text([0x61, 0xFF]), .null]
        let rows = zip("abcdefg", zip(values, [1_700_000_000, 5, 6, 7, 8, 9, 1])).map { [Value.text(String($0)), $1.0, .integer($1.1)] }
        #expect(try asset.rows() == rows)
        let again = try Asset.make(
            try index.schema(table: "prefs"), rows, blockEntities: index.blockEntities, timestamp: try asset.reader().header.syncTimestamp)
        #expect(again.index.blocks.map(\.member.rawSHA256) == index.blocks.map(\.member.rawSHA256))
    }
}
