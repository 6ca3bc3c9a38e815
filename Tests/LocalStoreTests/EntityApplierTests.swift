import LocalStore
import LocalTables
import SnapshotModel
import StrictText
import TestSupport
import Testing

@Suite struct EntityApplierTests {
    private func everyKind() throws -> DatasetSchema {
        try items(
            DatasetColumn("id", .integer), DatasetColumn("t", .text, isOptional: true), DatasetColumn("i", .integer, isOptional: true),
            DatasetColumn("r", .real, isOptional: true), DatasetColumn("j", .json, isOptional: true), DatasetColumn("b", .blob, isOptional: true),
            DatasetColumn("f", .boolean, isOptional: true))
    }

    private let table = "CREATE TABLE items(id INTEGER PRIMARY KEY, t TEXT, i INTEGER, r REAL, j TEXT, b BLOB, f BOOLEAN)"

    private let values: [[Value]] = {
        let texts: [Value] = [
            .null, .text(""), .text([0]), .text([0x61, 0, 0x62]), .text("ü😀\u{2028}"), .text("007"), .text(" 1e3 "), .text([0xEF, 0xBB, 0xBF]),
        ]
        let integers: [Value] = [.null, .integer(.min), .integer(.max), .integer(0), .integer(-1), .integer(1 << 53 + 1), .integer(1), .integer(255)]
        let reals: [Value] = [
            .real(-0.0), .real(0), .real(.leastNonzeroMagnitude), .real(-.leastNonzeroMagnitude), .real(.leastNormalMagnitude), .real(.greatestFiniteMagnitude),
            .real(0.1 + 0.2), .null,
        ]
        let documents: [Value] = [.json("{}"), .json("null"), .json("12"), .json("\"\""), .json("[1, 2]"), .json(" 1.50 "), .null, .json("true")]
        let blobs: [Value] = [
            .blob([]), .blob([0]), .blob([0xFF, 0, 0xFE]), .blob(Array("text".utf8)), .null, .blob(Array("1".utf8)), .blob([UInt8](0...255)), .blob([0x27]),
        ]
        let flags: [Value] = [.integer(0), .integer(1), .null, .integer(0), .integer(1), .null, .integer(0), .integer(1)]
        return (0..<8).map { [.integer(Int64($0)), texts[$0], integers[$0], reals[$0], documents[$0], blobs[$0], flags[$0]] }
    }()

    @Test func everyValueIsStoredByteForByte() throws {
        let scene = try LocalScene(table)
        let schema = try everyKind()
        try scene.replace(schema, by: values)
        // What our reader finds: a JSON column's text comes back as JSON, and SQLite keeps no -0.0 apart from 0.0.
        let expected = values.map { $0.map { $0 == .real(-0.0) ? .real(0) : $0 } }
        #expect(try scene.rows(of: schema) == expected)

        // The same rows, put in by sqlite3 from literals, are the same to the byte in sqlite3's eyes.
        let literals = values.map { "(" + $0.map(\.sql).joined(separator: ", ") + ")" }.joined(separator: ",\n")
        let independent = SQLiteShell("other.db", in: scene.scratch.path)
        try independent.run("\(table); INSERT INTO items VALUES \(literals);")
        #expect(try scene.app.values(of: "items", orderedBy: "id") == independent.values(of: "items", orderedBy: "id"))
    }

    @Test(arguments: UInt64(1)...30) func randomValuesComeBackToTheBit(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        func bytes() -> [UInt8] { (0..<random.below(40)).map { _ in UInt8(truncatingIfNeeded: random.next()) } }
        func letters() -> [UInt8] { (0..<random.below(40)).map { _ in UInt8(random.below(128)) } }
        func cell(_ column: Int) -> Value {
            if random.happens(percent: 15) { return .null }
            switch column {
            case 1: return .text(letters())
            case 2: return .integer(Int64(bitPattern: random.next()) >> Int64(random.below(64)))
            case 3:
                let value = Double(bitPattern: random.next())
                return .real(value.isFinite && value != 0 ? value : 1)
            case 4: return .json("[\(random.below(1000))]")
            case 5: return .blob(bytes())
            default: return .integer(Int64(random.below(2)))
            }
        }
        let rows = (0..<random.below(60)).map { number in [.integer(Int64(number))] + (1...6).map(cell) }
        let scene = try LocalScene(table)
        let schema = try everyKind()
        try scene.replace(schema, by: rows.shuffled(using: &random))
        #expect(try scene.rows(of: schema) == rows)
    }

