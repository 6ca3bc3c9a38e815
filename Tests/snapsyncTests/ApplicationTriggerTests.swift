import Foundation
import TestSupport
import Testing

/// An application's own triggers: after an import every synced table is what the version says, and tables that are not synced follow.
@Suite(.runsPrograms) struct ApplicationTriggerTests {
    /// A shelf: a cascade by hand, a touch trigger, a trigger that fills another synced table, one that goes round, and, not synced, counters,
    /// an audit log and a full-text index over rows whose only key is text.
    private static let schema = """
        CREATE TABLE books(id INTEGER PRIMARY KEY, title TEXT NOT NULL, position INTEGER NOT NULL UNIQUE, updatedAt TEXT,
            shout TEXT GENERATED ALWAYS AS (upper(title)) STORED);
        CREATE TABLE comments(id TEXT PRIMARY KEY, book INTEGER NOT NULL, text TEXT, score REAL);
        CREATE TABLE slugs(id TEXT PRIMARY KEY NOT NULL, slug TEXT UNIQUE, edits INTEGER) WITHOUT ROWID;
        CREATE TABLE counters(name TEXT PRIMARY KEY, n INTEGER NOT NULL);
        INSERT INTO counters VALUES('books', 0), ('comments', 0), ('slugs', 0);
        CREATE TABLE audit(seq INTEGER PRIMARY KEY, what TEXT);
        CREATE VIRTUAL TABLE search USING fts5(text, content='comments', content_rowid='rowid');
        CREATE TRIGGER books_cascade AFTER DELETE ON books BEGIN DELETE FROM comments WHERE book = OLD.id; END;
        CREATE TRIGGER books_touch AFTER UPDATE OF title, position ON books BEGIN
            UPDATE books SET updatedAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE id = NEW.id; END;
        CREATE TRIGGER books_round AFTER UPDATE OF updatedAt ON books BEGIN UPDATE books SET title = title WHERE id = NEW.id; END;
        CREATE TRIGGER books_in AFTER INSERT ON books BEGIN
            UPDATE counters SET n = n + 1 WHERE name = 'books';
            INSERT INTO audit(what) VALUES('in ' || NEW.id);
            INSERT OR REPLACE INTO slugs VALUES('b' || NEW.id, 'slug of ' || NEW.id, 0); END;
        CREATE TRIGGER books_out AFTER DELETE ON books BEGIN
            UPDATE counters SET n = n - 1 WHERE name = 'books'; INSERT INTO audit(what) VALUES('out ' || OLD.id); END;
        CREATE TRIGGER books_edit BEFORE UPDATE OF title, position ON books BEGIN
            UPDATE slugs SET edits = edits + 1 WHERE id = 'b' || NEW.id;
            INSERT INTO audit(what) VALUES('edit ' || NEW.id || ' ' || OLD.title || '>' || NEW.title); END;
        CREATE TRIGGER comments_in AFTER INSERT ON comments BEGIN
            UPDATE counters SET n = n + 1 WHERE name = 'comments'; INSERT INTO search(rowid, text) VALUES(NEW.rowid, NEW.text); END;
        CREATE TRIGGER comments_out AFTER DELETE ON comments BEGIN
            UPDATE counters SET n = n - 1 WHERE name = 'comments'; INSERT INTO search(search, rowid, text) VALUES('delete', OLD.rowid, OLD.text); END;
        CREATE TRIGGER comments_edit AFTER UPDATE ON comments BEGIN
            INSERT INTO search(search, rowid, text) VALUES('delete', OLD.rowid, OLD.text); INSERT INTO search(rowid, text) VALUES(NEW.rowid, NEW.text); END;
        CREATE TRIGGER slugs_in AFTER INSERT ON slugs BEGIN UPDATE counters SET n = n + 1 WHERE name = 'slugs'; END;
        CREATE TRIGGER slugs_out AFTER DELETE ON slugs BEGIN UPDATE counters SET n = n - 1 WHERE name = 'slugs'; END;
        """

