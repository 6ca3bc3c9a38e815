import Foundation
import TestSupport
import Testing

/// A new column that one device's table declares NOT NULL: no device is stuck, and no value is lost.
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct RequiredColumnTests {
    private static let required = "ALTER TABLE task ADD COLUMN rank TEXT NOT NULL DEFAULT 'd'"

    /// Two devices with version 1; `b.db` has its table from the zone.
    private func scene(_ role: String, _ other: String) throws -> Scene {
        return try Scene.pair(
            "CREATE TABLE task(id TEXT PRIMARY KEY NOT NULL, n INTEGER); INSERT INTO task VALUES('t1', 1), ('t2', 2)", roles: (role, other))
    }

    private func rows(_ scene: Scene, _ name: String) throws -> String { try scene.database("\(name).db").run("SELECT * FROM task ORDER BY id") }

    private func expectSame(_ scene: Scene, _ rows: String, at location: SourceLocation = #_sourceLocation) throws {
        try scene.sync("a", "b", "a", "b", at: location)
        #expect(try !scene.sync("a", at: location).contains("published"), sourceLocation: location)
        for name in ["a", "b"] {
            #expect(try self.rows(scene, name) == rows, "\(name)", sourceLocation: location)
            try scene.succeed("check \(name).db --local", at: location)
        }
    }

    @Test(arguments: [["a", "b"], ["b", "a"]]) func aRowWithoutAValueGetsTheDefaultOfTheTableThatNeedsOne(order: [String]) throws {
        let scene = try scene("peer", "peer")
        try scene.database("a.db").run("\(Self.required); INSERT INTO task VALUES('a', 1, 'mine')")
        try scene.database("b.db").run("ALTER TABLE task ADD COLUMN rank TEXT; INSERT INTO task VALUES('b', 6, NULL); UPDATE task SET n = 20 WHERE id = 't2'")
        for name in order { try scene.succeed("sync \(name).db") }
        try expectSame(scene, "a|1|mine\nb|6|d\nt1|1|d\nt2|20|d\n")
        // Later, too, and a correction of the default by hand wins.
        try scene.database("b.db").run("INSERT INTO task VALUES('c', 7, NULL)")
        try scene.sync("b")
        try scene.database("b.db").run("UPDATE task SET rank = 'by hand' WHERE id = 'c'")
        try scene.sync("a")
        try expectSame(scene, "a|1|mine\nb|6|d\nc|7|by hand\nt1|1|d\nt2|20|d\n")
    }

    @Test func aColumnMadeFromTheDescriptionHasItsDefault() throws {
        let scene = try scene("peer", "peer")
        try scene.database("a.db").run("\(Self.required); INSERT INTO task VALUES('a', 1, 'mine')")
        try scene.database("b.db").run("UPDATE task SET n = 20 WHERE id = 't2'; INSERT INTO task VALUES('b', 6)")
        try scene.sync("a")
        #expect(try scene.run("sync b.db").status == 78)
        try scene.succeed("tables adopt b.db --create")
        #expect(
            try scene.database("b.db").run("SELECT \"notnull\", dflt_value FROM pragma_table_info('task') WHERE name = 'rank'") == "1|'d'\n")
        try scene.database("b.db").run("INSERT INTO task(id, n) VALUES('c', 7)")
        try expectSame(scene, "a|1|mine\nb|6|d\nc|7|d\nt1|1|d\nt2|20|d\n")
    }

    @Test(arguments: ["NOT NULL DEFAULT 'd'", "DEFAULT 'd'", ""]) func anEditFromBeforeTheColumnDoesNotResetIt(
        declaration: String
    ) throws {
        let scene = try scene("peer", "peer")
        let add = "ALTER TABLE task ADD COLUMN rank TEXT \(declaration)"
        try scene.database("a.db").run("\(add); UPDATE task SET rank = 'of ' || id")
        try scene.sync("a")
        try scene.database("b.db").run("UPDATE task SET n = 20 WHERE id = 't2'")
        #expect(try scene.run("sync b.db").status == 78)
        try scene.database("b.db").run("\(add); UPDATE task SET rank = 'of b' WHERE id = 't1'")
        try scene.sync("b")
        // What b has written in the column before its first look at it has given way, and is told.
        #expect(try scene.succeed("conflicts b.db").contains("rank: \"of b\" lost, \"of t1\" was kept"))
        try expectSame(scene, "t1|1|of t1\nt2|20|of t2\n")
    }

    /// The version that arrives has no such column, and a later edit of the row.
    @Test func aValueInANewColumnSurvivesAVersionThatDoesNotKnowIt() throws {
        let scene = try scene("peer", "peer")
        try scene.database("a.db").run("\(Self.required); UPDATE task SET rank = 'mine' WHERE id = 't2'")
        Thread.sleep(forTimeInterval: 0.003)
        try scene.database("b.db").run("UPDATE task SET n = 20 WHERE id = 't2'")
        try scene.sync("b", "a")
        #expect(try rows(scene, "a") == "t1|1|d\nt2|20|mine\n")
        #expect(try scene.run("sync b.db").status == 78)
        try scene.database("b.db").run(Self.required)
        try expectSame(scene, "t1|1|d\nt2|20|mine\n")
    }

    @Test func aReadersOwnRequiredColumnKeepsItsValuesWhenTheZoneGetsIt() throws {
        let scene = try scene("writer", "reader")
        try scene.database("b.db").run("\(Self.required); UPDATE task SET rank = 'of b' WHERE id = 't1'")
        try scene.database("a.db").run("ALTER TABLE task ADD COLUMN rank TEXT; INSERT INTO task VALUES('a', 6, NULL)")
        try scene.sync("a", "b")
        #expect(try rows(scene, "b") == "a|6|d\nt1|1|of b\nt2|2|d\n")
        try scene.database("a.db").run("UPDATE task SET n = 7 WHERE id = 'a'; UPDATE task SET rank = 'of a' WHERE id = 't2'")
        try scene.sync("a", "b")
        #expect(try rows(scene, "b") == "a|7|d\nt1|1|of b\nt2|2|of a\n")
    }

    @Test func aReadersStricterTableHoldsTheDefaultAndVerifies() throws {
        let scene = try scene("writer", "reader")
        try scene.database("b.db").run(
            "CREATE TABLE new(id TEXT PRIMARY KEY NOT NULL, n INTEGER NOT NULL DEFAULT 7); INSERT INTO new SELECT * FROM task; DROP TABLE task; ALTER TABLE new RENAME TO task"
        )
        try scene.database("a.db").run("INSERT INTO task VALUES('a', NULL)")
        for (values, expected) in [("NULL", "7"), ("8", "8"), ("NULL", "7"), ("NULL", "7")] {
            try scene.database("a.db").run("UPDATE task SET n = \(values) WHERE id = 'a'")
            try scene.sync("a", "b")
            #expect(try rows(scene, "b") == "a|\(expected)\nt1|1\nt2|2\n")
            try scene.succeed("check b.db --local")
            #expect(try scene.succeed("sync b.db").contains("is here already"))
        }
        #expect(try scene.succeed("conflicts b.db").contains("no edit has lost"))
        #expect(try scene.succeed("show a.db task").contains(#"{"id":"a"}"#))
    }

    @Test func withoutADefaultTheErrorNamesTheColumnAndNothingChanges() throws {
        let scene = try scene("peer", "peer")
        try scene.database("a.db").run(
            "CREATE TABLE new(id TEXT PRIMARY KEY NOT NULL, n INTEGER, rank TEXT NOT NULL); INSERT INTO new SELECT id, n, 'v' FROM task; DROP TABLE task; ALTER TABLE new RENAME TO task"
        )
        try scene.succeed("tables adopt a.db")
        try scene.sync("a")
        #expect(try scene.run("sync b.db").status == 78)
        try scene.succeed("tables adopt b.db --create")
        try scene.database("b.db").run("INSERT INTO task(id, n) VALUES('b', 6)")
        try scene.sync("b")
        let refused = try scene.run("sync a.db")
        #expect(refused.status == 78, "\(refused.text)")
        #expect(refused.errorText.contains("has no value for the column rank, which is NOT NULL here and has no default"), "\(refused.errorText)")
        #expect(refused.errorText.contains("write a value there"))
        #expect(try rows(scene, "a") == "t1|1|v\nt2|2|v\n")
        try scene.database("b.db").run("UPDATE task SET rank = 'now' WHERE id = 'b'")
        try scene.sync("b")
        try expectSame(scene, "b|6|now\nt1|1|v\nt2|2|v\n")
    }
}
