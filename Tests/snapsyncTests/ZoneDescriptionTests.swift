import Foundation
import TestSupport
import Testing

/// A zone that describes its tables: readers and peers that need no dataset file, and descriptions that lie.
@Suite(.runsPrograms) struct ZoneDescriptionTests {
    /// Databases with the features of real applications.
    static let databases = ["music", "blog", "library", "home", "cards", "history"]

    private static let schema = """
        CREATE TABLE shelves(code VARCHAR(8) PRIMARY KEY NOT NULL COLLATE BINARY, name TEXT NOT NULL COLLATE NOCASE UNIQUE);
        CREATE TABLE books(id INTEGER PRIMARY KEY AUTOINCREMENT, shelf TEXT NOT NULL REFERENCES shelves(code) ON DELETE CASCADE, title TEXT, lent BOOLEAN, twin INTEGER REFERENCES books(id));
        CREATE UNIQUE INDEX twins ON books(shelf, title);
        INSERT INTO shelves VALUES('A', 'Art'), ('B', 'Birds');
        INSERT INTO books(id, shelf, title, lent) VALUES(1, 'A', 'One', 0), (2, 'B', NULL, 1);
        """

    private func library() throws -> Scene {
        try Scene.copy(of: "a library") { scene in
            try scene.database("app.db").run(Self.schema)
            try scene.succeed("init app.db cloud --name desk")
            try scene.sync("app")
        }
    }

    private func script(_ name: String) throws -> String {
        try String(contentsOf: Repository.root.appendingPathComponent("Tests/Databases/\(name).py"), encoding: .utf8)
    }

    /// The two commands of the README, on databases that Python makes and compares.
    @Test func wholeDatabasesArriveWithTheirTables() throws {
        let scene = try Scene()
        try Python.run(try script("make_databases"), in: scene.scratch.path)
        for name in Self.databases {
            try scene.succeed("init \(name).db \(name) --name w")
            try scene.succeed("sync \(name).db")
            try scene.succeed("join copy-\(name).db \(name) --name r")
            try scene.succeed("sync copy-\(name).db")
            let outcome = try Python.run(try script("compare_databases"), ["\(name).db", "copy-\(name).db", ""], in: scene.scratch.path)
            #expect(outcome.contains(" same ok 0"), "\(outcome)")
            #expect(try scene.succeed("sync \(name).db").hasPrefix("nothing new since version 1"))
            #expect(try scene.succeed("check copy-\(name).db --local").contains("all is well"))
        }
    }

