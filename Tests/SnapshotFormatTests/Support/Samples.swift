import SnapshotModel
import TestSupport

/// Schemas and random rows for the tests.
enum Samples {
    /// Every shape, required and optional, with a name that needs escapes, and the key not in front.
    static func everyKind(key: ColumnShape = .text) throws -> DatasetSchema {
        try DatasetSchema(
            name: "things", table: "things", keys: ["id"], timestamp: "updatedAt",
            columns: [
                DatasetColumn("flag", .boolean, isOptional: true),
                DatasetColumn("id", key),
                DatasetColumn("updatedAt", .text),
                DatasetColumn("quote \" and \\ in a longer näme", .text, isOptional: true),
                DatasetColumn("n", .integer),
                DatasetColumn("maybe", .integer, isOptional: true),
                DatasetColumn("x", .real),
                DatasetColumn("y", .real, isOptional: true),
                DatasetColumn("on", .boolean),
                DatasetColumn("list", .json),
                DatasetColumn("tree", .json, isOptional: true),
                DatasetColumn("bytes", .blob),
                DatasetColumn("more", .blob, isOptional: true),
            ])
    }

    /// Columns without a shape beside the key, which has none either if `key` is nil.
    static func plainColumns(key: ColumnShape? = .text) throws -> DatasetSchema {
        try DatasetSchema(
            name: "settings", table: "settings", keys: ["id"], timestamp: nil,
            columns: [DatasetColumn("first"), DatasetColumn("id", key), DatasetColumn("value")])
    }

    /// Rows of ``plainColumns(key:)`` in key order, of every storage class.
    static func plainRows(_ count: Int, key: ColumnShape? = .text, random: inout SeededGenerator) -> [[Value]] {
        keys(count, key, &random).map { key in [optional(&random, anyValue), key, anyValue(&random)] }
    }

    private static func anyValue(_ random: inout SeededGenerator) -> Value {
        switch random.below(8) {
        case 0: return integer(&random)
        case 1: return real(&random)
        case 2: return .real([Double.infinity, -.infinity, 12, -0.0, 1e15][random.below(5)])
        case 3: return blob(&random)
        case 4: return .text(["12", "-0", "1.5", "{\"base64\":\"\"}", "null", "true", ""][random.below(7)])
        case 5: return .text([[0xFF], [0x61, 0xED, 0xA0, 0x80], [0xC3], Array("\"\\a".utf8) + [0x80]][random.below(4)])
        default: return .text(text(&random, upTo: 60))
        }
    }

    /// The built-in notifications, in short.
    static func notes() throws -> DatasetSchema {
        try DatasetSchema(
            name: "notes", table: "notes", keys: ["id"], timestamp: "updatedAt",
            columns: [
                DatasetColumn("id", .text), DatasetColumn("title", .text), DatasetColumn("body", .text, isOptional: true),
                DatasetColumn("updatedAt", .text), DatasetColumn("actions", .json),
            ])
    }

