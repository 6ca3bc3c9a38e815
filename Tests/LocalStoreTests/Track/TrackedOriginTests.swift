import Foundation
import GRDB
import LocalStore
import LocalTables
import SnapshotModel
import StrictText
import TestSupport
import Testing

/// What tracked changes say of the version that they were made on: how many entities come and go is known without counting rows.
@Suite struct TrackedOriginTests {
    private let things: TrackedThings
    private var schema: DatasetSchema { things.schema }
    private var database: LocalDatabase { things.database }
    private var application: DatabaseQueue { things.application }

    init() throws {
        things = try TrackedThings(
            "CREATE TABLE things(id TEXT PRIMARY KEY NOT NULL, changed TEXT, slot INTEGER UNIQUE)",
            schema: DatasetSchema(
                name: "things", table: "things", keys: ["id"], timestamp: "changed",
                columns: [DatasetColumn("id", .text), DatasetColumn("changed", .text, isOptional: true), DatasetColumn("slot", .integer, isOptional: true)]),
            rows: "('a', '2026-01-01T00:00:00Z', 1), ('b', NULL, 2), ('c', 'not a time', 3)")
    }

    private func settle() throws { try things.settle() }

    private func keys() throws -> Set<String> { try application.read { try Set(String.fetchAll($0, sql: "SELECT id FROM things")) } }

    /// Folds what was noted, and says of each tracked key whether the version has it.
    private func origins() throws -> [String: Bool?] {
        try database.write { try $0.changeLog.consolidate(of: [schema]) }
        let changes = try database.read { try $0.changeLog.changes(of: schema, in: KeyRange(number: 0, first: nil, next: nil)) }
        return Dictionary(uniqueKeysWithValues: changes.map { (Self.text($0.key), $0.isInVersion) })
    }

