import Foundation
import TestSupport
import Testing

/// A table whose rows were all written without new timestamps: the version names runs of rows that have one instant.
@Suite(.runsPrograms) struct InstantRunTests {
    /// Enough for runs.
    private static let rowCount = 21_000
    private static func key(_ number: String) -> String { "printf('%0100d', \(number))" }

    private func scene(_ second: String) throws -> Scene {
        try Scene.copy(of: "things of \(second)") { scene in
            try scene.database("a.db").run(
                """
                CREATE TABLE things(id TEXT PRIMARY KEY NOT NULL, note TEXT, updated_at TEXT);
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(Self.rowCount))
                INSERT INTO things SELECT \(Self.key("i")), 'first', '2026-01-01T00:00:00Z' FROM n;
                """)
            let peers = second == "peer"
            try scene.succeed(Scene.setUp("a.db", as: peers ? "peer" : "writer", "--name a"))
            try scene.sync("a")
            try scene.succeed(Scene.join("b.db", as: second, "--name b"))
            try scene.sync("b")
        }
    }

    private func newestIndex(_ scene: Scene) throws -> (index: String, asset: String) {
        let folder = scene.scratch.path("\(scene.zone)/assets/things_data")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        let index = try #require(names.last { $0.hasSuffix(".index.json") })
        return ("\(folder)/\(index)", "\(folder)/\(index.replacing(".index.json", with: ".json.gz"))")
    }

    private func instants(_ scene: Scene, _ device: String) throws -> String {
        try scene.database("\(device).db").run("SELECT count(*), count(DISTINCT at), min(at), max(at) FROM snapsync_instants")
    }

    @Test func aRunStandsForAllItsRows() throws {
        let scene = try scene("reader")
        try scene.database("a.db").run("UPDATE things SET note = 'second'")
        try scene.database("a.db").run("UPDATE things SET note = 'third' WHERE id IN (\(Self.key("7")), \(Self.key("9000")))")
        try scene.database("a.db").run("DELETE FROM things WHERE id = \(Self.key("8"))")
        try scene.sync("a")
        let (index, asset) = try newestIndex(scene)
        #expect(try String(contentsOfFile: index, encoding: .utf8).hasPrefix("{\"formatVersion\":1,"))
        // The reader that was written from the page alone agrees.
        let script = Repository.path("Tests/IndependentReader/read_asset.py")
        let run = try ProgramRun("python3", [script, "--quiet", asset, index])
        #expect(
            run.text.contains("\(Self.rowCount - 1) entities") && run.text.contains("0 held, 1 deletions, \(Self.rowCount - 1) instants"),
            "\(run.text)\(run.errorText)")

        try scene.sync("b")
        try scene.succeed("check b.db --local")
        #expect(try instants(scene, "b") == instants(scene, "a"))
        #expect(try scene.database("b.db").run("SELECT note, count(*) FROM things GROUP BY note ORDER BY 1") == "second|\(Self.rowCount - 3)\nthird|2\n")

        // Edits on top travel as a change asset, and the version read whole is the same.
        try scene.database("a.db").run("UPDATE things SET note = 'fourth' WHERE id < \(Self.key("20"))")
        try scene.sync("a", "b")
        try scene.succeed("join c.db cloud --name c")
        try scene.sync("c")
        for device in ["b", "c"] { #expect(try instants(scene, device) == instants(scene, "a")) }
        let text = try scene.succeed("show c.db things")
        #expect(text.contains(#","columns":{"note":[{"from":"#))
        try scene.succeed("check a.db --read-data")
        try scene.succeed("export a.db --full")
        #expect(try String(contentsOfFile: newestIndex(scene).index, encoding: .utf8).hasPrefix("{\"formatVersion\":1,"))

        // Once the application dates its rows, nothing is left that needs version 2.
        try scene.database("a.db").run("UPDATE things SET updated_at = strftime('%Y-%m-%dT%H:%M:%fZ')")
        try scene.sync("a")
        #expect(try String(contentsOfFile: newestIndex(scene).index, encoding: .utf8).hasPrefix("{\"formatVersion\":1,"))
        try scene.sync("b")
        #expect(try instants(scene, "b") == instants(scene, "a"))
    }

    /// Of an edit before the rewrite and one after it, made elsewhere, the first loses and the second wins.
    @Test func editsMeetTheRunsInstant() throws {
        let scene = try scene("peer")
        try scene.database("b.db").run("UPDATE things SET note = 'before' WHERE id = \(Self.key("100"))")
        Thread.sleep(forTimeInterval: 0.02)
        try scene.database("a.db").run("UPDATE things SET note = 'rewritten'")
        Thread.sleep(forTimeInterval: 0.02)
        try scene.database("b.db").run("UPDATE things SET note = 'after' WHERE id = \(Self.key("200"))")
        try scene.sync("a")
        #expect(try scene.run("sync b.db").text.contains("2 edits lost"))
        try scene.sync("a")
        for device in ["a", "b"] {
            #expect(
                try scene.database("\(device).db").run("SELECT note, count(*) FROM things GROUP BY note ORDER BY 1")
                    == "after|1\nrewritten|\(Self.rowCount - 1)\n")
        }
        #expect(try instants(scene, "b") == instants(scene, "a"))
    }

    /// A run that names what is not there is refused, and nothing is changed.
    @Test func damagedTailsAreMended() throws {
        let scene = try scene("reader")
        try scene.database("a.db").run("UPDATE things SET note = 'second'")
        try scene.sync("a")
        let (index, _) = try newestIndex(scene)
        try FileManager.default.removeItem(atPath: index)
        try scene.succeed("repair a.db")
        #expect(FileManager.default.fileExists(atPath: index))
        try scene.sync("b")
        try scene.succeed("check b.db --local")
    }
}
