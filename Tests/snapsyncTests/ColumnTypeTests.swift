import Foundation
import TestSupport
import Testing

/// The application changes the type of a column or of the key, or computes a column's values.
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct ColumnTypeTests {
    /// Another device's migration changes a column's type. The hint of the failed import is one command, and it keeps rows, edits, indexes and
    /// triggers, also of the only synced table.
    @Test(arguments: ["reader", "peer"]) func aTypeThatTheZoneChangesIsTakenOverByOneCommand(role: String) throws {
        let scene = try Scene()
        func type(_ name: String) throws -> String { try scene.value("SELECT type FROM pragma_table_info('t') WHERE name = 'v'", in: name) }
        let rest = "id TEXT PRIMARY KEY NOT NULL, \"check\" TEXT DEFAULT 'a, b' CHECK(\"check\" <> ','), UNIQUE(id, v)"
        try scene.database("a.db").run("CREATE TABLE t(v VARCHAR(10, 2) NOT NULL, \(rest)); INSERT INTO t(id, v) VALUES('1', '12'), ('2', 'x'), ('3', '7')")
        try scene.succeed(Scene.setUp("a.db", as: role == "peer" ? "peer" : "writer", "--name a"))
        try scene.succeed("sync a.db")
        try scene.succeed(Scene.join("b.db", as: role, "--name b"))
        try scene.succeed("sync b.db")
        try scene.database("a.db").run(
            "CREATE TABLE n(v INTEGER NOT NULL, \(rest)); INSERT INTO n SELECT CAST(v AS INTEGER), id, \"check\" FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t"
        )
        // What was migrated here and is not published yet is not made undone.
        try scene.succeed("tables adopt a.db --create")
        #expect(try type("a.db") == "INTEGER")
        try scene.succeed("sync a.db")
        try scene.database("b.db").run(
            """
            CREATE INDEX of_b ON t(v) WHERE v <> ','; CREATE VIEW of_v AS SELECT v FROM t; CREATE TABLE seen(id);
            CREATE TRIGGER noted AFTER UPDATE ON t BEGIN INSERT INTO seen VALUES(NEW.id); END; INSERT INTO t(id, v) VALUES('new', 'precious');
            UPDATE t SET "check" = 'by b' WHERE id = '3'
            """)
        let objects =
            "SELECT group_concat(type || name || CASE type WHEN 'table' THEN '' ELSE sql END) FROM (SELECT * FROM sqlite_schema WHERE name NOT LIKE 'snapsync%' ORDER BY name)"
        let before = try scene.value(objects, in: "b.db")
        let refused = try scene.run("sync b.db")
        let hint = "as the zone does, unless that would change a key or an edit: snapsync tables adopt b.db --create"
        #expect(refused.status == 78 && refused.errorText.contains(hint), "\(refused.errorText)")
        #expect(try scene.succeed("tables adopt b.db").contains("t: the column v is declared"))
        #expect(try scene.succeed("tables adopt b.db --create").contains("t: the column v is declared INT"))
        #expect(try scene.value(objects, in: "b.db") == before)
        for name in ["b", "a", "b"] { try scene.succeed("sync \(name).db") }
        let all = "SELECT id, v, typeof(v), \"check\" FROM t ORDER BY id"
        #expect(
            try scene.database("b.db").run(all) == "1|12|integer|a, b\n2|0|integer|a, b\n3|7|integer|by b\nnew|precious|text|a, b\n")
        if role == "peer" { #expect(try scene.database("a.db").run(all) == scene.database("b.db").run(all)) }
        for name in ["a", "b"] { try scene.succeed("check \(name).db --local") }
        #expect(try scene.succeed("tables adopt b.db").contains("up to date"))
    }

    /// The hint of a failed import works also if a row of the table that was made anew is missing.
    @Test(arguments: ["reader", "peer"]) func aTypeIsTakenOverWhereARowIsMissing(role: String) throws {
        let scene = try Scene.twoTables(role == "peer" ? "peer" : "writer", role, type: "INTEGER")
        // Words, because the text 1 in place of the number is an edit.
        try scene.database("a.db").run("UPDATE t SET v = CASE id WHEN 'x' THEN 'one' ELSE 'two' END")
        for name in ["a", "b"] { try scene.succeed("sync \(name).db") }
        try scene.database("a.db").run("UPDATE t SET v = 5 WHERE id = 'x'")
        try scene.succeed("sync a.db")
        try scene.database("b.db").run(
            """
            CREATE TABLE z(id TEXT PRIMARY KEY NOT NULL, v TEXT NOT NULL); INSERT INTO z SELECT * FROM t; DROP TABLE t; ALTER TABLE z RENAME TO t;
            INSERT INTO t VALUES('new', 'of b'); DELETE FROM t WHERE id = 'y'
            """)
        #expect(try scene.refused("sync b.db").contains("snapsync tables adopt b.db --create"))
        #expect(try scene.succeed("tables adopt b.db --create").contains("t: the column v is declared INTEGER now"))
        for name in ["b", "a", "b"] { try scene.succeed("sync \(name).db") }
        #expect(try scene.value("SELECT v FROM t WHERE id = 'new'", in: "b.db") == "of b")
        #expect(try scene.value("SELECT v FROM t WHERE id = 'y'", in: "b.db") == "two")
        if role == "peer" { #expect(try scene.rows("a", table: "t") == scene.rows("b", table: "t")) }
        for name in ["a", "b"] { try scene.succeed("check \(name).db --local") }
    }

    /// What the device wrote, and no version has, is not turned into something else. Somebody decides what it becomes.
    @Test(arguments: ["reader", "peer"]) func aTypeThatWouldChangeAnEditIsNotTakenOver(role: String) throws {
        let scene = try Scene.twoTables(role == "peer" ? "peer" : "writer --reader-edits all", role)
        try scene.database("b.db").run("INSERT INTO t VALUES('n', '0123'), ('m', '1e3'), ('w', 'a word')")
        try scene.database("a.db").run(Self.rebuilt("id TEXT PRIMARY KEY NOT NULL, v INTEGER NOT NULL"))
        try scene.succeed("sync a.db")
        #expect(try scene.refused("sync b.db").contains("snapsync tables adopt b.db --create"))
        let before = try scene.database("b.db").run("SELECT sql FROM sqlite_schema WHERE name = 't'; SELECT id, quote(v) FROM t ORDER BY id")
        let said = try scene.refused("tables adopt b.db --create")
        #expect(
            said.contains("the column v is declared INTEGER in the zone, which would change edited values of 2 rows, the first with the key \"m\""), "\(said)")
        #expect(try scene.database("b.db").run("SELECT sql FROM sqlite_schema WHERE name = 't'; SELECT id, quote(v) FROM t ORDER BY id") == before)
        try scene.database("b.db").run("UPDATE t SET v = 'tel ' || v WHERE id IN ('n', 'm')")
        #expect(try scene.succeed("tables adopt b.db --create").contains("t: the column v is declared INTEGER now"))
        for name in ["b", "a", "b"] { try scene.succeed("sync \(name).db") }
        for name in ["a", "b"] {
            #expect(try scene.rows(name, "id, quote(v)", table: "t") == ["m|'tel 1e3'", "n|'tel 0123'", "w|'a word'", "x|1", "y|2"])
            try scene.succeed("check \(name).db --local")
        }
    }

    /// Makes the table `t` anew with other columns.
    private static func rebuilt(_ columns: String, from list: String = "*") -> String {
        "BEGIN; CREATE TABLE z(\(columns)); INSERT INTO z SELECT \(list) FROM t; DROP TABLE t; ALTER TABLE z RENAME TO t; COMMIT"
    }

    /// No version has the values of a generated column, so it leaves the dataset as a dropped one does.
    @Test(arguments: [false, true], ["reader", "peer"]) func aColumnThatIsGeneratedNowIsTakenOut(isRebuilt: Bool, role: String) throws {
        let generated = "v TEXT AS ('of ' || id)"
        let change =
            isRebuilt
            ? Self.rebuilt("id TEXT PRIMARY KEY NOT NULL, \(generated)", from: "id") : "ALTER TABLE t DROP COLUMN v; ALTER TABLE t ADD COLUMN \(generated)"
        let scene = try Scene.twoTables(role == "peer" ? "peer" : "writer", role)
        for name in ["a", "b"] {
            try scene.database("\(name).db").run(change)
            if name == "a" { try scene.database("a.db").run("INSERT INTO o VALUES('1', 'after')") }
            let said = try scene.refused("sync \(name).db")
            #expect(said.contains("the column v is computed now") && said.contains("snapsync tables adopt \(name).db"), "\(said)")
            try scene.succeed("tables adopt \(name).db")
            try scene.succeed("sync \(name).db")
        }
        for name in ["a", "b"] {
            #expect(try scene.rows(name, table: "t") == ["x|of x", "y|of y"])
            #expect(try scene.rows(name, table: "o") == ["1|after"])
            #expect(try scene.succeed("tables adopt \(name).db --create").contains("up to date"))
            try scene.succeed("check \(name).db --local")
        }
    }

    /// The zone has values of it, and this table has no place for them.
    @Test func aColumnThatIsGeneratedOnAReaderAloneIsNotAddedAgain() throws {
        let scene = try Scene.twoTables("writer", "reader")
        try scene.database("b.db").run(Self.rebuilt("id TEXT PRIMARY KEY NOT NULL, v TEXT AS ('of ' || id)", from: "id"))
        #expect(try scene.succeed("tables adopt b.db").contains("the column v is computed now; v is no longer imported here"))
        #expect(try scene.succeed("tables adopt b.db --create").contains("rename or drop the generated column of that name in the table t"))
        try scene.database("a.db").run("INSERT INTO t VALUES('z', '3')")
        for name in ["a", "b"] { try scene.succeed("sync \(name).db") }
        #expect(try scene.rows("b", table: "t") == ["x|of x", "y|of y", "z|of z"])
    }

    /// Other devices' tables do not hold the keys that the new type makes, so the table is another dataset. The steps of the hints run on every device.
    @Test(arguments: ["reader", "peer"]) func aTypeThatChangesKeysIsRefusedWhereItWasMade(role: String) throws {
        let scene = try Scene.twoTables(role == "peer" ? "peer" : "writer", role)
        try scene.database("a.db").run("INSERT INTO t VALUES('7', 'seven')")
        for name in ["a", "b"] { try scene.succeed("sync \(name).db") }
        try scene.database("a.db").run(Self.rebuilt("id INT PRIMARY KEY NOT NULL, v TEXT NOT NULL"))
        for _ in 1...2 {
            let said = try scene.refused("sync a.db")
            #expect(said.contains("the key column id is declared INT here and TEXT in the zone, which would change the keys of 1 row, the first 7"), "\(said)")
            #expect(said.contains("snapsync tables remove a.db t, sync, then snapsync tables add a.db t"), "\(said)")
            // It goes on, whatever else is adopted.
            try scene.succeed("tables adopt a.db")
        }
        for line in ["tables remove a.db t", "sync a.db", "tables add a.db t", "sync a.db"] { try scene.succeed(line) }
        #expect(try scene.refused("sync b.db").contains("snapsync tables adopt b.db --create"))
        let said = try scene.refused("tables adopt b.db --create")
        #expect(said.contains("would change the keys of 1 row, the first \"7\"") && said.contains("drop the table t here"), "\(said)")
        try scene.database("b.db").run("DROP TABLE t")
        for line in ["tables remove b.db t", "tables adopt b.db --create"] { try scene.succeed(line) }
        for name in ["b", "a", "b"] { try scene.succeed("sync \(name).db") }
        for name in ["a", "b"] {
            #expect(try scene.rows(name, "quote(id), v", table: "t") == ["7|seven", "'x'|1", "'y'|2"])
            try scene.succeed("check \(name).db --local")
        }
    }

    /// A type that changes no key is taken over as that of any other column.
    @Test(arguments: ["reader", "peer"]) func aTypeOfTheKeyThatChangesNoKeyIsTakenOver(role: String) throws {
        let scene = try Scene.pair(
            "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v TEXT); INSERT INTO t VALUES('word', 'kept')", roles: (role == "peer" ? "peer" : "writer", role))
        try scene.database("a.db").run(Self.rebuilt("id INT PRIMARY KEY NOT NULL, v TEXT"))
        try scene.succeed("sync a.db")
        try scene.database("a.db").run("INSERT INTO t VALUES(7, 'seven')")
        try scene.succeed("sync a.db")
        #expect(try scene.refused("sync b.db").contains("snapsync tables adopt b.db --create"))
        #expect(try scene.succeed("tables adopt b.db --create").contains("t: the column id is declared INT now"))
        for name in ["b", "a", "b"] { try scene.succeed("sync \(name).db") }
        for name in ["a", "b"] {
            #expect(try scene.rows(name, "quote(id), v", table: "t") == ["7|seven", "'word'|kept"])
            try scene.succeed("check \(name).db --local")
        }
    }

    /// The steps of the hint run on every device, and the rows that came from the zone are in nobody's way.
    @Test(arguments: ["reader", "peer"]) func aChangedKeyIsTakenOverByTheStepsOfTheHint(role: String) throws {
        let scene = try Scene.twoTables(role == "peer" ? "peer" : "writer", role)
        for name in ["a", "b"] {
            try scene.database("\(name).db").run(
                "CREATE TABLE z(id TEXT NOT NULL, v TEXT NOT NULL, PRIMARY KEY(id, v)); INSERT INTO z SELECT * FROM t; DROP TABLE t; ALTER TABLE z RENAME TO t")
        }
        for name in ["a", "b"] {
            let hint = try scene.refused("sync \(name).db"), last = role == "reader" && name == "b" ? "tables adopt b.db --create" : "tables add \(name).db t"
            #expect(hint.contains("snapsync tables remove \(name).db t, sync, then snapsync \(last)"), "\(hint)")
            try scene.succeed("tables remove \(name).db t")
            try scene.succeed("sync \(name).db")
            try scene.succeed(last)
            if name == "a" { try scene.database("a.db").run("INSERT INTO t VALUES('x', '3'); DELETE FROM t WHERE id = 'y'") }
            try scene.succeed("sync \(name).db")
        }
        for name in ["a", "b"] { try scene.succeed("sync \(name).db") }
        #expect(try Set(scene.rows("b", table: "t")).isSuperset(of: ["x|1", "x|3"]))
        for name in ["a", "b"] { try scene.succeed("check \(name).db --local") }
    }
}