    private static func text(_ key: EntityKey) -> String {
        guard case .text(let bytes) = key else { return "\(key)" }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(
        arguments: [
            ("INSERT INTO things VALUES('d', NULL, 4)", ["d": false]),
            ("INSERT OR REPLACE INTO things VALUES('a', NULL, 1), ('d', NULL, 4)", ["a": true, "d": false]),
            // What is replaced has a timestamp that is none, or NULL.
            ("INSERT OR REPLACE INTO things VALUES('b', NULL, 5), ('c', NULL, 6)", ["b": true, "c": true]),
            ("INSERT OR REPLACE INTO things VALUES('d', NULL, 2)", ["b": true, "d": false]),
            ("INSERT OR IGNORE INTO things VALUES('a', NULL, 9), ('d', NULL, 4)", ["d": false]),
            ("INSERT INTO things VALUES('a', NULL, 1), ('d', NULL, 4) ON CONFLICT(id) DO UPDATE SET slot = 9", ["a": true, "d": false]),
            ("UPDATE things SET id = 'z' WHERE id = 'a'", ["a": true, "z": false]),
            ("UPDATE OR REPLACE things SET id = 'b' WHERE id = 'a'", ["a": true, "b": true]),
            ("DELETE FROM things WHERE id = 'a'", ["a": true]),
            // Nobody else has the row.
            ("INSERT INTO things VALUES('d', NULL, 4); DELETE FROM things WHERE id = 'd'", [:]),
            ("INSERT INTO things VALUES('d', NULL, 4); DELETE FROM things WHERE id = 'd'; INSERT INTO things VALUES('d', NULL, 5)", ["d": false]),
            // An application's own trigger may do the same to a row that is new.
            ("DELETE FROM things WHERE id = 'a'; INSERT INTO things VALUES('a', NULL, 1)", ["a": nil]),
        ] as [(String, [String: Bool?])])
    func everyStatementSaysWhetherTheVersionHasTheKey(sql: String, expected: [String: Bool?]) throws {
        try application.write { try $0.execute(sql: sql) }
        #expect(try origins() == expected)
    }

    @Test func ignoredRowsLeaveNothing() throws {
        try application.write { db in
            for number in 0..<100 { try db.execute(sql: "INSERT INTO things VALUES('x\(number)', NULL, \(100 + number))") }
        }
        try settle()
        try application.write { db in
            try db.execute(
                sql:
                    "INSERT OR IGNORE INTO things SELECT * FROM things WHERE id LIKE 'x%'; INSERT INTO things VALUES('d', NULL, 4); DELETE FROM things WHERE id = 'a'"
            )
        }
        #expect(try origins() == ["d": false, "a": true])
    }

    @Test func whatAComparisonNotesIsUncertain() throws {
        try database.write { transaction in
            try transaction.changeLog.record(EntityKey("d"), of: schema, as: .compared, replacing: nil, at: .now)
            try transaction.changeLog.record(EntityKey("a"), of: schema, as: .compared, replacing: nil, at: .now)
        }
        #expect(try database.read { try $0.changeLog.summary(of: schema).count } == 2)
        #expect(try origins() == ["d": nil, "a": nil])
    }

    @Test func notesFromBeforeTheTrackingWasCompleteAreUncertain() throws {
        try database.write { try $0.tracking.setIncomplete(of: schema) }
        try application.write { try $0.execute(sql: "INSERT INTO things VALUES('d', NULL, 4)") }
        _ = try origins()
        try application.write { try $0.execute(sql: "DELETE FROM things WHERE id = 'a'") }
        try database.write { try $0.tracking.regainCompleteness(of: schema, differing: [], absent: nil) }
        #expect(try origins() == ["d": false, "a": nil])
        try database.write { try $0.tracking.regainCompleteness(of: schema, differing: [], absent: [EntityKey("d")]) }
        #expect(try origins() == ["d": false, "a": nil])
    }

    /// An application's own triggers, made before and after ours, fire between a statement and our note of it.
    @Test(arguments: UInt64(1)...120) func randomStatementsNeverSayWhatIsNotSo(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let before = try keys()
        let own = [
            "", "CREATE TRIGGER own AFTER INSERT ON things BEGIN UPDATE things SET changed = '2026-02-01T00:00:00Z' WHERE id = NEW.id; END",
            "CREATE TRIGGER own BEFORE INSERT ON things WHEN NEW.id <> 'e' BEGIN INSERT OR REPLACE INTO things VALUES('e', NULL, 77); END",
            "CREATE TRIGGER own AFTER INSERT ON things WHEN NEW.slot = 4 BEGIN DELETE FROM things WHERE id = NEW.id; END",
        ][random.below(4)]
        if !own.isEmpty { try application.write { try $0.execute(sql: own) } }
        for _ in 0..<1 + random.below(6) {
            let id = ["a", "b", "c", "d", "e"][random.below(5)], slot = random.below(6)
            let conflict = ["", "OR REPLACE", "OR IGNORE"][random.below(3)]
            let sql = [
                "INSERT \(conflict) INTO things VALUES('\(id)', NULL, \(slot))", "UPDATE \(conflict) things SET slot = \(slot) WHERE id = '\(id)'",
                "UPDATE \(conflict) things SET id = '\(id)' WHERE slot = \(slot)", "DELETE FROM things WHERE slot = \(slot)",
                "INSERT INTO things VALUES('\(id)', NULL, \(slot)) ON CONFLICT(id) DO UPDATE SET slot = excluded.slot",
            ][random.below(5)]
            try? application.write { try $0.execute(sql: sql) }
            if random.happens(percent: 20) { _ = try origins() }
        }
        let said = try origins()
        for case let (key, isInVersion?) in said { #expect(before.contains(key) == isInVersion, "seed \(seed), key \(key)") }
        let after = try keys()
        // What came or went is tracked, so the sum is exact where every origin is known.
        if !said.values.contains(nil) {
            let growth = said.reduce(0) { $0 + (after.contains($1.key) ? 1 : 0) - ($1.value == true ? 1 : 0) }
            #expect(growth == after.count - before.count, "seed \(seed)")
        }
    }
}
