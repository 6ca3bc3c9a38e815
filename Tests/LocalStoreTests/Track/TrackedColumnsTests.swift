import Foundation
import GRDB
@testable import LocalStore
@testable import LocalTables
import SnapshotModel
import StrictText
import TestSupport
import Testing

/// Which columns a tracked change says were changed, and when.
@Suite struct TrackedColumnsTests {
    @Test(
        arguments: [
            ("UPDATE t SET a = 'x' WHERE id = 'k'", "k: a"), ("UPDATE t SET a = 'x', b = 'x' WHERE id = 'k'", "k: a b"),
            ("UPDATE t SET a = a, b = b WHERE id = 'k'", ""), ("UPDATE t SET a = 'x'; UPDATE t SET a = 'a'", "k: a, l: a"),
            // An ORM sets every column.
            ("UPDATE t SET id = 'k', a = 'a', b = 'b', c = 'c', d = 'x', e = 'e', f = 'f', at = at WHERE id = 'k'", "k: d"),
            ("UPDATE t SET id = 'k', a = 'x', b = 'b', c = 'c', d = 'd', e = 'e', f = 'x', at = at WHERE id = 'k'", "k: a f"),
            // REPLACE of a row changes the columns that differ.
            ("REPLACE INTO t VALUES('k', 'a', 'b', 'c', 'd', 'e', 'f', '2026-01-01T00:00:00Z')", ""),
            ("REPLACE INTO t VALUES('k', 'a', 'B', 'c', 'd', 'e', 'F', '2026-01-01T00:00:00Z')", "k: b f"),
            ("REPLACE INTO t VALUES('n', 'a', 'b', 'c', 'd3', 'e', 'f', NULL)", "n: all"),
            ("REPLACE INTO t VALUES('k', NULL, 'b', 'c', 'd', 'e', 'f', NULL)", "k: a at"),
            // It also removes the row with its UNIQUE value.
            ("UPDATE t SET d = 'own' WHERE id = 'l'; REPLACE INTO t VALUES('k', 'a', 'b', 'c', 'own', 'e', 'f', '2026-01-01T00:00:00Z')", "k: d, l: deleted"),
            ("UPDATE t SET d = 'own' WHERE id = 'l'; UPDATE OR REPLACE t SET d = 'own' WHERE id = 'k'", "k: d, l: deleted"),
            ("INSERT OR IGNORE INTO t(id, a) VALUES('k', 'x'), ('n', 'x')", "n: all"),
            ("INSERT OR IGNORE INTO t(id, a) VALUES('k', 'x'); DELETE FROM t WHERE id = 'k'; INSERT INTO t(id, a) VALUES('k', 'a')", "k: all"),
            ("INSERT INTO t(id, a) VALUES('k', 'x'), ('n', 'n') ON CONFLICT(id) DO UPDATE SET a = excluded.a", "k: a, n: all"),
            ("INSERT INTO t(id, a) VALUES('k', 'a') ON CONFLICT(id) DO UPDATE SET a = excluded.a", ""),
            ("UPDATE t SET id = 'z' WHERE id = 'k'", "k: deleted, z: all"), ("UPDATE t SET id = 'z', a = 'x' WHERE id = 'k'", "k: deleted, z: all"),
            ("UPDATE OR REPLACE t SET id = 'l', c = 'x' WHERE id = 'k'", "k: deleted, l: c d at"),
            ("DELETE FROM t WHERE id = 'k'", "k: deleted"), ("DELETE FROM t; INSERT INTO t(id) VALUES('k')", "k: all, l: deleted"),
            ("INSERT INTO t(id) VALUES('n'); UPDATE t SET a = 'x' WHERE id = 'n'", "n: all"),
            ("UPDATE t SET b = 'x' WHERE id = 'k'; REPLACE INTO t SELECT id, 'x', b, c, d, e, f, at FROM t WHERE id = 'k'", "k: a b"),
            ("BEGIN; DELETE FROM t; ROLLBACK", ""), ("CREATE TABLE other(x); INSERT INTO other VALUES(1)", ""),
            ("UPDATE OR IGNORE t SET d = 'd2' WHERE id = 'k'", ""), ("INSERT OR IGNORE INTO t(id, d) VALUES('n', 'd2')", ""),
            ("PRAGMA recursive_triggers = ON; REPLACE INTO t VALUES('k', 'x', 'b', 'c', 'd', 'e', 'f', NULL)", "k: all"),
        ])
    func everyStatementSaysWhichColumnsItChanged(sql: String, expected: String) throws {
        for end in ["", " WITHOUT ROWID"] {
            let table = try TrackedTable(
                "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, a, b, c, d UNIQUE, e, f, at TEXT)\(end)", key: ["id"], timestamp: "at",
                ["id", "a", "b", "c", "d", "e", "f", "at"])
            try table.settle("INSERT INTO t VALUES('k', 'a', 'b', 'c', 'd', 'e', 'f', '2026-01-01T00:00:00Z'), ('l', 'a', 'b', 'c', 'd2', 'e', 'f', NULL)")
            #expect(try table.changes(sql) == expected, "\(end)")
        }
    }

