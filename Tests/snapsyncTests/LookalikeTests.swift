import Foundation
import TestSupport
import Testing

/// Names, keys and values that are one to Unicode and two to SQLite: composed and decomposed, the letter K and the Kelvin sign.
@Suite(.runsPrograms) struct LookalikeTests {
    private static let one = "\u{E9}", other = "e\u{301}", kelvin = "\u{212A}"

    /// Two tables with lookalike names, lookalike columns, a UNIQUE and a CHECK constraint on one of them, a foreign key, and lookalike keys.
    private static let tables = """
        CREATE TABLE "\(one)"(id TEXT PRIMARY KEY, "c\(one)" TEXT DEFAULT '\(one)', "c\(other)" TEXT UNIQUE, K TEXT, "\(kelvin)" TEXT, CHECK("c\(other)" <> '\(other)'));
        CREATE TABLE "\(other)"(id TEXT PRIMARY KEY, v TEXT, p TEXT REFERENCES "\(one)"(id));
        CREATE TABLE K(id TEXT PRIMARY KEY, v); CREATE TABLE "\(kelvin)"(id TEXT PRIMARY KEY, v);
        """
    private static let rows = """
        INSERT INTO "\(one)" VALUES('\(one)', '1', '2', '3', '4'), ('\(other)', '5', '6', '7', '8');
        INSERT INTO "\(other)" VALUES('\(one)', 'x', '\(one)'), ('\(other)', 'y', '\(other)');
        INSERT INTO K VALUES('\(kelvin)', 'kay'); INSERT INTO "\(kelvin)" VALUES('K', 'kelvin');
        """

    /// Two peers that have all tables.
    private func peers() throws -> Scene { try Scene.pair(Self.tables + Self.rows) }

    /// Every value of all tables, by its bytes.
    private func bytes(_ scene: Scene, _ database: String) throws -> Data {
        let queries = [
            "SELECT hex(id), hex(\"c\(Self.one)\"), hex(\"c\(Self.other)\"), hex(K), hex(\"\(Self.kelvin)\") FROM \"\(Self.one)\" ORDER BY 1",
            "SELECT hex(id), hex(v), hex(p) FROM \"\(Self.other)\" ORDER BY 1", "SELECT hex(id), hex(v) FROM K",
            "SELECT hex(id), hex(v) FROM \"\(Self.kelvin)\"",
        ]
        return Data(try queries.map { try scene.database(database).run($0) }.joined(separator: "-\n").utf8)
    }

    private func settle(_ scene: Scene, at location: SourceLocation = #_sourceLocation) throws {
        for name in ["b", "a", "b"] { try scene.succeed("sync \(name).db", at: location) }
        #expect(try bytes(scene, "a.db") == bytes(scene, "b.db"), sourceLocation: location)
        for name in ["a", "b"] { try scene.succeed("check \(name).db --local", at: location) }
    }

    @Test func tablesColumnsAndKeysStayApart() throws {
        let scene = try peers()
        try settle(scene)
        let before = try bytes(scene, "a.db")
        try scene.database("b.db").run(
            """
            UPDATE "\(Self.one)" SET "c\(Self.one)" = '\(Self.other)' WHERE id = '\(Self.one)';
            UPDATE "\(Self.one)" SET "c\(Self.other)" = 'new' WHERE id = '\(Self.other)';
            DELETE FROM "\(Self.other)" WHERE id = '\(Self.other)'; UPDATE "\(Self.kelvin)" SET v = 'sign';
            """)
        try settle(scene)
        #expect(try scene.database("a.db").run("SELECT hex(id), v FROM \"\(Self.other)\"") == "C3A9|x\n")
        #expect(try scene.database("a.db").run("SELECT v FROM K") == "kay\n")
        try scene.succeed("diff a.db 1 2 --values")
        #expect(try bytes(scene, "a.db") != before)
        // Both directions: the applied version comes back row by row.
        try scene.succeed("restore a.db 1")
        try settle(scene)
        #expect(try bytes(scene, "b.db") == before)
    }

    @Test func columnsThatAreAddedAndRenamedStayApart() throws {
        let scene = try peers()
        try scene.database("a.db").run(
            """
            ALTER TABLE "\(Self.one)" ADD COLUMN "n\(Self.one)"; ALTER TABLE "\(Self.one)" ADD COLUMN "n\(Self.other)";
            UPDATE "\(Self.one)" SET "n\(Self.one)" = 1, "n\(Self.other)" = 2; ALTER TABLE "\(Self.other)" RENAME COLUMN v TO "v\(Self.other)";
            """)
        try scene.succeed("tables adopt a.db")
        try scene.sync("a")
        try scene.succeed("tables adopt b.db --create")
        try scene.sync("b")
        let sql = "SELECT DISTINCT \"n\(Self.one)\", \"n\(Self.other)\" FROM \"\(Self.one)\""
        #expect(try scene.database("b.db").run(sql) == "1|2\n")
    }

    @Test func anOptionMeansTheTableOfItsBytes() throws {
        let scene = try Scene()
        try scene.database("a.db").run(Self.tables + Self.rows)
        let said = try scene.json("tables describe a.db --tables \(Self.other),K")
        let tables = try #require(said["tables"] as? [[String: Any]]).compactMap { $0["table"] as? String }
        #expect(tables.map { Array($0.utf8) } == [Array(Self.other.utf8), Array("K".utf8)])
        let left = try scene.json("tables describe a.db --tables all --exclude \(Self.one),\(Self.kelvin)")
        let skipped = try #require(left["leftOut"] as? [[String: Any]]).compactMap { $0["table"] as? String }
        #expect(skipped.map { Array($0.utf8) } == [Array(Self.one.utf8), Array(Self.kelvin.utf8)])
    }

    @Test func aLosingEditThatLooksTheSameIsInTheJournal() throws {
        let scene = try peers()
        try scene.database("a.db").run("UPDATE \"\(Self.other)\" SET v = '\(Self.one)' WHERE id = '\(Self.one)'")
        try scene.database("b.db").run("UPDATE \"\(Self.other)\" SET v = '\(Self.other)' WHERE id = '\(Self.one)'")
        for name in ["a", "b", "a"] { _ = try scene.run("sync \(name).db --quiet") }
        let lost = try ["a", "b"].map { try #require(try scene.json("conflicts list \($0).db")["conflicts"] as? [Any]).count }
        #expect(lost.reduce(0, +) == 1)
        #expect(try bytes(scene, "a.db") == bytes(scene, "b.db"))
    }

    @Test func pathsThatLookTheSameAreTwo() throws {
        let scene = try Scene()
        for (name, value) in [(Self.one, "one"), (Self.other, "other")] {
            try scene.database("\(name).db").run("CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES('k', '\(value)')")
            try scene.succeed("init \(name).db cloud\(name) --name w")
            try scene.succeed("sync \(name).db")
        }
        for (name, value) in [(Self.one, "one"), (Self.other, "other")] {
            try scene.succeed("join r\(name).db cloud\(name) --name r")
            try scene.succeed("sync r\(name).db")
            #expect(try scene.database("r\(name).db").run("SELECT v FROM t") == "\(value)\n")
        }
    }
}