    private static let datasets = """
        {"formatVersion": 1, "datasets": [
          {"name": "books", "key": "id", "timestamp": "updatedAt", "columns": [
            {"name": "id", "type": "integer"}, {"name": "title", "type": "text"}, {"name": "position", "type": "integer"},
            {"name": "updatedAt", "type": "text", "optional": true}]},
          {"name": "comments", "key": "id", "columns": [
            {"name": "id", "type": "text"}, {"name": "book", "type": "integer"}, {"name": "text", "type": "text", "optional": true},
            {"name": "score", "type": "real", "optional": true}]},
          {"name": "slugs", "key": "id", "columns": [
            {"name": "id", "type": "text"}, {"name": "slug", "type": "text", "optional": true}, {"name": "edits", "type": "integer", "optional": true}]}]}
        """

    /// Two devices of which the first has filled its tables and published, and the second has imported that.
    private func scene(_ first: String, _ second: String, journal: String = "delete", extra: String = "") throws -> Scene {
        try Scene.copy(of: "shelf \(first) \(second) \(journal) \(extra)") { scene in
            try scene.scratch.write(Self.datasets, to: "shelf.json")
            for name in ["a", "b"] { try scene.database("\(name).db").run("PRAGMA journal_mode = \(journal); \(Self.schema)\(name == "b" ? extra : "")") }
            try scene.database("a.db").run(
                """
                INSERT INTO books(id, title, position) VALUES(1, 'One', 1), (2, 'Two', 2), (3, 'Three', 3), (4, 'Four', 4);
                INSERT INTO comments VALUES('c1', 1, 'first word', -0.0), ('c2', 2, 'second word', 2.0), ('c3', 3, 'third word', 3.5);
                """)
            for (name, role) in [("a", first), ("b", second)] {
                let sharing = role == "peer" ? " --shared-keys" : ""
                try scene.succeed(Scene.setUp("\(name).db", as: role, "--name \(name) --datasets shelf.json\(sharing)"))
                try scene.sync(name)
            }
        }
    }

    /// Everything of the synced tables, exactly.
    private func synced(_ scene: Scene, _ name: String) throws -> String {
        let database = scene.database("\(name).db")
        return try ["books", "comments", "slugs"].map { try database.values(of: $0, orderedBy: "id") }.joined(separator: "--\n")
            + database.run("SELECT shout FROM books ORDER BY id")
    }