    @Test func textsAreComparedByTheirBytes() throws {
        let table = try TrackedTable(
            "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, a TEXT COLLATE NOCASE, b, c TEXT COLLATE RTRIM)", key: ["id"], ["id", "a", "b", "c"])
        try table.settle("INSERT INTO t VALUES('k', 'a', 1, 'c')")
        #expect(try table.changes("UPDATE t SET a = 'a', c = 'c'") == "")
        #expect(try table.changes("UPDATE t SET c = 'c  '") == "k: c")
        #expect(try table.changes("UPDATE t SET a = 'A'") == "k: a")
        // Another spelling of a key is not another key.
        #expect(try table.changes("UPDATE t SET id = 'K'") == "k: id")
        #expect(try table.changes("REPLACE INTO t VALUES('k', 'A', 1, 'c  ')") == "k: id")
        #expect(try table.changes("UPDATE t SET b = 1.0") == "k: b")
        #expect(try table.changes("UPDATE t SET b = '1'") == "k: b")
        // Another text of the triggers would replace them in every database, and the next run would compare all rows.
        let sql = try table.application.read { try String.fetchAll($0, sql: "SELECT sql FROM sqlite_schema WHERE name GLOB 'snapsync_t_update*'").joined() }
        #expect(sql.contains("NEW.\"a\" COLLATE BINARY IS NOT") && sql.contains("NEW.\"b\" IS NOT OLD.\"b\""), "\(sql)")
    }

    @Test func keysOfSeveralColumnsAndOfNone() throws {
        let pairs = try TrackedTable("CREATE TABLE t(x INTEGER, y TEXT, a, b, PRIMARY KEY(x, y))", key: ["x", "y"], ["x", "y", "a", "b"])
        try pairs.settle("INSERT INTO t VALUES(1, 'p', 'a', 'b'), (2, 'p', 'a', 'b')")
        #expect(try pairs.changes("UPDATE t SET b = 'x', x = x WHERE x = 1") == #"(1, "p"): b"#)
        #expect(try pairs.changes("REPLACE INTO t VALUES(2, 'p', 'x', 'b')") == #"(2, "p"): a"#)
        #expect(try pairs.changes("UPDATE t SET x = 3 WHERE x = 1") == #"(1, "p"): deleted, (3, "p"): all"#)
        let hidden = try TrackedTable("CREATE TABLE t(a, b)", key: ["rowid"], ["rowid", "a", "b"])
        try hidden.settle("INSERT INTO t VALUES('a', 'b'), ('a', 'b')")
        #expect(try hidden.changes("UPDATE t SET b = 'x' WHERE rowid = 2") == "2: b")
        #expect(try hidden.changes("REPLACE INTO t(rowid, a, b) VALUES(1, 'x', 'b')") == "1: a")
    }

