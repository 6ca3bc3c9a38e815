import Foundation
import TestSupport
import Testing

/// The SQL text that a zone keeps: `tables sql` prints it, `join --with-schema` runs it, and a forged one changes nothing.
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct SchemaTextTests {
    private static let library = """
        CREATE TABLE shelves(code VARCHAR(8) PRIMARY KEY NOT NULL COLLATE NOCASE, name TEXT NOT NULL DEFAULT (hex(randomblob(4))) CHECK (length(name) < 99)) WITHOUT ROWID;
        CREATE TABLE books(id INTEGER PRIMARY KEY AUTOINCREMENT, shelf TEXT REFERENCES shelves(code) ON DELETE CASCADE, "a ""title"" e\u{301}" TEXT,
          lent DECIMAL(5,2), n INT AS (length("a ""title"" e\u{301}")) STORED);
        CREATE UNIQUE INDEX twins ON books(shelf, lower("a ""title"" e\u{301}")) WHERE lent > 0;
        CREATE INDEX "odd 'index'" ON books(lent DESC);
        CREATE VIEW lent AS SELECT b.id, s.name FROM books b JOIN shelves s ON s.code = b.shelf WHERE b.lent > 0 -- those that are away
        ;
        CREATE TRIGGER shelf_gone AFTER DELETE ON shelves BEGIN UPDATE books SET shelf = NULL WHERE shelf = old.code; END;
        CREATE TRIGGER lend INSTEAD OF INSERT ON lent BEGIN UPDATE books SET lent = 1 WHERE id = new.id; END;
        INSERT INTO shelves VALUES('A', 'Art'), ('B', 'Birds'); INSERT INTO books(shelf, lent) VALUES('A', 1.5), ('b', NULL);
        """
    private static let objects = "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'snapsync%' AND name NOT LIKE 'sqlite%' ORDER BY 1, 2"

    private func writer(_ sql: String = library, _ options: String = "") throws -> Scene {
        try Scene.copy(of: "schema \(options) \(sql)") { scene in
            try scene.database("app.db").run(sql)
            try scene.succeed("init app.db cloud --name desk\(options)")
            try scene.sync("app")
        }
    }

    @Test(arguments: ["", " --encrypt"]) func aDatabaseThatWasLostComesBackWhole(options: String) throws {
        let scene = try writer(Self.library, options)
        let before = try scene.database("app.db").run(Self.objects), rows = "SELECT * FROM shelves; SELECT * FROM books; SELECT * FROM lent"
        let held = try scene.database("app.db").run(rows)
        if !options.isEmpty {
            #expect(try !String(contentsOfFile: scene.scratch.path("\(Scene.mainZone)/commits/00000000000000000001.json"), encoding: .utf8).contains("twins"))
        }
        // By the script, before anything is set up.
        let script = try scene.succeed("tables sql app.db")
        _ = try ProgramRun("sqlite3", ["-bail", "piped.db"], in: scene.scratch.path, input: Data(script.utf8))
        #expect(try scene.database("piped.db").run(Self.objects) == before)
        guard options.isEmpty else { return }
        try FileManager.default.removeItem(atPath: scene.scratch.path("app.db"))
        let set = try scene.succeed("join new.db cloud --writer --name desk --with-schema --take-over")
        #expect(set.contains("made the tables") && set.contains("index twins") && set.contains("trigger lend"), "\(set)")
        try scene.succeed("import new.db")
        #expect(try scene.database("new.db").run(Self.objects) == before)
        #expect(try scene.database("new.db").run(rows) == held)
        #expect(try scene.succeed("check new.db --local").contains("all is well"))
        #expect(try scene.succeed("sync new.db").hasPrefix("nothing new"))
        // A second time, all of it is there.
        try scene.succeed("join piped.db cloud --name r --with-schema")
        try scene.sync("piped")
        #expect(try scene.database("piped.db").run(rows) == held)
    }

    @Test func withoutTheTextTheTablesAreMadeAndTheRestIsNamed() throws {
        let scene = try writer()
        let set = try scene.succeed("join copy.db cloud --name r")
        let said = "the zone keeps the SQL of 5 indexes, views and triggers; snapsync join --with-schema runs it, snapsync tables sql prints it"
        #expect(set.contains(said), "\(set)")
        #expect(
            try scene.database("copy.db").run("SELECT count(*) FROM sqlite_schema WHERE type IN ('view', 'trigger') AND name NOT LIKE 'snapsync%'") == "0\n")
        #expect(try scene.run("join x.db cloud --with-schema --datasets d.json").status == 64)
    }

    @Test func whatNeedsMoreThanTheZoneHasIsNamed() throws {
        let scene = try Scene()
        try scene.database("app.db").run(
            """
            CREATE TABLE books(id INTEGER PRIMARY KEY, title TEXT); CREATE TABLE cache(id INTEGER PRIMARY KEY); CREATE VIRTUAL TABLE search USING fts5(title);
            CREATE TRIGGER found AFTER INSERT ON books BEGIN INSERT INTO search(rowid, title) VALUES(new.id, new.title); END;
            CREATE VIEW cached AS SELECT * FROM books JOIN cache USING(id); CREATE INDEX titles ON books(title);
            CREATE TRIGGER own AFTER INSERT ON books BEGIN SELECT of_the_application(new.id); END;
            """)
        try scene.succeed("init app.db cloud --name desk --exclude cache")
        try scene.sync("app")
        // The reader's own tables of these names stay what they are.
        try scene.database("copy.db").run("CREATE TABLE search(rowid, title); CREATE TABLE cache(id)")
        let made = try scene.json("join copy.db cloud --name r --with-schema")
        #expect(made["schemaMade"] as? [String] == ["table books", "index titles"])
        #expect(
            made["schemaLeftOut"] as? [String] == [
                "view cached: no such table: main.cache", "trigger found: no such table: main.search",
                "trigger own: it calls the function of_the_application, which is not SQLite's own",
            ])
        try scene.sync("copy")
        let report = try scene.json("tables sql cloud")
        #expect((report["statements"] as? [[String: Any]])?.filter { $0["lack"] != nil }.compactMap { $0["name"] as? String } == ["cached", "found", "own"])
        var seen: Set<String> = []
        #expect(try CommandPage().differences(of: report, from: "tables sql --json", seen: &seen) == [])
        let script = try scene.succeed("tables sql cloud")
        #expect(script.contains("-- CREATE VIEW cached") && script.contains("\nCREATE INDEX titles ON books(title);\n"), "\(script)")
    }

    @Test func theTextFollowsTheTables() throws {
        let scene = try Scene()
        try scene.database("a.db").run("CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT); CREATE INDEX first ON t(v); CREATE VIEW w AS SELECT v FROM t")
        try scene.succeed("init a.db cloud --peers --name a")
        try scene.sync("a")
        // A peer that joins without the index does not take it out of the zone, and adds its own.
        try scene.succeed("join b.db cloud --peer --name b")
        try scene.sync("b")
        func names() throws -> [String] {
            (try scene.json("tables sql cloud")["statements"] as? [[String: Any]])?.compactMap { $0["name"] as? String } ?? []
        }
        #expect(try names() == ["t", "first", "w"])
        try scene.database("b.db").run("CREATE INDEX second ON t(v, id)")
        #expect(try scene.succeed("sync b.db").contains("published version 2"))
        #expect(try names() == ["t", "first", "second", "w"])
        try scene.database("a.db").run("DROP VIEW w; DROP INDEX first; CREATE INDEX first ON t(v DESC); ALTER TABLE t ADD COLUMN n INT CHECK(n > 0)")
        try scene.sync("a")
        #expect(try names() == ["t", "second", "first"] || names() == ["t", "first", "second"])
        let script = try scene.succeed("tables sql cloud")
        #expect(script.contains("CHECK(n > 0)") && script.contains("first ON t(v DESC)") && !script.contains("VIEW"), "\(script)")
        #expect(try scene.succeed("sync a.db").hasPrefix("nothing new"))
    }

    @Test func indexesAndTriggersOfTheBuiltInTablesAreKept() throws {
        let scene = try Scene()
        try scene.succeed("init a.db cloud --built-in --name a")
        try scene.succeed("generate a.db --buckets 1 --notifications 2")
        try scene.sync("a")
        #expect(try scene.run("tables sql cloud").status == 66)
        try scene.database("a.db").run(
            "CREATE INDEX sent ON notifications(sentAt); INSERT INTO buckets SELECT 'x', name, NULL, NULL, NULL, createdAt, updatedAt, 0 FROM buckets LIMIT 1")
        try scene.sync("a")
        let set = try scene.succeed("join b.db cloud --name b --with-schema")
        #expect(set.contains("made the index sent"), "\(set)")
        try scene.sync("b")
    }

    /// Python statements that change `s`, the list of statements, and what the refusal says. SchemaRehearsalTests has others, without a zone.
    private static let forgeries = [
        ("s[0]['sql'] += '; DROP TABLE mine'", "not just the statement"), ("s.append({'type': 'index', 'name': 'x', 'sql': 'DROP TABLE mine'})", "index x"),
        ("s[0]['sql'] = 'INSERT INTO mine VALUES(2)'", "table books"), ("s[0]['sql'] = \"ATTACH 'other.db' AS o\"", "table books"),
        ("s[0]['sql'] = 'PRAGMA writable_schema = ON'", "table books"), ("s[0]['sql'] = 'CREATE TABLE books AS SELECT * FROM mine'", "books"),
        ("s.append({'type': 'trigger', 'name': 'r', 'sql': 'CREATE TEMP TRIGGER r AFTER INSERT ON books BEGIN DELETE FROM mine; END'})", "the trigger r"),
        ("s.append({'type': 'trigger', 'name': 'snapsync_r', 'sql': 'CREATE TRIGGER snapsync_r AFTER INSERT ON books BEGIN SELECT 1; END'})", "snapsync_r"),
        ("s.append({'type': 'view', 'name': 'mine', 'sql': 'CREATE VIEW mine AS SELECT 1 AS v'})", "the database has another table mine"),
        (
            "s += [{'type': 'view', 'name': 'mine', 'sql': 'CREATE VIEW mine AS SELECT 1 AS v'}, {'type': 'trigger', 'name': 'i', 'sql': 'CREATE TRIGGER i INSTEAD OF INSERT ON mine BEGIN SELECT 1; END'}, {'type': 'trigger', 'name': 'r', 'sql': 'CREATE TRIGGER r AFTER INSERT ON books BEGIN INSERT INTO mine VALUES(0); END'}]",
            "the database has another table mine"
        ),
        ("s.append({'type': 'index', 'name': 'a', 'sql': 'CREATE INDEX a ON books(\"x\\\"\\u0301); DROP TABLE mine; --\")'})", "index a"),
        ("s.append({'type': 'view', 'name': 'v', 'sql': 'CREATE VIEW v AS SELECT 1' + ' ' * 2000000})", "at most"),
        ("s.append({'type': 'pragma', 'name': 'v', 'sql': 'x'})", "statements"),
        ("s.append({'type': 'view', 'name': 'v', 'sql': 'CREATE VIEW v AS SELECT ' + '(' * 5000 + '1' + ')' * 5000})", "view v"),
        ("s.append({'type': 'table', 'name': 'u', 'sql': 'CREATE VIRTUAL TABLE u USING fts5(x)'})", ""),
    ]

    @Test(arguments: forgeries) func aForgedTextChangesNothing(edit: String, says: String) throws {
        let scene = try writer("CREATE TABLE books(id INTEGER PRIMARY KEY, title TEXT); INSERT INTO books VALUES(1, 'One')")
        try CloudForgery.rewriteCommit(
            scene.scratch.path("\(Scene.mainZone)/commits/00000000000000000001.json"),
            """
            field = [r for r in commit['saved'] if r['name'] == 'schema.sql'][0]['fields']['text']
            d = json.loads(field['value'])
            s = d['statements']
            \(edit)
            field['value'] = json.dumps(d)
            """)
        try scene.database("copy.db").run(
            "CREATE TABLE mine(v); INSERT INTO mine VALUES('precious'); CREATE TRIGGER own AFTER DELETE ON mine BEGIN SELECT 1; END")
        let before = try scene.database("copy.db").run(".dump")
        let run = try scene.run("join copy.db cloud --name r --with-schema")
        if says.isEmpty {
            #expect(run.status == 0 && run.text.contains("not made: table u: the zone describes no such table"), "\(run.errorText)")
        } else {
            #expect(run.status == 65 && run.errorText.contains(says), "\(run.status) \(run.errorText)")
            #expect(try scene.database("copy.db").run(".dump") == before)
            if !says.contains("another table") { #expect(try scene.run("tables sql cloud").status == 65) }
            // Without the text, the tables are made as ever.
            try scene.succeed("join copy.db cloud --name r")
        }
        try scene.sync("copy")
        #expect(try scene.database("copy.db").run("SELECT * FROM mine; SELECT * FROM books") == "precious\n1|One\n")
        #expect(try scene.database("copy.db").run("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name NOT LIKE 'snapsync%'") == "own\n")
        #expect(!FileManager.default.fileExists(atPath: scene.scratch.path("other.db")))
    }
}
