import Foundation
import TestSupport
import Testing

/// Applications that move tables under their triggers, or drop the tables that they do not know.
@Suite(.runsPrograms) struct MovedTableTests {
    private func pair(_ sql: String, role: String = "writer") throws -> Scene { try Scene.pair(sql, roles: (role, role == "peer" ? "peer" : "reader")) }

    private func sync(_ scene: Scene) throws {
        for name in ["a", "b"] {
            let run = try scene.run("sync \(name).db")
            try #require(run.status == 0, "\(run.errorText)")
        }
    }

    @Test(arguments: ["writer", "peer"]) func aMigrationMayKeepTheOldTable(role: String) throws {
        let scene = try pair("CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT, u TEXT UNIQUE); INSERT INTO t VALUES('1', 'x', 'a'), ('2', 'y', 'b')", role: role)
        try scene.database("a.db").run(
            """
            CREATE TABLE t_new(id TEXT PRIMARY KEY, v TEXT NOT NULL DEFAULT '', u TEXT); INSERT INTO t_new SELECT * FROM t;
            ALTER TABLE t RENAME TO t_old; ALTER TABLE t_new RENAME TO t; UPDATE t SET v = 'after' WHERE id = '1'
            """)
        try sync(scene)
        #expect(try scene.database("b.db").run("SELECT id, v FROM t ORDER BY id") == "1|after\n2|y\n")
        // The old table is no dataset's.
        let left = "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 't_old'"
        #expect(try scene.database("a.db").run(left) == "0\n")
        try scene.database("a.db").run("UPDATE t_old SET v = 'old'; DELETE FROM t_old WHERE id = '1'; UPDATE t SET v = 'later' WHERE id = '2'")
        try sync(scene)
        #expect(try scene.database("b.db").run("SELECT id, v FROM t ORDER BY id") == "1|after\n2|later\n")
    }