    @Test func manyColumns() throws {
        let names = (0..<150).map { "c\($0)" }
        let table = try TrackedTable("CREATE TABLE t(id INTEGER PRIMARY KEY, \(names.joined(separator: ", ")))", key: ["id"], ["id"] + names)
        try table.settle("INSERT INTO t(id, c0) VALUES(1, 'a'), (2, 'b')")
        #expect(try table.changes("UPDATE t SET \(names.map { "\($0) = \($0)" }.joined(separator: ", "))") == "")
        #expect(try table.changes("UPDATE t SET c0 = 'x', c3 = 'x', c61 = 'x', c62 = 'x', c149 = 'x' WHERE id = 1") == "1: c0 c3 c61 c62 c149")
        #expect(try table.changes("REPLACE INTO t(id, c0, c59, c63, c149) VALUES(2, 'b', 'x', 'x', 'x')") == "2: c59 c63 c149")
    }

    @Test func columnsOfOneConstraintChangeTogether() throws {
        let table = try TrackedTable(
            """
            CREATE TABLE p(x, y, PRIMARY KEY(x, y));
            CREATE TABLE t(id INTEGER PRIMARY KEY, low INT, high INT CHECK(t.low <= "high"), list INT, place INT, x, y, note CHECK(length(note) < 100), title,
                folded GENERATED ALWAYS AS (lower(title) || note), UNIQUE(list, place), FOREIGN KEY(x, y) REFERENCES p(x, y), UNIQUE(id, note), UNIQUE(folded))
            """, key: ["id"], ["id", "low", "high", "list", "place", "x", "y", "note", "title"])
        try table.settle("INSERT INTO p VALUES(1, 1), (1, 2); INSERT INTO t VALUES(1, 1, 2, 1, 1, 1, 1, 'n', 't')")
        #expect(try table.changes("UPDATE t SET low = 0") == "1: low high")
        #expect(try table.changes("UPDATE t SET place = 2") == "1: list place")
        #expect(try table.changes("UPDATE t SET y = 2") == "1: x y")
        #expect(try table.changes("UPDATE t SET note = 'm'") == "1: note title")
        #expect(try table.changes("UPDATE t SET high = 3, x = 1, y = 1") == "1: low high x y")
    }

    @Test func earlierAndLaterEditsOfARowKeepTheirInstants() throws {
        let table = try TrackedTable("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c, d, e, f)", key: ["id"], ["id", "a", "b", "c", "d", "e", "f"])
        try table.settle("INSERT INTO t VALUES(1, 0, 0, 0, 0, 0, 0)")
        try table.run("DELETE FROM snapsync_instants")
        try table.run("UPDATE t SET a = 1, f = 1; UPDATE snapsync_log SET clock = 1000")
        // Between two runs, or across one.
        for consolidates in [false, true] {
            if consolidates { try table.consolidate() }
            try table.run("UPDATE t SET b = b + 1, f = f + 1; UPDATE snapsync_log SET clock = 2000 + \(consolidates ? 1000 : 0) WHERE clock > 5000")
        }
        try table.consolidate()
        let change = try #require(try table.change(.integer(1)))
        func at(_ milliseconds: Int64) -> Instant { Instant(microseconds: milliseconds * 1000) }
        #expect(change.columns == .some([1: at(1000), 2: at(3000), 6: at(3000)]) && change.instant == at(3000) && change.born == nil)
        // An edit of the first millisecond again comes after what it replaces.
        try table.run("UPDATE t SET c = 1; UPDATE snapsync_log SET clock = 1000 WHERE clock > 5000")
        try table.consolidate()
        #expect(try table.change(.integer(1))?.columns == .some([1: at(1000), 2: at(1000), 3: at(1000), 6: at(1000)]))
    }

