import Foundation
import TestSupport
import Testing

/// Constraints and indexes that SQLite permits and few applications have: a zone's description carries them, or its SQL text does.
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct OddConstraintTests {
    /// A writer `a.db` with these tables, and a reader `b.db` made from the zone. Returns what the writer's `init` says.
    private func carried(_ sql: String, _ query: String) throws -> (Scene, said: String) {
        let scene = try Scene()
        try scene.database("a.db").run(sql)
        let said = try scene.succeed("init a.db cloud --name a")
        try scene.sync("a")
        try scene.succeed("join b.db cloud --name b")
        try scene.sync("b")
        #expect(try scene.database("b.db").run(query) == scene.database("a.db").run(query))
        return (scene, said)
    }

    @Test func aColumnMayStandTwiceInAConstraint() throws {
        let (scene, _) = try carried(
            """
            CREATE TABLE places(x INTEGER NOT NULL, y INTEGER NOT NULL, name TEXT, PRIMARY KEY(x, y, x));
            CREATE TABLE plays(member TEXT NOT NULL, song TEXT NOT NULL, at TEXT NOT NULL, CONSTRAINT once UNIQUE(member, song, at, member));
            CREATE TABLE corners(id INTEGER PRIMARY KEY, side INTEGER, tag TEXT UNIQUE, FOREIGN KEY(side, side) REFERENCES places(x, y));
            INSERT INTO places VALUES(1, 1, 'one'), (1, 2, 'two'); INSERT INTO plays VALUES('m', 's', '1'), ('m', 's', '2');
            INSERT INTO corners VALUES(7, 1, 'a'), (8, NULL, 'b');
            """, "SELECT * FROM places ORDER BY 1, 2; SELECT * FROM plays ORDER BY 3; SELECT * FROM corners")
        try scene.database("a.db").run("REPLACE INTO plays VALUES('m', 's', '2'); UPDATE places SET name = 'uno' WHERE y = 1; DELETE FROM corners WHERE id = 8")
        try scene.sync("a", "b")
        #expect(try scene.database("b.db").run("SELECT name FROM places ORDER BY y; SELECT count(*) FROM plays; SELECT id FROM corners") == "uno\ntwo\n2\n7\n")
        let again = try scene.database("b.db").run("INSERT OR IGNORE INTO plays VALUES('m', 's', '1'); SELECT changes()")
        #expect(again == "0\n", "the copy's table has the UNIQUE constraint")
        for name in ["a", "b"] { try scene.succeed("check \(name).db --all-versions --local") }
    }

    @Test func tablesWithManyConstraintsTravel() throws {
        let columns = (1...80).map { "u\($0) TEXT UNIQUE, r\($0) INTEGER REFERENCES kinds" }.joined(separator: ", ")
        _ = try carried(
            """
            CREATE TABLE kinds(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO kinds VALUES(1, 'k');
            CREATE TABLE wide(id INTEGER PRIMARY KEY, \(columns)); INSERT INTO wide(id, u80, r80) VALUES(1, 'x', 1);
            """, "SELECT * FROM wide; SELECT count(*) FROM pragma_index_list('wide'); SELECT count(*) FROM pragma_foreign_key_list('wide')")
    }

    /// The word decides whether a device can have a range of keys.
    @Test func aColumnOrACommentNamedAutoincrementIsNone() throws {
        let scene = try Scene()
        try scene.database("a.db").run(
            """
            CREATE TABLE real(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT);
            CREATE TABLE settings(id INTEGER PRIMARY KEY, "autoincrement" TEXT /* no AUTOINCREMENT here */);
            """)
        let run = try scene.run("init a.db cloud --peers --name a --key-range")
        #expect(run.status == 78 && run.errorText.contains("settings") && !run.errorText.contains("settings (AUTOINCREMENT)"), "\(run.errorText)")
        try scene.succeed("init a.db cloud --peers --name a --key-range --exclude settings")
    }

    /// A full-text index of SQLite's own has its tables marked; a table of the application may have a name like them.
    @Test func aTableWithANameLikeThoseOfAFullTextIndexTravels() throws {
        let (_, said) = try carried(
            """
            CREATE VIRTUAL TABLE docs USING fts5(body); INSERT INTO docs VALUES('text');
            CREATE TABLE docs_info(id INTEGER PRIMARY KEY, about TEXT); INSERT INTO docs_info VALUES(1, 'mine');
            """, "SELECT * FROM docs_info")
        #expect(said.contains("left out: docs (a virtual table"))
    }

    /// With DESC, an INTEGER PRIMARY KEY holds any value.
    @Test func anIntegerKeyInDescendingOrderIsNotTheRowid() throws {
        _ = try carried(
            "CREATE TABLE marks(k INTEGER PRIMARY KEY DESC NOT NULL, v TEXT); INSERT INTO marks VALUES(3, 'a'), ('x', 'b'), (2.5, 'c'), (x'01', 'd')",
            "SELECT typeof(k), k, v FROM marks ORDER BY k")
    }

    @Test func aDatabaseIsNotCalledDamagedForWhatSQLiteMisreads() throws {
        let (scene, _) = try carried(
            """
            CREATE TABLE chunks(room BLOB NOT NULL, part INTEGER NOT NULL, event TEXT NOT NULL, place INTEGER NOT NULL, more TEXT, PRIMARY KEY(room, part, place)) WITHOUT ROWID;
            INSERT INTO chunks VALUES(x'01', 1, 'e', 1, NULL), (x'01', 1, 'f', 2, NULL);
            """, "SELECT * FROM chunks")
        #expect(try scene.succeed("check b.db").contains("all is well"))
        try scene.succeed("check a.db --restore")

        // A NULL in another table is reported.
        try scene.database("b.db").run(
            """
            CREATE TABLE bad(k TEXT PRIMARY KEY NOT NULL, v TEXT); INSERT INTO bad VALUES('a', NULL);
            PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'v TEXT', 'v TEXT NOT NULL') WHERE name = 'bad';
            """)
        let run = try scene.run("check b.db")
        #expect(run.status == 65 && run.text.contains("NULL value in bad.v"), "\(run.text)")
    }

    /// The reader's application has made its tables, too, and one of them does not travel.
    @Test(arguments: ["reader", "peer"]) func rowsWhoseParentsDoNotTravelArriveAndAreTold(role: String) throws {
        let scene = try Scene()
        let tables =
            "CREATE TABLE users(id TEXT PRIMARY KEY NOT NULL); CREATE TABLE posts(id TEXT PRIMARY KEY NOT NULL, author TEXT REFERENCES users, body TEXT);"
        for name in ["a.db", "b.db"] { try scene.database(name).run("PRAGMA journal_mode=WAL; " + tables) }
        try scene.database("a.db").run("INSERT INTO users VALUES('ann'); INSERT INTO posts VALUES('1', 'ann', 'x'), ('2', NULL, 'y')")
        let said = try scene.succeed(Scene.setUp("a.db", as: role == "peer" ? "peer" : "writer", "--name a --exclude users"))
        #expect(said.contains("posts refers to users, which is not synced"))
        try scene.sync("a")
        try scene.succeed(Scene.setUp("b.db", as: role, "--name b"))
        let imported = try scene.succeed("sync b.db")
        #expect(imported.contains("warning: posts: 1 row refers to a row of users that is not there; users is not synced"), "\(imported)")
        #expect(try scene.database("b.db").run("SELECT * FROM posts ORDER BY id") == "1|ann|x\n2||y\n")
        #expect(try scene.succeed("check b.db").contains("1 row refers to a row of users that is not there"))
        // Such rows are no edits of this device, and stay told once.
        try scene.database("a.db").run("UPDATE posts SET body = 'z'")
        try scene.sync("a")
        #expect(try !scene.succeed("sync b.db").contains("not there"))
        #expect(try scene.succeed("sync b.db").contains(role == "peer" ? "nothing new" : "is here already"))
        // A row of the application that refers to what the version deletes is kept as before: the import stops.
        try scene.database("b.db").run("CREATE TABLE marks(post TEXT REFERENCES posts); INSERT INTO marks VALUES('2')")
        try scene.database("a.db").run("DELETE FROM posts WHERE id = '2'")
        try scene.sync("a")
        let refused = try scene.run("sync b.db")
        #expect(refused.status == 65 && refused.errorText.contains("table marks: 1 row would point at rows of posts"), "\(refused.errorText)")
    }
}
