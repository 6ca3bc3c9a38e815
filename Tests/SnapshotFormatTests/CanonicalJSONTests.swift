import Foundation
import SnapshotFormat
import SnapshotModel
import StrictText
import TestSupport
import Testing

@Suite struct CanonicalJSONTests {
    /// The JSON of one entity, as the encoder writes it.
    private func json(_ schema: DatasetSchema, _ row: [Value]) throws -> String {
        let encoder = BlockEncoder(schema: schema, blockEntities: 1)
        try send(row, to: encoder)
        encoder.finish()
        let block = try #require(encoder.popCompleted())
        return String(decoding: block.bytes, as: UTF8.self)
    }

    private func column(_ kind: ColumnShape, optional: Bool = false) throws -> DatasetSchema {
        try DatasetSchema(
            name: "d", table: "d", keys: ["k"], timestamp: nil,
            columns: [DatasetColumn("k", .integer), DatasetColumn("v", kind, isOptional: optional)])
    }

    @Test func everyControlCharacterHasItsShortestEscape() throws {
        let short: [UInt8: String] = [0x08: "\\b", 0x09: "\\t", 0x0A: "\\n", 0x0C: "\\f", 0x0D: "\\r", 0x22: "\\\"", 0x5C: "\\\\"]
        for byte in UInt8(0)..<0x80 {
            let expected = short[byte] ?? (byte < 0x20 ? "\\u00" + (byte < 16 ? "0" : "1") + String(byte % 16, radix: 16) : String(Unicode.Scalar(byte)))
            // At every place of a word, and behind it.
            for place in 0...9 {
                let before = String(repeating: "x", count: place)
                let text = try json(column(.text), [.integer(1), .text(Array(before.utf8) + [byte] + Array("yz".utf8))])
                #expect(text == "{\"k\":1,\"v\":\"\(before)\(expected)yz\"}")
            }
        }
    }

    @Test func manyEscapesBeforeALongRestFindRoom() throws {
        // Escapes take six times the room of what they stand for, which is more than was reserved at first.
        for (escapes, rest) in [(1, 100), (1000, 10), (300_000, 4_000_000)] {
            let text = Array(repeating: UInt8(1), count: escapes) + Array(repeating: UInt8(ascii: "x"), count: rest)
            let expected = "{\"k\":1,\"v\":\"" + String(repeating: "\\u0001", count: escapes) + String(repeating: "x", count: rest) + "\"}"
            #expect(try json(column(.text), [.integer(1), .text(text)]) == expected)
        }
    }

    @Test func textBeyondASCIIStandsAsItIs() throws {
        let text = "è 漢 👩‍💻 \u{7F} \u{2028} \u{10FFFF} /"
        #expect(try json(column(.text), [.integer(1), .text(text)]) == "{\"k\":1,\"v\":\"\(text)\"}")
    }

    @Test(arguments: [
        (0, "0"), (-1, "-1"), (9, "9"), (10, "10"), (-10, "-10"), (999, "999"), (1000, "1000"),
        (Int64.max, "9223372036854775807"), (Int64.min, "-9223372036854775808"),
    ])
    func integersAreDecimal(value: Int64, text: String) throws {
        #expect(try json(column(.integer), [.integer(value), .integer(value)]) == "{\"k\":\(text),\"v\":\(text)}")
        #expect(try json(column(.real), [.integer(1), .integer(value)]) == "{\"k\":1,\"v\":\(text)}")
    }