    @Test(arguments: ["writer", "peer"]) func tablesMaySwapTheirNames(role: String) throws {
        let scene = try pair(
            """
            CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT); CREATE TABLE t_x(id TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES(1, 'of t'), (7, 'only t');
            INSERT INTO t_x VALUES(1, 'of x'), (2, 'y'), (5, 'gone')
            """, role: role)
        try scene.database("a.db").run(
            "ALTER TABLE t RENAME TO swap; ALTER TABLE t_x RENAME TO t; ALTER TABLE swap RENAME TO t_x; UPDATE t SET v = 'z' WHERE id = 2; DELETE FROM t WHERE id = 5"
        )
        try sync(scene)
        #expect(try scene.database("b.db").run("SELECT * FROM t ORDER BY id; SELECT * FROM t_x ORDER BY id") == "1|of x\n2|z\n1|of t\n7|only t\n")
        try scene.database("a.db").run("INSERT INTO t_x VALUES(3, 'new')")
        try sync(scene)
        for name in ["a", "b"] { #expect(try scene.database("\(name).db").run("SELECT * FROM t_x ORDER BY id") == "1|of t\n3|new\n7|only t\n") }
    }

    /// Rows that were deleted while the triggers were gone come back; edits of other rows stay.
    @Test func editsBesideUntrackedDeletionsAreKept() throws {
        let scene = try pair(
            "CREATE TABLE o(id TEXT PRIMARY KEY); CREATE TABLE m(i INTEGER, n INTEGER, k TEXT, v TEXT, PRIMARY KEY(i, n)); INSERT INTO m VALUES(1, 1, NULL, 'a'), (2, 2, 'k', 'b')",
            role: "peer")
        try scene.database("b.db").run("INSERT INTO o VALUES('x')")
        try scene.sync("b")
        try scene.database("a.db").run(
            """
            CREATE TABLE t(i INTEGER, n INTEGER, k TEXT, v TEXT, x TEXT DEFAULT 'd', PRIMARY KEY(i, n)); INSERT INTO t(i, n, k, v) SELECT * FROM m; DROP TABLE m;
            ALTER TABLE t RENAME TO m; DELETE FROM m WHERE i = 2; UPDATE m SET k = 'edited', v = 'too'
            """)
        try scene.sync("a")
        try scene.succeed("tables adopt b.db --create")
        try scene.sync("b")
        for name in ["a", "b"] { #expect(try scene.database("\(name).db").run("SELECT i, k, v FROM m ORDER BY i") == "1|edited|too\n2|k|b\n") }
    }

    /// A row that was edited, and that a migration leaves out, is missing.
    @Test(arguments: ["reader", "peer"]) func anEditedRowThatAMigrationLeavesOutIsMissing(role: String) throws {
        let scene = try pair("CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES('1', 'x'), ('2', 'y')", role: role == "peer" ? role : "writer")
        try scene.database("b.db").run(
            """
            UPDATE t SET v = 'edited' WHERE id = '2'; CREATE TABLE n(id TEXT PRIMARY KEY, v TEXT); INSERT INTO n SELECT * FROM t WHERE id <> '2';
            DROP TABLE t; ALTER TABLE n RENAME TO t
            """)
        #expect(try scene.run("sync b.db").status == (role == "peer" ? 78 : 0))
        if role == "peer" { try scene.succeed("import b.db") }
        #expect(try scene.database("b.db").run("SELECT id, v FROM t ORDER BY id") == "1|x\n2|y\n")
        try scene.sync("b", "a")
        #expect(try scene.database("a.db").run("SELECT id, v FROM t ORDER BY id") == "1|x\n2|y\n")
    }

    /// Only the columns that differ are edits of a rebuilt table, so the publisher's other columns stay.
    @Test(arguments: [true, false]) func aMigrationClaimsOnlyTheColumnsThatDiffer(isLogged: Bool) throws {
        let scene = try Scene.pair(
            "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT, w TEXT); INSERT INTO t VALUES('1', 'x', 'old'), ('2', 'y', 'z')",
            roles: ("writer --reader-edits all", "reader"))
        try scene.database("a.db").run("UPDATE t SET w = 'new' WHERE id = '1'")
        try scene.sync("a")
        let edit = "UPDATE t SET v = 'mine' WHERE id = '1';"
        try scene.database("b.db").run(
            """
            \(isLogged ? edit : "") CREATE TABLE n(id TEXT PRIMARY KEY, v TEXT, w TEXT); INSERT INTO n SELECT * FROM t; DROP TABLE t;
            ALTER TABLE n RENAME TO t; \(isLogged ? "" : edit)
            """)
        try scene.sync("b", "a", "b")
        for name in ["a", "b"] { #expect(try scene.database("\(name).db").run("SELECT * FROM t ORDER BY id") == "1|mine|new\n2|y|z\n") }
        for name in ["a", "b"] { #expect(try scene.succeed("conflicts \(name).db").contains("no edit has lost"), "\(name)") }
    }

    /// What a table has in columns that the version has as well is no edit, whether the application adds them or `describe` does.
    @Test(arguments: [true, false]) func columnsOfTheVersionAreNoEditsOfAReader(isByApplication: Bool) throws {
        let scene = try pair("CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES('1', 'x'), ('2', 'y'), ('3', 'z')")
        let columns = "ALTER TABLE t ADD COLUMN a TEXT DEFAULT 'd'; ALTER TABLE t ADD COLUMN n INTEGER NOT NULL DEFAULT 7;"
        try scene.database("a.db").run("\(columns) UPDATE t SET a = 'new', n = 99 WHERE id = '1'")
        try sync(scene)
        if isByApplication {
            try scene.database("b.db").run(columns)
        } else {
            try scene.succeed("tables adopt b.db --create")
        }
        #expect(try !scene.succeed("sync b.db").contains("changed here"))
        for change in ["UPDATE t SET a = 'later' WHERE id = '2'", "UPDATE t SET n = 8 WHERE id = '3'; UPDATE t SET v = 'w'"] {
            try scene.database("a.db").run(change)
            try sync(scene)
            let rows = "SELECT id, v, a, n FROM t ORDER BY id"
            #expect(try scene.database("b.db").run(rows) == scene.database("a.db").run(rows), "\(change)")
            #expect(try scene.succeed("conflicts b.db").contains("no edit has lost"))
            try scene.succeed("check b.db --all-versions --local")
        }
    }

    @Test(arguments: ["all", "none"]) func editsAfterAMigrationOfAReaderAreKept(permission: String) throws {
        let scene = try Scene.pair(
            "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES('1', 'x'), ('2', 'y'), ('3', 'z')",
            roles: ("writer --reader-edits \(permission)", "reader"))
        try scene.database("b.db").run(
            """
            UPDATE t SET v = 'before' WHERE id = '2'; CREATE TABLE n(id TEXT PRIMARY KEY, v TEXT); INSERT INTO n SELECT * FROM t; DROP TABLE t;
            ALTER TABLE n RENAME TO t; UPDATE t SET v = 'after' WHERE id = '1'; INSERT INTO t VALUES('4', 'new')
            """)
        try scene.database("a.db").run("UPDATE t SET v = 'newer' WHERE id = '3'")
        try scene.sync("a", "b", "a", "b")
        let rows = "SELECT id, v FROM t ORDER BY id"
        #expect(try scene.database("b.db").run(rows) == "1|after\n2|before\n3|newer\n4|new\n")
        #expect(try scene.database("a.db").run(rows) == (permission == "all" ? "1|after\n2|before\n3|newer\n4|new\n" : "1|x\n2|y\n3|newer\n"))
        // A later edit of the publisher wins, and the reader's is in the journal.
        guard permission == "none" else { return }
        try scene.database("a.db").run("UPDATE t SET v = 'last' WHERE id = '1'")
        try scene.sync("a", "b")
        #expect(try scene.database("b.db").run(rows) == "1|last\n2|before\n3|newer\n4|new\n")
        #expect(try scene.succeed("conflicts b.db").contains("after"))
    }

    @Test(arguments: ["writer", "peer"]) func triggersWithoutTheirTablesAreNamedAndRemoved(role: String) throws {
        let scene = try pair("CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v TEXT); INSERT INTO t VALUES('1', 'x')", role: role)
        let tables = try scene.database("a.db").run("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'snapsync%'").split(separator: "\n")
        for table in tables { try scene.database("a.db").run("DROP TABLE \(table)") }
        #expect(throws: (any Error).self) { try scene.database("a.db").run("INSERT INTO t VALUES('2', 'y')") }
        for command in ["check", "sync", "status"] {
            let run = try scene.run("\(command) a.db")
            #expect(
                run.status == 66 && run.errorText.contains("are still on t: no program can write there") && run.errorText.contains("snapsync detach a.db"),
                "\(run.errorText)")
        }
        #expect(try scene.succeed("detach a.db") == "a.db was not set up for syncing; the triggers that snapsync had left there are removed\n")
        try scene.database("a.db").run("INSERT INTO t VALUES('2', 'y')")
        #expect(try scene.run("detach a.db").status == 66)
    }

    /// A journal entry is kept in a file by `detach`, whichever of the other tables is gone.
    @Test func oneMissingTableOfSnapsyncStopsNothingForGood() throws {
        for table in ["settings", "state", "datasets", "tracking", "log", "changes", "tombstones", "instants", "held", "waiting"] {
            let rows = "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v TEXT); INSERT INTO t VALUES('1', 'x')"
            let scene = try Scene.copy(of: "a conflict of peers that edit t", from: pair(rows, role: "peer")) { scene in
                for name in ["a", "b"] { try scene.database("\(name).db").run("UPDATE t SET v = 'of \(name)'") }
                for name in ["a", "b", "a"] { try scene.succeed("sync \(name).db") }
            }
            let loser = try ["a", "b"].first { try scene.succeed("conflicts \($0).db").contains("of ") } ?? "none"
            try scene.database("\(loser).db").run("DROP TABLE snapsync_\(table)")
            let run = try scene.run("sync \(loser).db")
            if run.status != 0 {
                #expect([66, 78].contains(run.status) && run.errorText.contains("snapsync detach \(loser).db"), "\(table): \(run.errorText)")
                #expect(try scene.succeed("detach \(loser).db").contains("snapsync-kept") == (table != "settings"), "\(table)")
                try scene.succeed("join \(loser).db cloud --peer --name again")
            }
            try scene.database("\(loser).db").run("INSERT INTO t VALUES('2', 'y')")
            for name in [loser, "a", "b"] { try scene.succeed("sync \(name).db") }
            #expect(try scene.database("b.db").run("SELECT id FROM t ORDER BY id") == "1\n2\n", "\(table)")
        }
    }

    /// What is left of the edits waits for the next `init`.
    @Test(arguments: [
        "DROP TABLE t", "ALTER TABLE t RENAME TO u", "ALTER TABLE t RENAME COLUMN id TO nr", "ALTER TABLE t DROP COLUMN v",
        "ALTER TABLE t DROP COLUMN updated_at", "DROP TABLE t; CREATE VIEW t AS SELECT 1 AS id",
        "CREATE TABLE n(nr TEXT PRIMARY KEY NOT NULL); DROP TABLE t; ALTER TABLE n RENAME TO t",
    ]) func detachWorksWhateverHasBecomeOfTheTable(change: String) throws {
        let stamp = "updated_at = '2026-01-02T00:00:00Z'"
        let scene = try pair(
            "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v TEXT, updated_at TEXT); INSERT INTO t VALUES('1', 'x', '2026-01-01T00:00:00Z')", role: "peer")
        for name in ["a", "b"] {
            try scene.database("\(name).db").run("UPDATE t SET v = 'y', \(stamp); \(change)")
            let waits = !change.contains("DROP TABLE")
            #expect(try scene.succeed("detach \(name).db").contains("1 edit that no version has waits") == waits)
            let left = "SELECT name FROM sqlite_schema WHERE name GLOB 'snapsync_*' AND name <> 'snapsync_detached'"
            #expect(try scene.database("\(name).db").run(left) == "")
        }
    }

    /// The usual key of applications that are made with a well-known Swift library.
    @Test(arguments: ["writer", "peer"]) func aDefaultOfTheApplicationIsNotNeeded(role: String) throws {
        let scene = try Scene()
        let table =
            "CREATE TABLE items(id TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (new_id()), title TEXT NOT NULL DEFAULT '', n INT NOT NULL ON CONFLICT REPLACE DEFAULT (one()));"
        for name in ["a", "b"] { try scene.database("\(name).db").run(table) }
        try scene.database("a.db").run("INSERT OR ABORT INTO items VALUES('1', 'one', 1)")
        try scene.succeed(Scene.setUp("a.db", as: role, "--name a"))
        try scene.sync("a")
        try scene.succeed(Scene.setUp("b.db", as: role == "peer" ? "peer" : "reader", "--name b"))
        try scene.sync("b")
        try scene.database("a.db").run("UPDATE OR ABORT items SET title = 'uno'; INSERT OR ABORT INTO items VALUES('2', 'two', 2)")
        try sync(scene)
        #expect(try scene.database("b.db").run("SELECT * FROM items ORDER BY id") == "1|uno|1\n2|two|2\n")
    }
}
