import Foundation
import TestSupport
import Testing

/// `describe` and `init --tables`: datasets made from what a database declares and holds.
@Suite(.runsPrograms) struct DescribeTests {
    private static let schema = """
        CREATE TABLE entries(id INTEGER PRIMARY KEY, shelf TEXT NOT NULL REFERENCES shelves(code), title VARCHAR(80) NOT NULL, draft BOOLEAN NOT NULL, extra JSON,
            price DECIMAL(10,2), seen DATETIME, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, cover BLOB, length INTEGER AS (length(title)));
        CREATE TABLE shelves("code" VARCHAR(8) PRIMARY KEY NOT NULL, "over" TEXT REFERENCES shelves(code), level INTEGER);
        CREATE TABLE "Ärzte 1"(id INTEGER PRIMARY KEY, deletions TEXT);
        CREATE TABLE deletions(id INTEGER PRIMARY KEY, changed BOOLEAN);
        CREATE TABLE loose(note TEXT PRIMARY KEY); INSERT INTO loose VALUES(NULL);
        CREATE VIRTUAL TABLE search USING fts5(title);
        CREATE VIEW titles AS SELECT title FROM entries;
        INSERT INTO shelves VALUES('A', NULL, 1), ('B', 'A', 2);
        INSERT INTO entries(id, shelf, title, draft, extra, price, seen, created_at, updated_at, cover) VALUES
            (1, 'A', 'One', 0, '{"a": 1}', 9.5, '2026-01-01 10:00:00', '2026-01-01T10:00:00Z', '2026-01-02T10:00:00Z', x'00ff'),
            (2, 'B', 'Two', 1, NULL, 4, NULL, '2026-01-01T10:00:00Z', '2026-01-03T10:00:00Z', NULL);
        """

    private func scene() throws -> Scene {
        let scene = try Scene()
        try scene.database("app.db").run(Self.schema)
        return scene
    }