    @Test(arguments: [
        (0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (0.1, "0.1"), (1e16, "1e+16"), (1.5e300, "1.5e+300"), (.leastNonzeroMagnitude, "5e-324"),
        (-2.5e-7, "-2.5e-07"), (100_000, "100000.0"),
    ])
    func realsAreTheShortestTextThatReadsBack(value: Double, text: String) throws {
        #expect(try json(column(.real), [.integer(1), .real(value)]) == "{\"k\":1,\"v\":\(text)}")
        #expect(Double(text)?.bitPattern == value.bitPattern)
    }

    @Test func booleansBlobsAndAbsentColumns() throws {
        #expect(try json(column(.boolean), [.integer(1), .integer(0)]) == "{\"k\":1,\"v\":false}")
        #expect(try json(column(.boolean), [.integer(1), .integer(1)]) == "{\"k\":1,\"v\":true}")
        for kind in ColumnShape.allCases { #expect(try json(column(kind, optional: true), [.integer(1), .null]) == "{\"k\":1}") }
        // RFC 4648 section 10.
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")] {
            #expect(try json(column(.blob), [.integer(1), .blob(Array(bytes.utf8))]) == "{\"k\":1,\"v\":\"\(text)\"}")
        }
        #expect(try json(column(.blob), [.integer(1), .blob([0xFB, 0xFF, 0xBF])]) == "{\"k\":1,\"v\":\"+/+/\"}")
    }

    @Test(arguments: [
        "null", " [] ", "[]", "{}", "\n{\"a\" : [1, 2e5, -0.0, \"\\ud800 \\u0041\"]}\t", "\"è\"", "12345678901234567890123", "{\"a\":1,\"a\":2}",
        String(repeating: "[", count: 512) + String(repeating: "]", count: 512),
    ])
    func jsonColumnsPassThroughAsTheyAre(text: String) throws {
        let schema = try column(.json)
        #expect(try json(schema, [.integer(1), .json(text)]) == "{\"k\":1,\"v\":\(text)}")
        #expect(try json(schema, [.integer(1), .text(text)]) == "{\"k\":1,\"v\":\(text)}")
        #expect(try Asset.make(schema, [[.integer(1), .json(text)]], blockEntities: 1).rows() == [[.integer(1), .json(text)]])
    }

    @Test(arguments: [
        "", " ", "[", "[1,]", "{\"a\":1,}", "{a:1}", "01", "1.", ".5", "+1", "NaN", "Infinity", "nul", "truefalse", "'a'", "\"a", "\"\\x\"", "\"\u{1}\"",
        "[] []", "[]x", "{\"a\"}", "\u{FEFF}[]", "/**/[]", "{\"a\":1}}", "[1 2]", "\"\\u12g4\"",
        String(repeating: "[", count: 513) + String(repeating: "]", count: 513), String(repeating: "[", count: 100_000),
    ])
    func aColumnThatIsNotJSONIsRefused(text: String) throws {
        let schema = try column(.json)
        let error = try #require(throws: SyncError.self) { try json(schema, [.integer(7), .json(text)]) }
        #expect(error.format == .badRow)
        #expect(error.place == "d, key 7, column v")
    }

    @Test(
        arguments: [
            [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82], [0x61, 0x80],
            Array(repeating: 0x61, count: 20) + [0xC3],
        ] as [[UInt8]])
    func textThatIsNotUTF8IsRefused(bytes: [UInt8]) throws {
        #expect(throws: SyncError.self) { try json(column(.text), [.integer(1), .text(bytes)]) }
        #expect(throws: SyncError.self) { try json(column(.json), [.integer(1), .json([0x22] + bytes + [0x22])]) }
        let text = try DatasetSchema(name: "d", table: "d", keys: ["k"], timestamp: nil, columns: [DatasetColumn("k", .text)])
        #expect(throws: SyncError.self) { try json(text, [.text(bytes)]) }
    }

    @Test func everyOtherStorageClassIsRefusedAndTheErrorNamesColumnAndKeyButNoValue() throws {
        let secret = "secret-4711"
        let values: [Value] = [.null, .integer(4711), .real(4711.5), .text(secret), .json("\"\(secret)\""), .blob(Array(secret.utf8))]
        let allowed: [ColumnShape: Set<Int>] = [.text: [3], .integer: [1], .real: [1, 2], .boolean: [], .json: [4], .blob: [5]]
        for kind in ColumnShape.allCases {
            let schema = try column(kind)
            for (number, value) in values.enumerated() where !allowed[kind, default: []].contains(number) {
                let error = try #require(throws: SyncError.self) { try json(schema, [.integer(12), value]) }
                #expect(error.format == .badRow)
                #expect(error.place == "d, key 12, column v")
                #expect(!error.description.contains("4711"))
            }
        }
        for real in [Double.nan, .infinity, -.infinity] {
            #expect(throws: SyncError.self) { try json(column(.real), [.integer(1), .real(real)]) }
        }
    }

    @Test func unusableKeysAreRefused() throws {
        let schema = try DatasetSchema(name: "d", table: "d", keys: ["k"], timestamp: nil, columns: [DatasetColumn("k", .text)])
        let longest = String(repeating: "k", count: 1024)
        #expect(try json(schema, [.text(longest)]) == "{\"k\":\"\(longest)\"}")
        let error = try #require(throws: SyncError.self) { try json(schema, [.text(longest + "k")]) }
        #expect(error.format == .badRow)
        #expect(error.description.utf8.count < 400)
        for value in [Value.null, .integer(1), .blob([1]), .json("\"a\"")] {
            #expect(throws: SyncError.self) { try json(schema, [value]) }
        }
    }

    @Test(arguments: [ColumnShape.text, .integer])
    func aKeyThatDoesNotComeAfterTheOneBeforeIsRefused(kind: ColumnShape) throws {
        let schema = try DatasetSchema(name: "d", table: "d", keys: ["k"], timestamp: nil, columns: [DatasetColumn("k", kind)])
        let pairs: [(Value, Value)] =
            kind == .text
            ? [("a", "a"), ("b", "a"), ("ab", "a"), ("é", "z"), ("a", ""), ("", "")].map { (.text($0.0), .text($0.1)) }
            : [(1, 1), (2, 1), (0, -1), (10, 9), (Int64.max, .min)].map { (.integer($0.0), .integer($0.1)) }
        for (first, second) in pairs {
            let encoder = BlockEncoder(schema: schema, blockEntities: 100)
            try send([first], to: encoder)
            let error = try #require(throws: SyncError.self) { try send([second], to: encoder) }
            #expect(error.format == .outOfOrder)
        }
    }

    @Test func anEntityBeyondTheLimitIsRefused() throws {
        let schema = try column(.text)
        let error = try #require(throws: SyncError.self) {
            try json(schema, [.integer(1), .text(Array(repeating: UInt8(ascii: "x"), count: FormatLimits.entityBytes))])
        }
        #expect(error.format == .tooLarge)
    }
}