    @Test func tablesAreMadeAsTheyAreDeclared() throws {
        let scene = try library()
        let made = try scene.json("join copy.db cloud --name r")
        #expect(made["tablesMade"] as? [String] == ["shelves", "books"])
        #expect(
            try scene.database("copy.db").run("SELECT sql FROM sqlite_schema WHERE name IN ('books', 'shelves') ORDER BY name")
                == """
                CREATE TABLE "books"("id" INTEGER PRIMARY KEY AUTOINCREMENT, "shelf" TEXT NOT NULL, "title" TEXT, "lent" BOOLEAN, "twin" INTEGER, UNIQUE("shelf" COLLATE BINARY, "title" COLLATE BINARY), FOREIGN KEY("twin") REFERENCES "books"("id"), FOREIGN KEY("shelf") REFERENCES "shelves"("code") ON DELETE CASCADE)
                CREATE TABLE "shelves"("code" TEXT NOT NULL, "name" TEXT NOT NULL COLLATE NOCASE, PRIMARY KEY("code"), UNIQUE("name" COLLATE NOCASE))

                """)
        // Changes go on arriving, and a peer may join the same way where peers publish.
        try scene.sync("copy")
        try scene.database("app.db").run(
            "UPDATE books SET title = 'Two', twin = 1 WHERE id = 2; DELETE FROM books WHERE id = 1; INSERT INTO shelves VALUES('C', 'Cars')")
        try scene.sync("app", "copy")
        #expect(try scene.database("copy.db").run("SELECT * FROM books; SELECT * FROM shelves") == "2|B|Two|1|1\nA|Art\nB|Birds\nC|Cars\n")
    }

    @Test func aPeerJoinsWithoutAFile() throws {
        let scene = try Scene.pair(Self.schema, roles: ("peer --key-range", "peer --key-range"))
        try scene.database("b.db").run("UPDATE shelves SET name = 'Air' WHERE code = 'A'")
        try scene.sync("b", "a")
        #expect(try scene.database("a.db").run("SELECT name FROM shelves WHERE code = 'A'") == "Air\n")
        for name in ["a", "b"] { #expect(try scene.succeed("sync \(name).db").hasPrefix("nothing new")) }
    }

    @Test func aReaderThatComesTooEarlyIsToldWhoHasToSync() throws {
        let scene = try Scene()
        try scene.database("app.db").run(Self.schema)
        try scene.succeed("init app.db cloud --name desk")
        let run = try scene.run("join copy.db cloud")
        #expect(run.status == 66 && run.errorText.contains("hint: run snapsync sync DB on desk first"), "\(run.errorText)")
        #expect(!FileManager.default.fileExists(atPath: scene.scratch.path("copy.db")))
    }

    /// The description is published again when a table's structure changes, and only then.
    @Test func structureThatChangesIsPublished() throws {
        let scene = try library()
        try scene.database("app.db").run("CREATE UNIQUE INDEX titles ON books(title); CREATE INDEX lent ON books(lent)")
        try scene.sync("app")
        #expect(try scene.succeed("sync app.db").hasPrefix("nothing new since version 2"))
        // An index that is not UNIQUE is part of the SQL text alone.
        try scene.database("app.db").run("DROP INDEX lent")
        #expect(try scene.succeed("sync app.db").hasPrefix("published version 3"))
        try scene.succeed("join copy.db cloud --name r")
        #expect(try scene.database("copy.db").run("SELECT sql LIKE '%UNIQUE(\"title\" COLLATE BINARY)%' FROM sqlite_schema WHERE name = 'books'") == "1\n")
        try scene.sync("copy")
    }

    /// A device whose file has other names for table and columns leaves the zone's description alone.
    @Test func otherNamesOfAPeerAreItsOwnBusiness() throws {
        let scene = try Scene()
        try scene.database("a.db").run("CREATE TABLE notes(id TEXT PRIMARY KEY, body TEXT); INSERT INTO notes VALUES('x', 'y')")
        try scene.database("b.db").run("CREATE TABLE Notizen(nr TEXT PRIMARY KEY, inhalt TEXT)")
        try scene.scratch.write(
            #"{"formatVersion":1,"datasets":[{"name":"notes","table":"Notizen","key":"id","columns":[{"name":"id","column":"nr"},{"name":"body","column":"inhalt"}]}]}"#,
            to: "b.json")
        try scene.succeed("init a.db cloud --peers --name a")
        try scene.sync("a")
        try scene.succeed("init b.db cloud --peers --name b --datasets b.json")
        try scene.sync("b")
        #expect(try scene.succeed("sync b.db").hasPrefix("nothing new since version 1"))
        #expect(try scene.succeed("sync a.db").hasPrefix("nothing new since version 1"))
    }

    @Test(arguments: [
        ("CREATE TABLE books(id INTEGER PRIMARY KEY, shelf TEXT, title TEXT, lent TEXT, twin INTEGER)", "the column lent is declared TEXT"),
        ("CREATE TABLE books(id INTEGER PRIMARY KEY, shelf TEXT, title TEXT NOT NULL, lent BOOLEAN, twin INTEGER)", "the column title is NOT NULL here"),
    ])
    func aTableThatContradictsTheDescriptionIsRefused(table: String, says: String) throws {
        let scene = try library()
        try scene.database("copy.db").run(table)
        let before = try scene.database("copy.db").run(".dump")
        let run = try scene.run("join copy.db cloud")
        #expect(run.status == 78 && run.errorText.contains("table books") && run.errorText.contains(says), "\(run.errorText)")
        #expect(try scene.database("copy.db").run(".dump") == before)
    }

    private static let forgeries = [
        ("d['dataset']['columns'] += [{'name': 'c%d' % i, 'type': 'text', 'optional': True} for i in range(10000)]", "1 to 1000 columns"),
        ("d['dataset']['table'] = 'sqlite_schema'", "is reserved"), ("d['dataset']['table'] = 'SnapSync_settings'", "is reserved"),
        ("d['dataset']['table'] = 'a\\nb'", "control characters"), ("d['dataset']['name'] = 'x' * 65", "dataset name"),
        ("d['dataset']['name'] = 'shelves'", "another dataset than its record's name says"),
        ("d['dataset']['table'] = 'SHELVES'", "two datasets have one table"),
        ("d['dataset']['recordName'] = 'shelves_data'", "two datasets have one record name"),
        ("d['structure']['columns'][1]['column'] = 'id'", "named twice"), ("d['structure']['columns'].pop()", "are not the dataset's"),
        ("d['structure']['columns'][1]['declared'] = 'TEXT); DROP TABLE x; --'", "structure"),
        ("d['structure']['columns'][1]['collation'] = 'german'", "structure"), ("d['structure']['primaryKey'] = ['id', 'ID']", "primary key"),
        ("d['structure']['unique'] = [{'columns': ['nope'], 'collations': ['binary']}]", "UNIQUE"),
        ("d['structure']['unique'] *= 1100", "more than 1000"),
        ("d['structure']['references'][0]['parent'] = 'nope'", "which is not described"),
        ("d['structure']['references'][0]['parentColumns'] = ['nope']", "a column that"),
        ("d['structure']['references'][0]['onDelete'] = 'EXPLODE'", "structure"), ("d['structure']['autoincrement'] = 1", "true or false"),
        ("d['structure']['strict'] = True", "STRICT"), ("del d['structure']", "structure"), ("d['dataset']['extra'] = 1", "extra"),
        ("d['structure']['columns'][1]['default'] = {'sql': 'random()'}", "structure"),
        ("d['structure']['columns'][1]['default'] = {'current': 'user'}", "structure"),
        ("d = []", "an object is expected"), ("d = 'x' * 2000000", "at most"),
    ]

    @Test func aForgedDescriptionIsRefused() throws {
        let scene = try library()
        let name = "\(Scene.mainZone)/commits/00000000000000000001.json", good = try scene.scratch.read(name)
        func join(_ edit: String) throws -> ProgramRun {
            try scene.scratch.write(good, to: name)
            try CloudForgery.rewriteCommit(
                scene.scratch.path(name),
                """
                field = [r for r in commit['saved'] if r['name'] == 'table.books'][0]['fields']['description']
                d = json.loads(field['value'])
                \(edit)
                field['value'] = json.dumps(d)
                """)
            return try scene.run("join copy.db cloud")
        }
        for (edit, says) in Self.forgeries {
            let run = try join(edit)
            #expect(run.status == 65 && run.errorText.contains(says), "\(edit): \(run.status) \(run.errorText)")
            #expect(!scene.scratch.exists("copy.db"), "\(edit)")
        }
        // A description in an unknown format is for a newer program.
        let newer = try join("d = {'formatVersion': 3}")
        #expect(newer.status == 78 && newer.errorText.contains("update snapsync"), "\(newer.errorText)")
    }

    /// Tables that refer to one another in a circle are real, and are made.
    @Test func aCircleOfParentsArrives() throws {
        let scene = try Scene()
        try scene.database("app.db").run(
            """
            CREATE TABLE hens(id INTEGER PRIMARY KEY, egg INTEGER REFERENCES eggs(id)); CREATE TABLE eggs(id INTEGER PRIMARY KEY, hen INTEGER REFERENCES hens(id));
            INSERT INTO hens VALUES(1, 1); INSERT INTO eggs VALUES(1, 1);
            """)
        try scene.succeed("init app.db cloud --name w")
        try scene.sync("app")
        try scene.succeed("join copy.db cloud --name r")
        try scene.sync("copy")
        #expect(try scene.database("copy.db").run("SELECT * FROM hens; SELECT * FROM eggs; PRAGMA foreign_key_check") == "1|1\n1|1\n")
    }

    @Test func deferredForeignKeysAreMadeDeferred() throws {
        let scene = try Scene()
        try scene.database("app.db").run(
            """
            CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL, "other id" TEXT, UNIQUE(id, "other id"));
            CREATE TABLE c(id TEXT PRIMARY KEY NOT NULL CHECK(length(id) > 0), a TEXT /* DEFERRABLE */ REFERENCES p(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED NOT NULL,
              b TEXT REFERENCES p NOT DEFERRABLE INITIALLY DEFERRED, d TEXT REFERENCES p DEFERRABLE INITIALLY IMMEDIATE, "e,f" TEXT, g TEXT,
              CONSTRAINT pair FOREIGN KEY("e,f", g) REFERENCES "p"(id, "other id") DEFERRABLE INITIALLY DEFERRED
              FOREIGN KEY(g) REFERENCES p(id));
            """)
        try scene.succeed("init app.db cloud --name w")
        try scene.sync("app")
        try scene.succeed("join copy.db cloud --name r")
        for name in ["app", "copy"] {
            let database = scene.database("\(name).db")
            // Only a deferred foreign key lets the child come before its parent.
            let parent = "INSERT INTO p VALUES('p', 'q'); COMMIT; SELECT count(*) FROM c"
            func isAccepted(_ columns: String, _ values: String) -> Bool {
                (try? database.run("PRAGMA foreign_keys = ON; BEGIN; INSERT INTO c(id, a, \(columns)) VALUES('c', 'p', \(values)); \(parent)")) == "1\n"
            }
            #expect(!isAccepted("b", "'p'") && !isAccepted("d", "'p'") && !isAccepted("g", "'p'"), "\(name)")
            #expect(isAccepted("\"e,f\"", "'x'"), "\(name)")
        }
    }
}
