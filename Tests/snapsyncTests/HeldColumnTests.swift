import Foundation
import TestSupport
import Testing

/// Columns change while a row is held or an edit is in the journal. Row 2 of `b.db` is held because of row 1 of `a.db`.
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct HeldColumnTests {
    private func held(_ role: String, _ column: String? = "n TEXT", value: String = "'precious'") throws -> Scene {
        let own = column == nil ? "" : ", \(column!)"
        let scene = try Scene.pair(
            "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, u TEXT UNIQUE\(own)); CREATE TABLE other(id TEXT PRIMARY KEY NOT NULL)",
            roles: (role == "peer" ? "peer" : "writer --reader-edits all", role))
        if column == nil { try scene.database("b.db").run("ALTER TABLE t ADD COLUMN n TEXT") }
        try scene.database("a.db").run("INSERT INTO t(id, u) VALUES('1', 'same')")
        try scene.succeed("sync a.db")
        try scene.database("b.db").run("INSERT INTO t VALUES('2', 'same', \(value))")
        try sync(scene, "bab")
        #expect(try scene.succeed("conflicts b.db").contains("same"))
        return scene
    }

    private func sync(_ scene: Scene, _ names: String) throws { for name in names { try scene.succeed("sync \(name).db") } }

    private func release(_ scene: Scene) throws {
        try scene.database("a.db").run("DELETE FROM t WHERE id = '1'")
        try sync(scene, "abab")
    }

    @Test(arguments: ["peer", "reader"], ["'precious'", "X'00FF'"])
    func aColumnThatLeavesTheZoneKeepsTheHeldRowsValueHere(role: String, value: String) throws {
        let scene = try held(role, value: value)
        try scene.database("a.db").run("ALTER TABLE t DROP COLUMN n")
        try scene.succeed("tables adopt a.db")
        try scene.succeed("sync a.db")
        _ = try scene.run("sync b.db")
        try scene.succeed("tables adopt b.db")
        try release(scene)
        #expect(try scene.value("SELECT n IS \(value) FROM t WHERE id = '2'", in: "b.db") == "1")
    }

    @Test func aColumnThatTheZoneGetsTakesTheHeldRowsValue() throws {
        let scene = try held("reader", nil)
        try scene.database("a.db").run("ALTER TABLE t ADD COLUMN n TEXT")
        for name in ["a", "b", "a", "b"] {
            try scene.succeed("sync \(name).db")
            try scene.succeed("tables adopt b.db --create")
        }
        try release(scene)
        for name in ["a", "b"] { #expect(try scene.rows(name, table: "t") == ["2|same|precious"]) }
    }

    /// What only this device has of a held row is in the kept file.
    @Test(arguments: ["detach b.db", "tables remove b.db t"], [("'precious'", #""n":"precious""#), ("X'00FF'", #""AP8=""#)])
    func valuesOfOtherColumnsAreKeptWithHeldRows(line: String, value: (sql: String, json: String)) throws {
        let scene = try held("reader", nil, value: value.sql)
        try scene.succeed(line)
        let folder = scene.scratch.path("b.db.snapsync-kept"), file = try #require(try FileManager.default.contentsOfDirectory(atPath: folder).first)
        #expect(try ProgramRun("zcat", ["\(folder)/\(file)"]).text.contains(value.json))
    }

    /// A row that the column's new type would change stays held, and says so. Nothing else waits for it.
    @Test(arguments: ["peer", "reader"]) func aTypeThatWouldChangeAHeldRowHoldsIt(role: String) throws {
        let scene = try held(role, value: "'007'")
        try scene.database("a.db").run(
            """
            CREATE TABLE new(id TEXT PRIMARY KEY NOT NULL, u TEXT UNIQUE, n INTEGER); INSERT INTO new SELECT * FROM t; DROP TABLE t;
            ALTER TABLE new RENAME TO t; DELETE FROM t WHERE id = '1'; INSERT INTO other VALUES('published')
            """)
        for _ in 1...2 { try scene.succeed("sync a.db --allow-shrink t") }
        #expect(try scene.succeed("show a.db other").contains("published"))
        #expect(try scene.succeed("conflicts a.db").contains(#"n is declared INTEGER, which would store "007" as a number"#))
    }

    /// The journal shows what was lost in a column that is no longer synced, and does not say that it took it back.
    @Test func theJournalHasColumnsThatAreNoLongerSynced() throws {
        let scene = try Scene.twoTables("peer", "peer")
        try scene.database("a.db").run("ALTER TABLE t ADD COLUMN z TEXT")
        try scene.succeed("sync a.db")
        try scene.succeed("tables adopt b.db --create")
        try sync(scene, "b")
        for name in ["b", "a"] { try scene.database("\(name).db").run("UPDATE t SET z = 'of \(name)' WHERE id = 'x'") }
        try sync(scene, "aba")
        try scene.database("a.db").run("ALTER TABLE t DROP COLUMN z")
        for line in ["tables adopt a.db", "sync a.db", "tables adopt b.db"] { try scene.succeed(line) }
        try sync(scene, "b")
        #expect(try scene.succeed("conflicts b.db").contains(#"z: "of b" lost"#))
        #expect(try scene.refused("conflicts take b.db 1").contains("z is not synced any more"))
        #expect(try scene.succeed("conflicts b.db").contains(#"z: "of b" lost"#))
    }
}