    /// Whether what is not synced follows the synced tables: the counters, and the full-text index by its own check.
    private func expectFollowing(_ scene: Scene, _ name: String, at location: SourceLocation = #_sourceLocation) throws {
        let database = scene.database("\(name).db")
        #expect(
            try database.run("SELECT n FROM counters ORDER BY name")
                == database.run("SELECT count(*) FROM books UNION ALL SELECT count(*) FROM comments UNION ALL SELECT count(*) FROM slugs"),
            sourceLocation: location)
        #expect(try database.run("INSERT INTO search(search, rank) VALUES('integrity-check', 1)") == "", sourceLocation: location)
        #expect(
            try database.run("SELECT count(*) FROM search('word')") == database.run("SELECT count(*) FROM comments WHERE text LIKE '%word%'"),
            sourceLocation: location)
    }

    @Test(arguments: [("writer", "reader", "delete"), ("peer", "peer", "wal")])
    func synchronizedTablesAreTheVersionAndTheOthersFollow(first: String, second: String, journal: String) throws {
        let scene = try scene(first, second, journal: journal)
        #expect(try synced(scene, "b") == synced(scene, "a"))
        try expectFollowing(scene, "b")
        let audited = Int(try scene.database("b.db").run("SELECT max(seq) FROM audit").dropLast()) ?? 0
        let rowids = try scene.database("b.db").run("SELECT id, rowid FROM comments ORDER BY id")

        // One edit, one deletion whose comment moves to another book, an exchange of unique values, a new row.
        try scene.database("a.db").run(
            """
            UPDATE books SET title = 'Uno' WHERE id = 1;
            UPDATE comments SET book = 2 WHERE id = 'c3'; DELETE FROM books WHERE id = 3;
            UPDATE books SET position = 9 WHERE id = 2; UPDATE books SET position = 2 WHERE id = 4; UPDATE books SET position = 4 WHERE id = 2;
            INSERT INTO books(id, title, position) VALUES(5, 'Five', 5);
            UPDATE comments SET text = 'another word' WHERE id = 'c2';
            """)
        try scene.sync("a", "b")
        #expect(try synced(scene, "b") == synced(scene, "a"))
        try expectFollowing(scene, "b")
        #expect(try scene.database("b.db").run("SELECT id, rowid FROM comments ORDER BY id") == rowids)
        // The triggers saw what changed and nothing else.
        let seen = try scene.database("b.db").run("SELECT DISTINCT what FROM audit WHERE seq > \(audited) ORDER BY what")
        #expect(seen == "edit 1 One>Uno\nedit 2 Two>Two\nedit 4 Four>Four\nin 5\nout 3\n")
        // Nothing of it is an edit of the second device.
        #expect(
            try scene.database("b.db").run("SELECT (SELECT count(*) FROM snapsync_changes) + (SELECT count(*) FROM snapsync_log WHERE dataset > 0)") == "0\n")
        let status = try scene.succeed("sync b.db")
        #expect(!status.contains("published"))
    }

    /// Rows pass UNIQUE values on in rounds and chains, beside rows that are new and gone, and change other columns or none.
    @Test func triggersRunForRowsThatExchangeUniqueValues() throws {
        let scene = try Scene()
        for name in ["a", "b"] {
            try scene.database("\(name).db").run(
                """
                CREATE TABLE seats(id INTEGER PRIMARY KEY, guest TEXT UNIQUE, place INTEGER NOT NULL UNIQUE, price INTEGER NOT NULL);
                CREATE TABLE sums(n INTEGER, total INTEGER); INSERT INTO sums VALUES(0, 0);
                CREATE TRIGGER seats_in AFTER INSERT ON seats BEGIN UPDATE sums SET n = n + 1, total = total + NEW.price; END;
                CREATE TRIGGER seats_out AFTER DELETE ON seats BEGIN UPDATE sums SET n = n - 1, total = total - OLD.price; END;
                CREATE TRIGGER seats_price AFTER UPDATE OF price ON seats BEGIN UPDATE sums SET total = total + NEW.price - OLD.price; END;
                """)
        }
        for line in ["init a.db cloud --name a --tables seats", "sync a.db", "join b.db cloud --name b"] { try scene.succeed(line) }
        let first = "(2, 'a', 2, 10), (4, 'b', 4, 20), (5, 'c', 5, 30)"
        for rows in [first] + Self.exchanges.flatMap({ [$0, first] }) {
            try scene.database("a.db").run("BEGIN; DELETE FROM seats; INSERT INTO seats VALUES\(rows); COMMIT")
            let said = try scene.sync("a", "b")
            #expect(!said.contains("triggers off"), "\(rows): \(said)")
            #expect(try scene.database("b.db").run("SELECT * FROM sums") == scene.database("b.db").run("SELECT count(*), sum(price) FROM seats"), "\(rows)")
        }
    }

    private static let exchanges = [
        "(1, 'a', 1, 1), (2, 'd', 2, 11), (3, 'e', 3, 2), (4, 'c', 4, 21), (5, 'b', 5, 30)",
        "(1, 'a', 2, 1), (2, 'd', 1, 10), (3, 'e', 4, 2), (4, 'c', 5, 20), (5, 'b', 3, 30)",
        "(2, 'b', 4, 10), (4, 'c', 5, 21), (5, 'a', 2, 30)", "(2, 'c', 5, 10), (4, 'a', 2, 20), (5, 'b', 4, 31)",
        "(1, 'c', 2, 1), (4, 'a', 5, 20), (5, NULL, 4, 30), (6, 'b', 6, 1)", "(1, 'b', 4, 1), (2, 'c', 2, 11), (5, 'a', 5, 30), (7, 'd', 1, 2)",
        "(2, NULL, 5, 10), (4, 'a', 2, 22), (5, 'b', 4, 30), (8, 'c', 8, 3)",
    ]

    @Test func peersThatEditWhileTriggersRunEndEqual() throws {
        let scene = try scene("peer", "peer")
        try scene.database("a.db").run("UPDATE books SET title = 'By a' WHERE id = 1; DELETE FROM books WHERE id = 2")
        try scene.database("b.db").run(
            "UPDATE books SET title = 'By b' WHERE id = 3; UPDATE comments SET text = 'kept word' WHERE id = 'c1'; INSERT INTO books(id, title, position) VALUES(7, 'Seven', 7)"
        )
        for _ in 0..<2 { for name in ["a", "b"] { try scene.succeed("sync \(name).db") } }
        #expect(try synced(scene, "a") == synced(scene, "b"))
        for name in ["a", "b"] {
            try expectFollowing(scene, name)
            #expect(try scene.database("\(name).db").run("SELECT title FROM books ORDER BY id") == "By a\nBy b\nFour\nSeven\n")
            #expect(try scene.succeed("sync \(name).db").contains("nothing new"))
        }
    }

    @Test func restoreAndUndoChangeWhatTheySayAndNoMore() throws {
        let scene = try scene("peer", "peer")
        let before = try synced(scene, "a")
        try scene.database("a.db").run(
            "UPDATE books SET title = 'Changed' WHERE id = 1; DELETE FROM books WHERE id = 2; INSERT INTO comments VALUES('c9', 4, 'ninth word', NULL)")
        try scene.sync("a")
        let after = try synced(scene, "a")
        try scene.succeed("restore a.db 1")
        #expect(try synced(scene, "a") == before)
        try expectFollowing(scene, "a")
        try scene.sync("a", "b")
        #expect(try synced(scene, "b") == before)
        try scene.succeed("undo a.db")
        #expect(try synced(scene, "a") == after)
        try expectFollowing(scene, "a")
        try scene.sync("a", "b")
        #expect(try synced(scene, "b") == after)
        try expectFollowing(scene, "b")
    }

    /// What a trigger that fails is like, what the warning says, and which rows' counters it costs.
    @Test(arguments: [
        (
            "BEFORE INSERT ON books WHEN NEW.title LIKE 'bad%' BEGIN SELECT RAISE(ABORT, 'no bad titles'); END",
            "the trigger odd failed (no bad titles) for 1 row"
        ),
        (
            "AFTER INSERT ON books WHEN NEW.title LIKE 'bad%' BEGIN UPDATE counters SET n = 99; SELECT RAISE(FAIL, 'no bad titles'); END",
            "the trigger odd failed (no bad titles) for 1 row"
        ),
        ("BEFORE INSERT ON books WHEN NEW.title LIKE 'bad%' BEGIN SELECT RAISE(IGNORE); END", "the trigger odd failed (it left the row as it was) for 1 row"),
        (
            "AFTER INSERT ON books WHEN NEW.title LIKE 'bad%' BEGIN SELECT RAISE(ROLLBACK, 'away with it'); END",
            "the trigger odd rolls the whole import back (away with it); no trigger of books ran"
        ),
        (
            "AFTER INSERT ON books WHEN NEW.title LIKE 'bad%' BEGIN INSERT INTO audit(what) VALUES(app_hash(NEW.title)); END",
            "the trigger odd failed (no such function: app_hash) for 2 rows"
        ),
        (
            "AFTER INSERT ON books WHEN NEW.title LIKE 'bad%' BEGIN INSERT INTO gone VALUES(1); END",
            "the trigger odd failed (no such table: main.gone) for 2 rows"
        ),
    ])
    func triggerThatFailsStopsNoImport(trigger: String, warning: String) throws {
        let scene = try scene("writer", "reader", extra: "CREATE TRIGGER idle AFTER DELETE ON audit BEGIN DELETE FROM books; END;")
        try scene.database("b.db").run("CREATE TRIGGER odd \(trigger)")
        try scene.database("a.db").run(
            "INSERT INTO books(id, title, position) VALUES(8, 'bad', 8), (9, 'good', 9); DELETE FROM books WHERE id = 4; UPDATE comments SET text = 'last word' WHERE id = 'c1'"
        )
        try scene.sync("a")
        let imported = try scene.json("import b.db")
        let warnings = try #require(imported["warnings"] as? [String])
        #expect(warnings.contains { $0.contains(warning) }, "\(warnings)")
        #expect(try synced(scene, "b") == synced(scene, "a"))
        #expect(try scene.database("b.db").run("INSERT INTO search(search, rank) VALUES('integrity-check', 1); SELECT count(*) FROM search('last')") == "1\n")
        #expect(try scene.database("b.db").run("PRAGMA integrity_check") == "ok\n")
        #expect(try scene.database("b.db").run("SELECT count(*) FROM snapsync_changes") == "0\n")
        // All as it was for the next import.
        try scene.database("a.db").run("UPDATE comments SET text = 'once more' WHERE id = 'c1'")
        try scene.sync("a", "b")
        #expect(try synced(scene, "b") == synced(scene, "a"))
    }

    @Test func datasetFileTurnsTriggersOff() throws {
        let scene = try scene("writer", "reader")
        try scene.succeed("detach b.db")
        try scene.scratch.write(
            Self.datasets.replacingOccurrences(of: "\"name\": \"books\",", with: "\"name\": \"books\", \"triggers\": \"off\","), to: "off.json")
        let setUp = try scene.json("join b.db cloud --name b2 --datasets off.json --replace-local")
        let triggers = try #require(setUp["triggers"] as? [[String: Any]])
        #expect(triggers.filter { $0["dataset"] as? String == "books" }.allSatisfy { $0["runs"] as? Bool == false })
        #expect(triggers.contains { $0["dataset"] as? String == "comments" && $0["runs"] as? Bool == true })
        try scene.sync("b")
        let audited = try scene.database("b.db").run("SELECT count(*) FROM audit")
        try scene.database("a.db").run(
            "UPDATE books SET title = 'Quiet' WHERE id = 1; DELETE FROM books WHERE id = 2; UPDATE comments SET text = 'loud word' WHERE id = 'c1'")
        try scene.sync("a", "b")
        #expect(try synced(scene, "b") == synced(scene, "a"))
        #expect(try scene.database("b.db").run("SELECT count(*) FROM audit") == audited)
        #expect(try scene.database("b.db").run("SELECT count(*) FROM search('loud')") == "1\n")
        let wrong = Self.datasets.replacingOccurrences(of: "\"name\": \"books\",", with: "\"name\": \"books\", \"triggers\": \"perhaps\",")
        try scene.scratch.write(wrong, to: "wrong.json")
        #expect(try scene.run("join c.db cloud --datasets wrong.json").status != 0)
    }

    @Test func initAndDoctorNameTriggersAndWhatBecomesOfThem() throws {
        let scene = try scene(
            "writer", "reader", extra: "CREATE TRIGGER hash AFTER INSERT ON comments BEGIN INSERT INTO audit(what) VALUES(app_hash(NEW.text)); END;")
        try scene.succeed("detach b.db")
        let lines = try scene.succeed("join b.db cloud --name b2 --datasets shelf.json --replace-local")
        #expect(lines.contains("the trigger slugs_in of slugs runs for the rows that an import changes; what it writes into synced tables is ignored then"))
        #expect(lines.contains("the trigger hash of comments cannot run without the application (no such function: app_hash)"))
        let doctor = try scene.doctor("b.db", exit: 0)
        #expect(doctor.about("applicationTriggers").contains { $0.severity == "ok" && $0.found.contains("slugs_in") })
        #expect(doctor.about("applicationTriggers").contains { $0.severity == "notice" && $0.found.contains("app_hash") })
    }

    @Test func triggersOfTablesThatAreNotSyncedDoNotReachSyncedOnes() throws {
        let scene = try Scene()
        // A cascade into the application's own table fires a trigger there.
        let schema = """
            CREATE TABLE rooms(id TEXT PRIMARY KEY, name TEXT NOT NULL);
            CREATE TABLE notes(id INTEGER PRIMARY KEY, room TEXT REFERENCES rooms(id) ON DELETE CASCADE, text TEXT);
            CREATE TABLE log(what TEXT);
            CREATE TRIGGER notes_out AFTER DELETE ON notes BEGIN INSERT INTO log VALUES(OLD.text); DELETE FROM rooms; END;
            """
        try scene.scratch.write(
            #"{"formatVersion": 1, "datasets": [{"name": "rooms", "key": "id", "columns": [{"name": "id", "type": "text"}, {"name": "name", "type": "text"}]}]}"#,
            to: "rooms.json")
        for name in ["a", "b"] { try scene.database("\(name).db").run(schema) }
        try scene.database("a.db").run("INSERT INTO rooms VALUES('r1', 'One'), ('r2', 'Two')")
        for (name, role) in [("a", "writer"), ("b", "reader")] {
            try scene.succeed(Scene.setUp("\(name).db", as: role, "--name \(name) --datasets rooms.json"))
            try scene.succeed("sync \(name).db")
        }
        try scene.database("b.db").run("INSERT INTO notes VALUES(1, 'r1', 'mine'), (2, 'r2', 'stays')")
        try scene.database("a.db").run("DELETE FROM rooms WHERE id = 'r1'")
        try scene.sync("a", "b")
        #expect(try scene.database("b.db").run("SELECT id FROM rooms; SELECT id FROM notes; SELECT * FROM log") == "r2\n2\nmine\n")
    }
}