    @Test func aRowKnowsWhenItWasInsertedHere() throws {
        let table = try TrackedTable("CREATE TABLE t(id INTEGER PRIMARY KEY, a)", key: ["id"], ["id", "a"])
        try table.settle("INSERT INTO t VALUES(1, 0)")
        try table.run("INSERT INTO t VALUES(2, 0); UPDATE snapsync_log SET clock = 1000; UPDATE t SET a = 1")
        try table.consolidate()
        #expect(try table.change(.integer(1))?.born == nil)
        #expect(try table.change(.integer(2))?.born == Instant(microseconds: 1_000_000))
        // A row that is deleted and inserted again is the same row.
        try table.run("DELETE FROM t; INSERT INTO t VALUES(1, 1), (2, 2)")
        try table.consolidate()
        #expect(try table.change(.integer(1)).map { $0.born == nil && $0.columns == .all } == true)
        #expect(try table.change(.integer(2))?.born == Instant(microseconds: 1_000_000))
    }

    @Test func droppedAndRenamedColumnsOfTheApplication() throws {
        let table = try TrackedTable(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b TEXT, c TEXT, d INT, e, f)", key: ["id"], ["id", "a", "b", "c", "d", "e", "f"])
        try table.settle("INSERT INTO t VALUES(1, 1, 1, 1, 1, 1, 1)")
        try table.run("ALTER TABLE t DROP COLUMN b; ALTER TABLE t DROP COLUMN f")
        #expect(try table.changes("UPDATE t SET a = 2") == "1: a")
        #expect(try table.changes("REPLACE INTO t VALUES(1, 2, 1, 2, 1)") == "1: d")
        try table.run("ALTER TABLE t RENAME COLUMN c TO renamed")
        try table.run("UPDATE t SET renamed = 2")
        #expect(try table.application.read { try Int.fetchAll($0, sql: "SELECT changed FROM snapsync_log WHERE dataset > 0") } == [8])
    }

    @Test func anotherDescriptionKeepsTheChangedColumns() throws {
        let table = try TrackedTable("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c, d)", key: ["id"], ["id", "a", "b", "c"])
        try table.settle("INSERT INTO t VALUES(1, 1, 1, 1, 1), (2, 1, 1, 1, 1)")
        try table.run("UPDATE t SET a = 2, c = 2 WHERE id = 1; UPDATE t SET b = 2 WHERE id = 2")
        let after = try table.schema(["id", "d", "c", "b"])
        // No row is held, so nothing is read with it.
        let codec = EntityCodec(text: { _, _ in "" }, values: { _, _ in [] })
        try table.database.write { try $0.transition.adopt(table.schema, as: after, publishes: true, codec: codec) }
        let changes = try table.database.read { try $0.changeLog.changes(of: after, in: KeyRange(number: 0, first: nil, next: nil)) }
        #expect(changes.map { TrackedTable.text($0, after) } == ["1: c", "2: b"])
    }

    @Test func anApplicationsTriggersThatWriteTheSameRow() throws {
        for recursion in ["OFF", "ON"] {
            let table = try TrackedTable("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c, d, e, f)", key: ["id"], ["id", "a", "b", "c", "d", "e", "f"])
            try table.settle("INSERT INTO t VALUES(1, 1, 1, 1, 1, 1, 1)")
            try table.run(
                """
                CREATE TRIGGER own AFTER UPDATE OF a ON t BEGIN UPDATE t SET f = f + 1 WHERE id = NEW.id; END;
                CREATE TRIGGER fresh AFTER INSERT ON t BEGIN UPDATE t SET e = 'own' WHERE id = NEW.id; END;
                """)
            #expect(try table.changes("PRAGMA recursive_triggers = \(recursion); UPDATE t SET a = 2, b = 1") == "1: a f")
            #expect(try table.changes("INSERT INTO t(id) VALUES(2)") == "2: all")
            #expect(try table.database.read { try $0.changeLog.change(of: .integer(2), in: table.schema)?.born } == nil)
            try table.run("INSERT INTO t(id) VALUES(3)")
            try table.consolidate()
            #expect(try table.change(.integer(3)).map { $0.isInVersion == false && $0.born != nil } == true)
        }
    }