extension Scene {
    static let task = "CREATE TABLE task(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, changed TEXT)"

    /// A publisher `a.db` and a device `b.db` that has version 1 and took its description from the zone.
    static func tasks(_ role: String, _ other: String) throws -> Scene {
        try pair("\(task); INSERT INTO task VALUES('t1', 'one', '2026-01-01T00:00:00Z'), ('t2', 'two', NULL), ('t3', 'three', NULL)", roles: (role, other))
    }

    /// A device `a.db` that publishes the tables `t` and `o`, and a device `b.db` that has them.
    static func twoTables(_ role: String, _ other: String, _ options: String = "", type: String = "TEXT") throws -> Scene {
        try Scene.pair(
            """
            CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v \(type) NOT NULL); CREATE TABLE o(id TEXT PRIMARY KEY NOT NULL, v TEXT);
            INSERT INTO t VALUES('x', '1'), ('y', '2')
            """, roles: ("\(role) \(options)", other))
    }

    func rows(_ name: String, _ columns: String = "*", table: String = "task") throws -> [String] {
        try database("\(name).db").run("SELECT \(columns) FROM \(table) ORDER BY id").split(separator: "\n").map(String.init)
    }

    /// Runs a command that must end with 78. Returns what it says.
    func refused(_ line: String, at location: SourceLocation = #_sourceLocation) throws -> String {
        let run = try self.run(line)
        #expect(run.status == 78, "\(run.text)\(run.errorText)", sourceLocation: location)
        return run.errorText
    }
}