    @Test(arguments: [
        ("name TEXT NOT NULL", [[Value.text("c"), .text("x")], [.text("d"), .null]]),
        ("name TEXT UNIQUE", [[.text("c"), .text("x")], [.text("d"), .text("x")]]),
        ("name TEXT CHECK(length(name) < 3)", [[.text("c"), .text("x")], [.text("d"), .text("secret")]]),
        ("name TEXT", [[.text("c"), .text("x")], [.text("c"), .text("secret")]]),
        // A table that would rather drop rows, or others' rows, than fail.
        ("name TEXT UNIQUE ON CONFLICT IGNORE", [[.text("c"), .text("x")], [.text("d"), .text("x")]]),
        ("name TEXT UNIQUE ON CONFLICT REPLACE", [[.text("c"), .text("x")], [.text("d"), .text("x")]]),
        ("name TEXT NOT NULL ON CONFLICT IGNORE", [[.text("c"), .text("x")], [.text("d"), .null]]),
    ])
    func aRowThatTheTableRefusesUndoesEverything(column: String, rows: [[Value]]) throws {
        let scene = try LocalScene("CREATE TABLE items(id TEXT PRIMARY KEY, \(column)); INSERT INTO items VALUES('a', 'b1'), ('b', 'b2')")
        let before = try scene.app.dump()
        let error = try #require(throws: SyncError.self) { try scene.replace(namedItems(), by: rows) }
        #expect(error.database == (column.contains("NOT NULL") ? .schemaMismatch : .badRow))
        #expect(error.place.hasSuffix("table items, entity 1") || column.contains("ON CONFLICT") && error.reason.contains("2 entities"))
        #expect(!error.description.contains("secret"))
        #expect(try scene.app.dump() == before)
        // The connection is of use afterwards.
        try scene.replace(namedItems(), by: [rows[0]])
        #expect(try scene.rows(of: namedItems()) == [rows[0]])
    }

    @Test func aTextKeyForAnIntegerKeyIsRefused() throws {
        let scene = try LocalScene("CREATE TABLE items(id INTEGER PRIMARY KEY, name TEXT)")
        let error = try #require(throws: SyncError.self) { try scene.replace(namedItems(), by: [[.text("secret"), .null]]) }
        #expect(error.database == .schemaMismatch)
        #expect(!error.description.contains("secret"))
    }

    @Test(arguments: ["DATETIME", "NUMERIC", "INTEGER", "REAL", "STRING"]) func textThatTheColumnWouldTurnIntoANumberIsRefused(declared: String) throws {
        for text in ["007", "1e3", "+5", " 12 ", ".5", "5.", "-0", "9223372036854775808", "1E+2"] {
            let scene = try LocalScene("CREATE TABLE items(id TEXT PRIMARY KEY, name \(declared)); INSERT INTO items VALUES('a', 'b')")
            let error = try #require(throws: SyncError.self, "\(text)") { try scene.replace(namedItems(), by: [[.text("c"), .text(text)]]) }
            #expect(error.database == .schemaMismatch)
            #expect(error.reason.contains("name"))
            #expect(!error.reason.contains(text))
            #expect(try scene.app.run("SELECT * FROM items") == "a|b\n")
        }
        let kept = ["2026-01-02T03:04:05Z", "2026-01-02", "", " ", "abc", "0x10", "1 2", "Infinity", "nan", "1e", "e5", "+", ".", "1\u{0}", "1_000", "1.2.3"]
        let scene = try LocalScene("CREATE TABLE items(id TEXT PRIMARY KEY, name \(declared))")
        let rows = kept.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.map { [Value.text("k\($0)"), .text($0)] }
        try scene.replace(namedItems(), by: rows)
        #expect(try scene.rows(of: namedItems()) == rows)
    }

    @Test func rowsOfOneRangeAreDeletedAndNoOthers() throws {
        let scene = try LocalScene("CREATE TABLE items(id TEXT PRIMARY KEY, name TEXT)")
        let schema = try namedItems()
        let keys = ["", "a", "aa", "b", "c", "é"]
        for (first, next) in [(nil, nil), (nil, "aa"), ("aa", "c"), ("c", nil), ("aa", "aa"), ("x", "a"), ("", "a")] as [(String?, String?)] {
            try scene.replace(schema, by: keys.map { [.text($0), .null] })
            let range = KeyRange(number: 0, first: first.map { EntityKey($0) }, next: next.map { EntityKey($0) })
            try scene.database.write { try $0.rows.deleteEntities(of: schema, in: range) }
            let left = keys.map { EntityKey($0) }.filter { key in !(first.map { EntityKey($0) <= key } ?? true && next.map { key < EntityKey($0) } ?? true) }
            #expect(try scene.rows(of: schema).map { $0[0] } == left.map { key in if case .text(let bytes) = key { .text(bytes) } else { .null } })
        }
    }

    @Test func anApplicationsTriggerThatRefusesADeletionIsNoFailureOfTheDisk() throws {
        let scene = try LocalScene(
            """
            CREATE TABLE items(id TEXT PRIMARY KEY, name TEXT); INSERT INTO items VALUES('a', 'b');
            CREATE TRIGGER keep BEFORE DELETE ON items BEGIN SELECT raise(ABORT, 'never delete'); END;
            """)
        let schema = try namedItems()
        for attempt in [{ _ = try $0.rows.replaceAll(of: schema) }, { try $0.rows.deleteEntities(of: schema, in: KeyRange(number: 0, first: nil, next: nil)) }]
            as [(LocalTransaction) throws -> Void]
        {
            let error = try #require(throws: SyncError.self) { try scene.database.write(attempt) }
            #expect(error.database == .badRow)
        }
        #expect(try scene.app.run("SELECT * FROM items") == "a|b\n")
    }
}