    @Test func anActOfTheToolkitSaysWhichColumnsItChanged() throws {
        let table = try TrackedTable("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c, d, e, f)", key: ["id"], ["id", "a", "b", "c", "d", "e", "f"])
        try table.run("CREATE TABLE other(x); CREATE TRIGGER own AFTER UPDATE ON t BEGIN INSERT INTO other VALUES(1); END")
        try table.settle("INSERT INTO t VALUES(1, 1, 1, 1, 1, 1, 1), (2, 1, 1, 1, 1, 1, 1)")
        let acts = "UPDATE t SET f = 2 WHERE id = 1; DELETE FROM t WHERE id = 2; INSERT INTO t(id) VALUES(3)"
        try table.database.write { transaction in
            try transaction.tracking.changing([table.schema]) { try transaction.db.execute(sql: acts) }
        }
        #expect(try table.changes("") == "1: f, 2: deleted, 3: all")
    }

    /// A history of statements on a few rows against a model that compares whole rows before and after each statement.
    @Test(arguments: UInt64(0)..<60) func randomStatements(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let names = (0..<9).map { "c\($0)" }
        let table = try TrackedTable(
            "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL\(["", " COLLATE NOCASE"][random.below(2)]), c0 UNIQUE, \(names.dropFirst().joined(separator: ", ")))\(["", " WITHOUT ROWID"][random.below(2)])",
            key: ["id"], ["id"] + names)
        let folded = table.folds ? "lower(id)" : "id"
        func rows() throws -> [String: [DatabaseValue]] {
            try table.application.read { db in
                try Dictionary(uniqueKeysWithValues: Row.fetchAll(db, sql: "SELECT \(folded), * FROM t").map { ($0[0], Array($0.databaseValues.dropFirst())) })
            }
        }
        for key in ["a", "b", "c"] { try? table.run("INSERT INTO t VALUES('\(key)', '\(key)', 1, 1, 1, 1, 1, 1, 1, 1)") }
        for _ in 0..<4 {
            try table.settle("")
            // The columns that changed, and whether the row was deleted or inserted.
            var changed: [String: Set<Int>] = [:], whole: Set<String> = []
            let first = try rows()
            for _ in 0..<(1 + random.below(5)) {
                let before = try rows()
                let key = ["a", "b", "c", "d"][random.below(4)], other = ["a", "b", "c", "A"][random.below(4)]
                let sets = (0..<(1 + random.below(9))).map { _ in names.randomElement(using: &random) ?? "c1" }
                let values = names.map { $0 == "c0" ? "'\(["a", "b", "c", "x"][random.below(4)])'" : "\(random.below(2))" }
                let set = Set(sets).map { "\($0) = \($0 == "c0" ? values[0] : "\(random.below(3))")" }.joined(separator: ", ")
                let sql =
                    switch random.below(7) {
                    case 0: "UPDATE OR IGNORE t SET \(set) WHERE id = '\(key)'"
                    case 1: "UPDATE OR REPLACE t SET \(set) WHERE id = '\(key)'"
                    case 2: "INSERT OR REPLACE INTO t VALUES('\(key)', \(values.joined(separator: ", ")))"
                    case 3: "INSERT OR IGNORE INTO t VALUES('\(key)', \(values.joined(separator: ", ")))"
                    case 4: "DELETE FROM t WHERE id = '\(key)'"
                    case 5: "UPDATE OR REPLACE t SET id = '\(other)' WHERE id = '\(key)'"
                    default: "INSERT INTO t VALUES('\(key)', \(values.joined(separator: ", "))) ON CONFLICT(id) DO UPDATE SET \(set)"
                    }
                try? table.run(sql)
                let after = try rows()
                for key in Set(before.keys).union(after.keys) {
                    if let old = before[key], let new = after[key] {
                        changed[key, default: []].formUnion(old.indices.filter { old[$0] != new[$0] })
                    } else {
                        whole.insert(key)
                    }
                }
            }
            try table.consolidate()
            let found = try table.all()
            for change in found {
                let key = TrackedTable.text(change.key)
                switch change.columns {
                case .all: #expect(whole.contains(key), "seed \(seed), \(key)")
                case .some(let columns):
                    // A row that takes the key of another one also has the columns that differ from what it was.
                    #expect(!whole.contains(key) && changed[key]?.isSubset(of: Set(columns.keys)) == true, "seed \(seed), \(key)")
                }
            }
            // Rows that are in neither leave nothing.
            let tracked = Set(found.map { TrackedTable.text($0.key) }), last = try rows()
            let wanted = whole.union(changed.filter { !$0.value.isEmpty }.keys).filter { first[$0] != nil || last[$0] != nil }
            #expect(tracked.isSuperset(of: wanted), "seed \(seed)")
        }
    }
}