    /// Rows of ``notes()`` in key order.
    static func noteRows(_ count: Int, seed: UInt64) -> [[Value]] {
        var random = SeededGenerator(seed: seed)
        var keys: Set<String> = []
        while keys.count < count { keys.insert("n-" + String(random.next() % 0xFFFF_FFFF, radix: 16)) }
        return keys.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }.map { key in
            [
                .text(key), .text(text(&random, upTo: 40)), random.happens(percent: 80) ? .text(text(&random, upTo: 200)) : .null,
                .text("2026-11-21T08:32:00.000Z"), .json(random.happens(percent: 50) ? "[]" : "[{\"type\":\"OPEN\",\"destructive\":false}]"),
            ]
        }
    }

    /// Rows of ``everyKind(key:)`` in key order, full of extremes.
    static func everyKindRows(_ count: Int, key: ColumnShape = .text, random: inout SeededGenerator) -> [[Value]] {
        keys(count, key, &random).map { key in
            [
                optional(&random) { .integer(Int64($0.below(2))) },
                key,
                .text("2026-01-01T00:00:00.\(random.below(1000))Z"),
                optional(&random) { .text(text(&$0, upTo: 60)) },
                integer(&random),
                optional(&random, integer),
                real(&random),
                optional(&random, real),
                .integer(Int64(random.below(2))),
                .json(json(&random, depth: 4)),
                optional(&random) { .json(json(&$0, depth: 3)) },
                blob(&random),
                optional(&random, blob),
            ]
        }
    }

    static func keys(_ count: Int, _ kind: ColumnShape?, _ random: inout SeededGenerator) -> [Value] {
        // Integers, reals between them, texts, and blobs: in SQLite's order.
        guard let kind else {
            let integers = keys((count + 3) / 4, .integer, &random), texts = keys((count + 3) / 4, .text, &random)
            let reals: [Value] = [.real(-0.5), .real(0.5), .real(1e300), .real(-1e300), .real(9e18 + 0.0), .real(2.5)]
            let numbers = (integers + reals.prefix(max(0, count / 8))).sorted { number($0) < number($1) }
            var seen: Set<Double> = []
            let blobs = (0..<count / 8).map { Value.blob([UInt8($0 % 256), 0, UInt8($0 / 256)]) }.sorted { "\($0)" < "\($1)" }
            let distinct = numbers.filter {
                if case .real(let bits) = $0 { Int64(exactly: Double(bitPattern: bits)) == nil && seen.insert(Double(bitPattern: bits)).inserted } else { true }
            }
            return distinct + texts + blobs.sorted(by: isBefore)
        }
        if kind == .integer {
            var keys: Set<Int64> = [.min, .max, 0, -1]
            while keys.count < count {
                keys.insert(random.happens(percent: 50) ? Int64.random(in: .min ... .max, using: &random) : Int64(random.below(5000)) - 2500)
            }
            return keys.sorted().prefix(count).map { .integer($0) }
        }
        var keys: Set<[UInt8]> = [[]]
        while keys.count < count { keys.insert(Array(text(&random, upTo: random.happens(percent: 2) ? 250 : 12).utf8)) }
        return keys.sorted { $0.lexicographicallyPrecedes($1) }.map { .text($0) }
    }

    private static func number(_ value: Value) -> Double {
        switch value {
        case .integer(let integer): Double(integer)
        case .real(let bits): Double(bitPattern: bits)
        default: 0
        }
    }

    private static func isBefore(_ left: Value, _ right: Value) -> Bool {
        guard case .blob(let left) = left, case .blob(let right) = right else { return false }
        return left.lexicographicallyPrecedes(right)
    }

    private static func optional(_ random: inout SeededGenerator, _ make: (inout SeededGenerator) -> Value) -> Value {
        random.happens(percent: 40) ? .null : make(&random)
    }

    private static func integer(_ random: inout SeededGenerator) -> Value {
        switch random.below(4) {
        case 0: .integer([Int64.min, .max, 0, -1, 1, 9, 10, -10, 999_999_999_999_999_999][random.below(9)])
        case 1: .integer(Int64(random.below(2000)) - 1000)
        default: .integer(Int64.random(in: .min ... .max, using: &random))
        }
    }

    private static func real(_ random: inout SeededGenerator) -> Value {
        let edges: [Double] = [0, -0.0, 1, -1, 0.1, 1e16, 1e15, 1e300, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .leastNormalMagnitude, .pi, 1.0 / 3]
        switch random.below(4) {
        case 0: return .real(edges[random.below(edges.count)])
        case 1: return integer(&random)
        default:
            let value = Double(bitPattern: random.next())
            return .real(value.isFinite ? value : 2.5)
        }
    }

    private static func blob(_ random: inout SeededGenerator) -> Value { .blob((0..<random.below(40)).map { _ in UInt8(truncatingIfNeeded: random.next()) }) }

    static func text(_ random: inout SeededGenerator, upTo limit: Int) -> String {
        let odd = [
            "\"", "\\", "/", "\n", "\r", "\t", "\u{0}", "\u{1F}", "\u{7F}", "é", "漢", "🇮🇹", "👩‍💻", "\u{2028}", "\u{FFFF}", "\u{10FFFF}", "{", "}", ",", ":",
        ]
        var text = ""
        for _ in 0..<random.below(limit + 1) {
            if random.happens(percent: 25) {
                text += odd[random.below(odd.count)]
            } else {
                text.unicodeScalars.append(Unicode.Scalar(UInt8(0x20 + random.below(0x5F))))
            }
        }
        return text
    }

    static func json(_ random: inout SeededGenerator, depth: Int) -> String {
        let space = ["", "", "", " ", "\n\t", "\r\n "]
        func pad(_ text: String, _ random: inout SeededGenerator) -> String { space[random.below(6)] + text + space[random.below(6)] }
        switch random.below(depth > 0 ? 9 : 6) {
        case 0: return pad("null", &random)
        case 1: return pad(random.happens(percent: 50) ? "true" : "false", &random)
        case 2: return pad("\(random.below(100_000))", &random)
        case 3: return pad(["-0", "1e5", "1.50E-7", "123456789012345678901234567890", "0.0"][random.below(5)], &random)
        case 4: return pad("\"\\u0041\\/\\\"\\\\ é \\ud83d\\ude00 \\ud800 , ] }\"", &random)
        case 5: return pad(random.happens(percent: 50) ? "[]" : "{}", &random)
        case 6, 7:
            let elements = (0..<random.below(4)).map { _ in json(&random, depth: depth - 1) }
            return pad("[" + elements.joined(separator: ",") + (elements.isEmpty ? " " : "") + "]", &random)
        default:
            let members = (0..<random.below(4)).map { "\"k\($0)\":" + json(&random, depth: depth - 1) }
            return pad("{" + members.joined(separator: ",") + "}", &random)
        }
    }
}
