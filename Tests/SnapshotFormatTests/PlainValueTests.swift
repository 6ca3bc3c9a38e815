import Foundation
import SnapshotFormat
import SnapshotModel
import StrictText
import TestSupport
import Testing

/// Columns without a shape: each value keeps its storage class, and each has one form.
@Suite struct PlainValueTests {
    @Test(arguments: [ColumnShape.text, .integer, nil], 1...12)
    func randomValuesComeBackAsTheyWere(key: ColumnShape?, seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let schema = try Samples.plainColumns(key: key)
        let rows = Samples.plainRows(40 + random.below(300), key: key, random: &random)
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
        let schema = try Samples.plainColumns(), form = Self.forms[number]
        let text = EntityText(schema: schema)
        try send([.null, .text("k"), form.value], to: text)
        let json = String(decoding: text.bytes, as: UTF8.self).dropFirst()
        #expect(json == "{\"id\":\"k\",\"value\":\(form.json)}")
        // The long way reads the same: other order, white space.
        for spelt in [String(json), "{ \"value\" : \(form.json) , \"id\":\"k\" }"] {
            let sink = CollectingSink()
            #expect(try EntityDocument.send(spelt, of: schema, to: sink) == [])
            #expect(sink.rows == [[.null, .text("k"), form.value]], "\(spelt)")
        }
    }

    @Test(arguments: [
        (#"{ "base64" : "AAE=" }"#, Value.blob([0, 1])), (#"{"textBase64":"\/w=="}"#, .text([0xFF])), ("1e2", .real(100.0)), ("null", .null),
        ("1.50", .real(1.5)),
    ])
    func otherSpellingsAreRead(json: String, value: Value) throws {
        let sink = CollectingSink()
        try EntityDocument.send("{\"id\":\"k\",\"value\":\(json)}", of: Samples.plainColumns(), to: sink)
        #expect(sink.rows == [[.null, .text("k"), value]])
    }

    @Test(arguments: [
        "true", "false", "[]", "{}", #"{"base64":1}"#, #"{"base64":"AAE"}"#, #"{"base64":"AA==","real":"Infinity"}"#, #"{"text":"YQ=="}"#,
        #"{"textBase64":"YQ=="}"#,
        #"{"textBase64":""}"#, #"{"real":"NaN"}"#, #"{"real":1}"#, #"{"real":"Infinity""#, #"{"base64":"AA=="#, "1e400", "9223372036854775808", "-",
        #"{"base64" "AA=="}"#, "{",
        #"{"b\u0061se64":"AA=="}"#, "-0",
    ])
    func otherJSONIsRefused(json: String) throws {
        for text in ["{\"id\":\"k\",\"value\":\(json)}", "{\"value\": \(json), \"id\":\"k\"}"] {
            #expect(throws: SyncError.self, "\(text)") { try EntityDocument.send(text, of: Samples.plainColumns()) }
        }
    }

    /// One table whose key holds integers, reals, texts and blobs side by side: SQLite's order, and one form for each key.
    @Test func keysOfEveryStorageClassAreInOrder() throws {
        let schema = try DatasetSchema(name: "t", table: "t", keys: ["k"], timestamp: nil, columns: [DatasetColumn("k")])
        let values: [Value] = [
            .real(-1e300), .integer(.min), .real(-1.5), .integer(-1), .integer(0), .real(0.5), .integer(1), .real(1.5), .integer(.max), .real(1e300), .text(""),
            .text("12"), .text("a"), .text("a\u{0}"), .blob([]), .blob([0]), .blob([0, 0]), .blob([0x61]),
        ]
        let asset = try Asset.make(schema, values.map { [$0] }, blockEntities: 2)
        #expect(try asset.rows(schema: schema) == values.map { [$0] })
        try asset.verify()
        let sink = EntityKeys(schema)
        for value in values { try send([value], to: sink) }
        #expect(sink.keys == sink.keys.sorted() && Set(sink.keys).count == values.count)
        for key in sink.keys {
            #expect(schema.keyShape.holds(key))
            #expect(try JSONDecoder().decode(EntityKey.self, from: JSONEncoder().encode(key)) == key, "\(key)")
        }
        // 1 and 1.0 are one key, and so are 0.0 and -0.0.
        try send([.real(1.0)], to: sink)
        try send([.real(-0.0)], to: sink)
        #expect(sink.keys.suffix(2) == [.integer(1), .integer(0)])
        for pair in zip(values, values.dropFirst()) {
            let encoder = BlockEncoder(schema: schema, blockEntities: 100)
            try send([pair.1], to: encoder)
            #expect(throws: SyncError.self) { try send([pair.0], to: encoder) }
        }
    }

    @Test func valuesThatNoKeyCanHaveAreRefused() throws {
        let schema = try DatasetSchema(name: "t", table: "t", keys: ["k"], timestamp: nil, columns: [DatasetColumn("k")])
        for value in [Value.null, .real(.infinity), .text([0x61, 0xFF])] {
            let error = try #require(throws: SyncError.self) { try send([value], to: BlockEncoder(schema: schema, blockEntities: 1)) }
            #expect(error.format == .badRow && error.place.hasSuffix("column k"))
        }
        for json in [#"{"k":null}"#, "{}", #"{"k":{"textBase64":"/w=="}}"#] {
            #expect(throws: SyncError.self) { try EntityDocument.send(json, of: schema) }
        }
    }

    /// Entities are kept in the database without shapes, so that a value that does not fit is not lost.
    @Test func everyRowHasAFormWithoutShapes() throws {
        let schema = try DatasetSchema(
            name: "t", table: "t", keys: ["k"], timestamp: nil, columns: [DatasetColumn("k", .text), DatasetColumn("b", .boolean), DatasetColumn("j", .json)])
        let row: [Value] = [.text("a"), .integer(2), .json("{")]
        #expect(throws: SyncError.self) { _ = try EntityDocument.make(schema) { try send(row, to: $0) } }
        let text = try #require(try EntityDocument.make(schema.withoutShapes) { try send(row, to: $0) })
        #expect(text == #"{"k":"a","b":2,"j":"{"}"#)
        let sink = CollectingSink()
        try EntityDocument.send(text, of: schema.withoutShapes, to: sink)
        #expect(sink.rows == [[.text("a"), .integer(2), .text("{")]])
    }
}