    @Test func fileFollowsFromTheTablesAndTheirRows() throws {
        let scene = try scene()
        let run = try scene.run("tables describe app.db --exclude loose")
        #expect(run.status == 0)
        #expect(
            run.text == """
                {"formatVersion": 1, "datasets": [
                  {"name": "shelves", "key": "code", "columns": [
                    {"name": "code"},
                    {"name": "over"},
                    {"name": "level"}]},
                  {"name": "entries", "key": "id", "timestamp": "updated_at", "columns": [
                    {"name": "id"},
                    {"name": "shelf"},
                    {"name": "title"},
                    {"name": "draft"},
                    {"name": "extra"},
                    {"name": "price"},
                    {"name": "seen"},
                    {"name": "created_at"},
                    {"name": "updated_at"},
                    {"name": "cover"}]},
                  {"name": "Arzte_1_e4865186", "table": "Ärzte 1", "key": "id", "columns": [
                    {"name": "id"},
                    {"name": "deletions"}]},
                  {"name": "deletions_0f849084", "table": "deletions", "key": "id", "columns": [
                    {"name": "id"},
                    {"name": "changed"}]}]}

                """)
        #expect(
            run.errorText == """
                left out: loose (skipped)
                left out: search (a virtual table; its contents follow from other tables or belong to the application)
                left out: entries.length (generated: it follows from other columns; a table that snapsync join makes lacks it)
                timestamp of entries: updated_at
                timestamp of deletions: none; not changed

                """)
        // The file is one that init takes, and says the same.
        try scene.scratch.write(run.text, to: "app.json")
        try scene.succeed("init app.db cloud --name w --datasets app.json")
        try scene.sync("app")
        #expect((try scene.json("tables app.db")["tables"] as? [Any])?.count == 4)
    }

    @Test func tablesThatCannotTravelAreListedAtOnceAndNothingIsMade() throws {
        let scene = try scene()
        try scene.database("app.db").run(
            "CREATE TABLE untold(a REAL PRIMARY KEY); INSERT INTO untold VALUES(NULL); CREATE TABLE empties(name TEXT PRIMARY KEY, x TEXT); INSERT INTO empties VALUES(NULL, 'x'), (NULL, 'y')"
        )
        let before = try scene.database("app.db").run(".dump")
        let run = try scene.run("init app.db cloud")
        #expect(run.status == 78 && run.text == "")
        #expect(
            run.errorText == """
                snapsync init: refused: app.db: 3 tables cannot be synced
                  loose: a row has NULL in the key column note
                  untold: a row has NULL in the key column a
                  empties: a row has NULL in the key column name
                  hint: change the tables, or leave them out: --exclude loose,untold,empties

                """)
        #expect(try scene.database("app.db").run(".dump") == before)
        #expect(!FileManager.default.fileExists(atPath: scene.scratch.path("cloud")))
        let error = try scene.run("init app.db cloud --json")
        let object = try #require(try JSONSerialization.jsonObject(with: Data(error.errorText.utf8)) as? [String: [String: Any]])
        #expect((object["error"]?["details"] as? [String])?.count == 3)

        try scene.succeed("init app.db cloud --name w --exclude loose,untold --exclude empties")
        try scene.sync("app")
        #expect(try scene.succeed("show app.db shelves").contains("\"code\":\"A\""))
    }

    /// Keys of several columns, keys that are compared by a collation, and tables that have none.
    @Test func everyKeyIsDescribedAsTheTableComparesIt() throws {
        let scene = try Scene()
        try scene.database("app.db").run(
            """
            CREATE TABLE lines(item TEXT, line INTEGER, list INTEGER, PRIMARY KEY(list, line)); CREATE TABLE users(login TEXT PRIMARY KEY COLLATE NOCASE);
            CREATE TABLE pairs(a BLOB NOT NULL, b REAL NOT NULL, c TEXT, UNIQUE(a, b)); CREATE TABLE log(what TEXT, rowid TEXT);
            INSERT INTO lines VALUES('x', 1, 1), ('y', 2, 1), ('z', 1, 2); INSERT INTO users VALUES('Ann'), ('bob'); INSERT INTO pairs VALUES(x'00', 1.5, 'c');
            INSERT INTO log VALUES('one', 'r'), ('two', NULL);
            """)
        let run = try scene.run("tables describe app.db")
        #expect(run.text.contains(#"{"name": "lines", "key": ["list","line"], "columns""#), "\(run.text)")
        #expect(run.text.contains(#"{"name": "login", "collation": "nocase"}"#))
        #expect(run.text.contains(#"{"name": "pairs", "key": ["a","b"]"#))
        #expect(run.text.contains(#"{"name": "log", "key": "_rowid_", "columns""#))
        #expect(run.errorText.contains("note: log has no key and is carried by its rowid"))
        try scene.succeed("init app.db cloud --name w")
        try scene.sync("app")
        try scene.succeed("join copy.db cloud --name r")
        try scene.sync("copy")
        let rows = "SELECT * FROM lines ORDER BY list, line; SELECT * FROM users; SELECT hex(a), b, c FROM pairs; SELECT _rowid_, * FROM log"
        #expect(try scene.database("copy.db").run(rows) == scene.database("app.db").run(rows))
        #expect(try scene.database("copy.db").run("SELECT sql FROM sqlite_schema WHERE name = 'lines'").contains("PRIMARY KEY(\"list\", \"line\")"))
        // Two peers would give one rowid to different rows.
        try scene.database("peer.db").run("CREATE TABLE log(what TEXT)")
        let peer = try scene.run("init peer.db team --peers")
        #expect(peer.status == 78 && peer.errorText.contains("log: it has no key besides the rowid"), "\(peer.errorText)")
    }

    /// Keys and other columns hold values of every storage class side by side.
    @Test func valuesOfSeveralTypesTravelAsTheyAre() throws {
        let scene = try Scene()
        try scene.database("app.db").run(
            """
            CREATE TABLE prefs(name PRIMARY KEY NOT NULL, value, size INTEGER); CREATE TABLE mixed(k PRIMARY KEY NOT NULL, v TEXT);
            INSERT INTO prefs VALUES('a', 1, 2), ('b', '1', 'large'), ('c', x'00ff', 2.5), ('d', 1.0, NULL);
            INSERT INTO mixed VALUES(1, 'a'), ('x', 'b'), (1.5, 'c'), (x'00', 'd');
            """)
        let run = try scene.run("tables describe app.db")
        #expect(
            run.text == """
                {"formatVersion": 1, "datasets": [
                  {"name": "prefs", "key": "name", "columns": [
                    {"name": "name"},
                    {"name": "value"},
                    {"name": "size"}]},
                  {"name": "mixed", "key": "k", "columns": [
                    {"name": "k"},
                    {"name": "v"}]}]}

                """)
        try scene.succeed("init app.db cloud --name w")
        try scene.sync("app")
        try scene.succeed("join copy.db cloud --name r")
        try scene.sync("copy")
        let rows = """
            SELECT name, quote(value), typeof(value), quote(size) FROM prefs ORDER BY name; SELECT quote(k), v FROM mixed ORDER BY k
            """
        #expect(try scene.database("copy.db").run(rows) == scene.database("app.db").run(rows))
        // A key of another class is another row, and each can go alone.
        try scene.database("app.db").run("DELETE FROM mixed WHERE k = x'00'; UPDATE mixed SET v = 'e' WHERE k = 1.5; INSERT INTO mixed VALUES('1', 'f')")
        try scene.sync("app", "copy")
        #expect(try scene.database("copy.db").run(rows) == scene.database("app.db").run(rows))
    }

    @Test func timestampIsChosenOnlyWhereItIsKept() throws {
        let scene = try Scene()
        try scene.database("app.db").run(
            """
            CREATE TABLE a(id INTEGER PRIMARY KEY, created_at TEXT, due TEXT); INSERT INTO a VALUES(1, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z');
            CREATE TABLE b(id INTEGER PRIMARY KEY, modified TEXT); INSERT INTO b VALUES(1, 'by Ann');
            CREATE TABLE c(id INTEGER PRIMARY KEY, updatedAt TEXT, edited TEXT); INSERT INTO c VALUES(1, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z');
            CREATE TABLE d(id INTEGER PRIMARY KEY, last_changed TEXT, last_updated TEXT); INSERT INTO d VALUES(1, '2026-01-01T00:00:00Z', NULL);
            """)
        func stamps(_ options: String = "") throws -> [String?] {
            try #require(try scene.json("tables describe app.db \(options)")["tables"] as? [[String: Any]]).map { $0["timestamp"] as? String }
        }
        #expect(try stamps() == [nil, nil, "updatedAt", "last_updated"])
        #expect(try stamps("--timestamp c=edited --timestamp D=none") == [nil, nil, "edited", nil])
        for (option, part) in [("c=nope", "no column nope"), ("x=id", "no table x"), ("c=id", "the rows do not say what the numbers in the column id count")] {
            let run = try scene.run("tables describe app.db --timestamp \(option)")
            #expect(run.status == 78 && run.errorText.contains(part), "\(run.errorText)")
        }
    }

    /// A database of somebody's own tables never gets the built-in ones unasked, nor their zone.
    @Test func tablesOfAnApplicationAreSyncedAlone() throws {
        let scene = try scene()
        try scene.succeed("init app.db cloud --exclude loose")
        #expect((try scene.json("tables app.db")["tables"] as? [Any])?.count == 4)
        #expect(try scene.database("app.db").run("SELECT count(*) FROM sqlite_schema WHERE name IN ('buckets', 'notifications')") == "0\n")
        #expect(scene.scratch.exists(Scene.mainZone) && !scene.scratch.exists(Scene.zone))
    }

    @Test(arguments: [
        ("--tables nope", 78, "there is no table nope"), ("--tables search", 78, "search is a virtual table"),
        ("--tables search_data", 78, "belongs to the virtual table search"), ("--tables titles", 78, "titles is a view"),
        ("--tables all --exclude nope", 78, "correct the name"), ("--tables entries --timestamp shelves=code", 78, "is not synced"),
        ("--tables all --datasets a.json", 64, "Choose one of"), ("--exclude loose --built-in", 64, "--built-in cannot be combined"),
        ("--timestamp x", 64, "--timestamp requires"),
    ])
    func wrongChoicesAreNamed(options: String, status: Int32, part: String) throws {
        let scene = try scene()
        let before = try scene.database("app.db").run(".dump")
        let run = try scene.run("init app.db cloud \(options)")
        #expect(run.status == status && run.errorText.contains(part), "\(run.errorText)")
        #expect(try scene.database("app.db").run(".dump") == before)
    }
}
