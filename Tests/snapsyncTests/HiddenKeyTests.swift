import TestSupport
import Testing

/// Tables without a key, which travel by their rowids.
@Suite(.runsPrograms) struct HiddenKeyTests {
    private static let datasets = """
        {"formatVersion": 1, "datasets": [{"name": "log", "key": "number", "columns": [
          {"name": "number", "type": "integer", "column": "rowid"}, {"name": "line", "type": "text", "optional": true}]}]}
        """

    private func scene() throws -> Scene {
        let scene = try Scene()
        try scene.scratch.write(Self.datasets, to: "d.json")
        for device in ["a", "b"] { try scene.database("\(device).db").run("CREATE TABLE log(line TEXT)") }
        return scene
    }

    private func rows(_ scene: Scene, _ device: String) throws -> String {
        try scene.database("\(device).db").run("SELECT rowid, line FROM log ORDER BY rowid")
    }

    @Test func rowsTravelWithTheirRowids() throws {
        let scene = try scene()
        let app = scene.database("a.db")
        try app.run("INSERT INTO log(rowid, line) VALUES(1, 'one'), (5, 'five'), (9, NULL), (-3, 'minus')")
        try scene.succeed("init a.db cloud --name a --datasets d.json")
        try scene.sync("a")
        try scene.succeed("join b.db cloud --name b --datasets d.json")
        try scene.sync("b")
        #expect(try rows(scene, "b") == "-3|minus\n1|one\n5|five\n9|\n")
        try app.run(
            "INSERT INTO log VALUES('ten'); DELETE FROM log WHERE line = 'one'; UPDATE log SET line = '5' WHERE rowid = 5; UPDATE log SET _rowid_ = 20 WHERE rowid = 9; REPLACE INTO log(rowid, line) VALUES(-3, 'again')"
        )
        try scene.sync("a", "b")
        #expect(try rows(scene, "b") == "-3|again\n5|5\n10|ten\n20|\n")
        for device in ["a", "b"] { try scene.succeed("check \(device).db --local") }
        #expect(String(decoding: try scene.run("show a.db log").output, as: UTF8.self).contains("{\"number\":10,\"line\":\"ten\"}"))
    }

    @Test func vacuumLosesAndDoublesNothing() throws {
        let scene = try scene()
        let app = scene.database("a.db")
        try app.run(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) INSERT INTO log(rowid, line) SELECT i * 3, 'line ' || i FROM n")
        try scene.succeed("init a.db cloud --name a --datasets d.json")
        try scene.sync("a")
        try scene.succeed("join b.db cloud --name b --datasets d.json")
        try scene.sync("b")
        try app.run("UPDATE log SET line = 'edited' WHERE rowid = 30; DELETE FROM log WHERE rowid IN (6, 21); VACUUM; INSERT INTO log VALUES('after')")
        let here = try rows(scene, "a")
        #expect(here.hasPrefix("1|line 1\n2|line 3\n"), "VACUUM numbers such rows anew")
        try scene.sync("a")
        #expect(try rows(scene, "a") == here)
        try scene.succeed("check a.db --local")
        try scene.sync("b")
        #expect(try rows(scene, "b") == here)
        try scene.succeed("check cloud --all-versions")
        // Nothing is left to do.
        #expect(try scene.succeed("sync a.db").hasPrefix("nothing new"))
    }

    @Test func aPeerIsRefusedWithTheReason() throws {
        let scene = try scene()
        let refused = try scene.run("init a.db cloud --peers --name a --datasets d.json")
        #expect(refused.status == 78 && refused.errorText.contains("no key but the rowid") && refused.errorText.contains("two peers"), "\(refused.errorText)")
        #expect(try scene.database("a.db").run("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'snapsync%'") == "0\n")
    }

    @Test func aTableThatHasAKeyIsNotCarriedByItsRowid() throws {
        let scene = try Scene()
        try scene.scratch.write(Self.datasets, to: "d.json")
        try scene.database("a.db").run("CREATE TABLE log(id INTEGER PRIMARY KEY, line TEXT)")
        let refused = try scene.run("init a.db cloud --name a --datasets d.json")
        #expect(refused.status == 78 && refused.errorText.contains("it has no column rowid"), "\(refused.errorText)")
    }
}