/// A table with tracking, and a connection of another program to it.
private struct TrackedTable {
    private let scratch: ScratchDirectory
    let schema: DatasetSchema
    let database: LocalDatabase
    let application: DatabaseQueue
    private let keys: [String]
    private let timestamp: String?
    let folds: Bool

    init(_ sql: String, key: [String], timestamp: String? = nil, _ columns: [String]) throws {
        scratch = try ScratchDirectory()
        let path = scratch.path("t.db")
        application = try DatabaseQueue(path: path)
        try application.write { try $0.execute(sql: sql) }
        database = try LocalDatabase(path: path)
        (keys, self.timestamp, self.folds) = (key, timestamp, sql.contains("NOT NULL COLLATE NOCASE"))
        schema = try Self.schema(columns, key, timestamp, self.folds)
        try database.write { transaction in
            _ = try transaction.tracking.install([schema])
            try transaction.initialize(
                SyncSettings(
                    cloud: "/cloud", cloudUUID: "3f0c1c1e-0000-4000-8000-000000000001", scope: "private", zone: "Zone", role: .writer, device: "desk-1",
                    datasets: [schema], replacesOwnRows: false))
        }
    }

    func schema(_ columns: [String]) throws -> DatasetSchema { try Self.schema(columns, keys, timestamp, folds) }

    private static func schema(_ columns: [String], _ keys: [String], _ timestamp: String?, _ folds: Bool) throws -> DatasetSchema {
        try DatasetSchema(
            name: "t", table: "t", keys: keys, timestamp: timestamp,
            columns: columns.map { DatasetColumn($0, isOptional: !keys.contains($0), collation: folds && $0 == "id" ? .nocase : .binary) })
    }

    func run(_ sql: String) throws { try application.inDatabase { try $0.execute(sql: sql) } }

    func consolidate() throws { try database.write { try $0.changeLog.consolidate(of: [schema]) } }

    /// Runs SQL. What is there afterwards is the version.
    func settle(_ sql: String) throws {
        try run(sql)
        try database.write { transaction in
            try transaction.changeLog.consolidate(of: [schema])
            try transaction.changeLog.acknowledge(of: schema, upTo: transaction.changeLog.lastEntry())
        }
    }

    func all() throws -> [TrackedChange] { try database.read { try $0.changeLog.changes(of: schema, in: KeyRange(number: 0, first: nil, next: nil)) } }

    func change(_ key: EntityKey) throws -> TrackedChange? { try database.read { try $0.changeLog.change(of: key, in: schema) } }

    /// What the tracked changes say after SQL ran. What is there afterwards is the version.
    func changes(_ sql: String) throws -> String {
        try run(sql)
        try consolidate()
        defer { try? settle("") }
        return try all().map { Self.text($0, schema) }.joined(separator: ", ")
    }

    static func text(_ change: TrackedChange, _ schema: DatasetSchema) -> String {
        guard !change.isDeletion else { return "\(text(change.key)): deleted" }
        guard case .some(let columns) = change.columns else { return "\(text(change.key)): all" }
        return "\(text(change.key)): \(columns.keys.sorted().map { schema.columns[$0].name }.joined(separator: " "))"
    }

    static func text(_ key: EntityKey) -> String {
        switch key {
        case .integer(let value): return "\(value)"
        case .text(let bytes): return String(decoding: bytes, as: UTF8.self)
        default: return "\(key)"
        }
    }
}
