import Foundation
import SnapshotModel
import TestSupport
import Testing

/// The application changes its tables, and the descriptions follow without `detach`.
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct SchemaUpdateTests {
    /// Earlier versions have no values of it, so somebody has to decide; until then every sync says so.
    @Test func aNewColumnThatMustHaveAValueWaitsAndEverySyncSaysSo() throws {
        let scene = try Scene.tasks("writer", "reader")
        try scene.database("a.db").run(
            """
            CREATE TABLE new(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, changed TEXT, must TEXT NOT NULL, may TEXT);
            INSERT INTO new SELECT *, 'x', NULL FROM task; DROP TABLE task; ALTER TABLE new RENAME TO task
            """)
        let says =
            "task: the new column must is not synced, because it is NOT NULL and has no default; to sync it: snapsync tables adopt a.db"
        for (number, heading) in ["the new column may is synced from now on", "nothing new", "nothing new"].enumerated() {
            let said = try scene.succeed("sync a.db")
            #expect(said.contains(says) && said.contains(heading), "\(number): \(said)")
        }
        let report = try scene.json("sync a.db")
        #expect(((report["exported"] as? [String: Any])?["warnings"] as? [String])?.contains(says) == true, "\(report)")
        #expect(try scene.succeed("tables adopt a.db").contains("task: the column must is synced from now on"))
        #expect(try !scene.succeed("sync a.db").contains("is not synced"))
        #expect(try scene.succeed("show a.db task").contains("\"must\":\"x\""))
    }

    /// The same migration runs on a writer and on a reader that may edit. What the reader writes into the column is its edit, whenever it does so.
    @Test(arguments: [
        "INSERT INTO task(id, title, due) VALUES('new', 'mine', 'friday')", "UPDATE task SET title = 'mine', due = 'friday' WHERE id = 't2'",
        "UPDATE task SET due = 'friday' WHERE id = 't2'",
    ])
    func aReadersValuesInANewColumnAreItsEdits(edit: String) throws {
        for order in ["first", "synced", "later"] {
            let scene = try Scene.pair(
                "\(Scene.task); INSERT INTO task VALUES('t1', 'one', NULL), ('t2', 'two', NULL)", roles: ("writer --reader-edits all", "reader"))
            for name in ["a.db", "b.db"] { try scene.database(name).run("ALTER TABLE task ADD COLUMN due TEXT") }
            if order != "later" { try scene.database("b.db").run(edit) }
            if order == "synced" { try scene.succeed("sync b.db") }
            for name in ["a", "b"] { try scene.succeed("sync \(name).db") }
            if order == "later" { try scene.database("b.db").run(edit) }
            for name in ["b", "a", "b", "a", "b"] { try scene.succeed("sync \(name).db") }
            let found = try scene.rows("a", "id, title, due"), other = try scene.rows("b", "id, title, due")
            #expect(found.contains { $0.hasSuffix("|friday") } && found == other, "\(order): \(found)")
        }
    }

    /// Both wrote a value into the column of one row. The version's stands, and the reader's is in its journal.
    @Test(arguments: ["all", "none"]) func aReadersValueInANewColumnThatGivesWayIsKept(edits: String) throws {
        for isEarlier in [true, false] {
            let scene = try Scene.pair("\(Scene.task); INSERT INTO task VALUES('t1', 'one', NULL)", roles: ("writer --reader-edits \(edits)", "reader"))
            let names = isEarlier ? ["b", "a"] : ["a", "b"]
            for name in names { try scene.database("\(name).db").run("ALTER TABLE task ADD COLUMN due TEXT; UPDATE task SET due = 'of \(name)'") }
            for name in ["a", "b", "a", "b"] { try scene.succeed("sync \(name).db") }
            #expect(try scene.rows("a", "due") == ["of a"])
            #expect(try scene.rows("b", "due") == ["of a"])
            #expect(try scene.succeed("conflicts list b.db --json").contains("of b"), "\(isEarlier)")
        }
    }

    @Test func aNewColumnTravelsByItselfAndAReaderIsToldHowToGetIt() throws {
        let scene = try Scene.tasks("writer", "reader")
        try scene.database("b.db").run("ALTER TABLE task ADD COLUMN mine TEXT DEFAULT 'none'; UPDATE task SET mine = 'my own' WHERE id <> 't3'")
        try scene.database("a.db").run(
            "ALTER TABLE task ADD COLUMN due TEXT; ALTER TABLE task ADD COLUMN rank INTEGER NOT NULL DEFAULT 7; UPDATE task SET due = 'friday' WHERE id = 't1';"
                + "UPDATE task SET title = 'edited' WHERE id = 't2'; INSERT INTO task VALUES('t4', 'four', NULL, 'sunday', 9)")
        #expect(try scene.succeed("sync a.db").contains("the new column due is synced from now on"))
        #expect(try scene.succeed("sync a.db").contains("nothing new"))
        // The reader goes on with what it knows, and its own column is left alone.
        #expect(try scene.succeed("sync b.db").contains("does not know the fields due, rank; they were left out (snapsync tables adopt b.db --create"))
        #expect(try scene.rows("b", "id, title, mine") == ["t1|one|my own", "t2|edited|my own", "t3|three|none", "t4|four|none"])
        // A column that somebody adds at the reader is taken over; the other one is made from the description.
        try scene.database("b.db").run("ALTER TABLE task ADD COLUMN due TEXT")
        #expect(try scene.succeed("sync b.db").contains("the new column due is synced from now on"))
        #expect(
            try scene.succeed("tables adopt b.db").contains("the zone has the column rank, which the table task lacks; snapsync tables adopt"))
        #expect(try scene.json("tables adopt b.db --create")["willPublish"] as? Bool == false)
        try scene.succeed("sync b.db")
        let expected = ["t1|one|friday|7", "t2|edited||7", "t3|three||7", "t4|four|sunday|9"]
        #expect(try scene.rows("b", "id, title, due, rank") == expected)
        #expect(try scene.rows("a", "id, title, due, rank") == expected)
        #expect(try scene.rows("b", "mine") == ["my own", "my own", "none", "none"])
        for name in ["a", "b"] { try scene.succeed("check \(name).db --local") }
        // A device that comes later gets all of it at once.
        try scene.succeed("join c.db cloud --name c")
        try scene.succeed("sync c.db")
        #expect(try scene.rows("c", "id, title, due, rank") == expected)
    }

    @Test func theReadersOwnColumnsSurviveEveryKindOfImport() throws {
        let scene = try Scene.tasks("writer", "reader")
        try scene.database("b.db").run(
            "ALTER TABLE task ADD COLUMN mine BLOB; ALTER TABLE task ADD COLUMN stars INTEGER NOT NULL DEFAULT 3; UPDATE task SET mine = x'00ff', stars = 5 WHERE id = 't2'"
        )
        for (number, sql) in [
            "UPDATE task SET title = 'x' || title", "DELETE FROM task WHERE id = 't1'", "DELETE FROM task; INSERT INTO task VALUES('t2', 'again', NULL)",
        ]
        .enumerated() {
            try scene.database("a.db").run(sql)
            try scene.succeed(number == 1 ? "export a.db --full" : "sync a.db --allow-shrink task")
            try scene.succeed("sync b.db --allow-shrink task")
            #expect(try scene.database("b.db").run("SELECT title, hex(mine), stars FROM task WHERE id = 't2'").hasSuffix("|00FF|5\n"))
        }
        // A row that another device deletes and inserts again later.
        for sql in ["DELETE FROM task", "INSERT INTO task VALUES('t2', 'again', NULL)"] {
            try scene.database("a.db").run(sql)
            for name in ["a", "b"] { try scene.succeed("sync \(name).db --allow-shrink task") }
        }
        #expect(try scene.rows("b", "id, title, hex(mine), stars") == ["t2|again|00FF|5"])
        #expect(try scene.database("b.db").run("PRAGMA integrity_check") == "ok\n")
        // A column that no row can be inserted without stops the import before anything changes.
        try scene.database("b.db").run("CREATE TABLE new(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, changed TEXT, must TEXT NOT NULL)")
        try scene.database("b.db").run("INSERT INTO new SELECT id, title, changed, 'x' FROM task; DROP TABLE task; ALTER TABLE new RENAME TO task")
        try scene.database("a.db").run("INSERT INTO task VALUES('t9', 'nine', NULL)")
        try scene.succeed("sync a.db")
        #expect(try scene.refused("sync b.db").contains("does not describe the column must, which is NOT NULL and has no default"))
    }

    @Test func theValuesOfColumnsThatAreLeftOutComeBackWithUndo() throws {
        let scene = try Scene()
        let a = scene.database("a.db")
        try a.run("CREATE TABLE t(a TEXT, b INT, v TEXT, mine, PRIMARY KEY(a, b)) WITHOUT ROWID")
        try scene.scratch.write(
            #"{"formatVersion": 1, "datasets": [{"name": "t", "key": ["a", "b"], "columns": [{"name": "a"}, {"name": "b"}, {"name": "v", "optional": true}]}]}"#,
            to: "d.json")
        try scene.succeed("init a.db cloud --peers --name a --datasets d.json")
        try scene.succeed("sync a.db")
        try a.run("INSERT INTO t VALUES('k', 1, 'v', 'first'), ('k', 2, 'v', 2.5), ('k', 3, 'v', NULL)")
        try scene.succeed("sync a.db")
        func expect(_ rows: String) throws { #expect(try a.run("SELECT b, quote(mine) FROM t ORDER BY b") == rows) }
        try scene.succeed("restore a.db 1")
        try expect("")
        try scene.succeed("undo a.db")
        try expect("1|'first'\n2|2.5\n3|NULL\n")
        try a.run("INSERT INTO t VALUES('k', 4, 'v', x'00')")
        try scene.succeed("import a.db --replace --yes")
        try scene.succeed("undo a.db")
        try expect("1|'first'\n2|2.5\n3|NULL\n4|X'00'\n")
        // A row that an application inserts in the meantime has the application's values.
        try scene.succeed("restore a.db 1")
        try a.run("INSERT INTO t VALUES('k', 1, 'v', NULL)")
        try scene.succeed("undo a.db")
        try expect("1|NULL\n2|2.5\n3|NULL\n4|X'00'\n")
        #expect(try a.run("SELECT count(*) FROM snapsync_own") == "0\n")
        try scene.succeed("detach a.db")
        #expect(try a.run("SELECT name FROM sqlite_schema WHERE name = 'snapsync_own'") == "")
    }

    @Test func aLossIsNeverPublishedWithoutAWord() throws {
        let scene = try Scene.tasks("writer", "reader")
        let before = try scene.cloudListing()
        try scene.database("a.db").run("ALTER TABLE task RENAME COLUMN title TO heading; ALTER TABLE task RENAME TO todo")
        #expect(try scene.refused("sync a.db").contains("the table is named todo now; nothing was published"))
        #expect(try scene.cloudListing() == before)
        let renamed = try scene.succeed("tables adopt a.db")
        #expect(renamed.contains("the table task is named todo now; it is synced as task, as before"))
        #expect(renamed.contains("the column title is named heading now; it is synced as title, as before"))
        try scene.database("a.db").run("UPDATE todo SET heading = 'renamed' WHERE id = 't1'")
        try scene.succeed("sync a.db")
        try scene.succeed("sync b.db")
        #expect(try scene.rows("b") == ["t1|renamed|2026-01-01T00:00:00Z", "t2|two|", "t3|three|"])

        // The timestamp, which the triggers use, can be dropped, too.
        let listing = try scene.cloudListing()
        try scene.database("a.db").run(
            "ALTER TABLE todo DROP COLUMN changed; UPDATE todo SET heading = 'later' WHERE id = 't2'; DELETE FROM todo WHERE id = 't3'")
        for line in ["sync a.db", "export a.db"] { #expect(try scene.refused(line).contains("it has no column changed; nothing was published")) }
        #expect(try scene.cloudListing() == listing)
        #expect(try scene.succeed("tables adopt a.db").contains("the next version is without changed, and older versions keep its values"))
        try scene.succeed("sync a.db")
        #expect(try scene.succeed("sync b.db").contains("another device has taken changed out of the dataset; this table keeps the column and its values"))
        #expect(try scene.rows("b") == ["t1|renamed|2026-01-01T00:00:00Z", "t2|later|"])
        #expect(try scene.succeed("show b.db task --at 1").contains("2026-01-01T00:00:00Z"))
        for name in ["a", "b"] { try scene.succeed("check \(name).db --local") }

        try scene.database("a.db").run("DROP TABLE todo")
        #expect(try scene.refused("sync a.db").contains("to stop syncing it: snapsync detach a.db"))
        #expect(try scene.refused("tables adopt a.db").contains("take it out: snapsync detach a.db"))
        #expect(try scene.rows("b", "count(*)") == ["2"])
    }

    @Test func theApplicationsOwnStatementsNeverFail() throws {
        let scene = try Scene()
        let shell = scene.database("a.db")
        try shell.run(
            "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, slot INTEGER, updatedAt TEXT, body TEXT); CREATE UNIQUE INDEX slots ON note(slot);"
                + "CREATE TABLE line(note TEXT, number REAL, updated_at TEXT, PRIMARY KEY(note, number)); INSERT INTO note VALUES('n', 1, '2026-01-01T00:00:00Z', 'b')"
        )
        try scene.succeed("init a.db cloud --name a")
        try scene.succeed("sync a.db")
        try shell.run(
            "ALTER TABLE note ADD COLUMN extra TEXT; ALTER TABLE note RENAME COLUMN body TO text; ALTER TABLE note RENAME COLUMN updatedAt TO touched;"
                + "INSERT OR REPLACE INTO note VALUES('m', 1, '2026-02-01T00:00:00Z', 'takes the slot', NULL); UPDATE note SET id = 'k';"
                + "ALTER TABLE line DROP COLUMN updated_at; ALTER TABLE line RENAME TO lines; ALTER TABLE lines RENAME COLUMN number TO place; INSERT INTO lines VALUES('k', 1.5)"
        )
        try scene.succeed("tables adopt a.db")
        try scene.succeed("sync a.db")
        #expect(try scene.succeed("show a.db note").contains(#""id":"k","slot":1,"updatedAt":"2026-02-01T00:00:00Z","body":"takes the slot"}"#))
        #expect(try scene.succeed("show a.db line").contains(#"{"note":"k","number":1.5}"#))
        try shell.run("ALTER TABLE note DROP COLUMN touched; ALTER TABLE note DROP COLUMN text; DROP TABLE lines")
        #expect(try scene.database("a.db").run("SELECT count(*) FROM snapsync_log WHERE dataset > 0") == "0\n")
        for line in ["tables remove a.db line", "sync a.db", "check a.db --local", "detach a.db"] { try scene.succeed(line) }
    }

    @Test func aTableThatAMigrationRebuildsKeepsItsEdits() throws {
        for role in ["writer", "peer"] {
            let scene = try Scene.tasks(role, role == "writer" ? "reader" : "peer")
            try scene.database("a.db").run(
                """
                UPDATE task SET title = 'before' WHERE id = 't1';
                BEGIN; CREATE TABLE new(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, changed TEXT, due TEXT);
                INSERT INTO new SELECT id, title, changed, 'due ' || id FROM task; DROP TABLE task; ALTER TABLE new RENAME TO task; COMMIT;
                UPDATE task SET title = 'after' WHERE id = 't2';
                """)
            for line in ["sync a.db", "tables adopt b.db --create", "sync b.db"] { try scene.succeed(line) }
            #expect(try scene.rows("b", "id, title, due") == ["t1|before|due t1", "t2|after|due t2", "t3|three|due t3"])
            for name in ["a", "b"] { try scene.succeed("check \(name).db --local") }
        }
    }

    @Test func editsMadeWithoutAColumnDoNotClearIt() throws {
        let scene = try Scene.tasks("peer", "peer")
        try scene.database("b.db").run("UPDATE task SET title = 'by b' WHERE id IN ('t1', 't3')")
        try scene.database("a.db").run("ALTER TABLE task ADD COLUMN due TEXT; UPDATE task SET due = 'by a' WHERE id IN ('t1', 't2')")
        try scene.succeed("sync a.db")
        // b loses nothing while it knows too little, and publishes nothing.
        #expect(try scene.refused("sync b.db").contains("snapsync tables adopt b.db --create"))
        try scene.database("b.db").run("ALTER TABLE task ADD COLUMN due TEXT; UPDATE task SET due = 'by b' WHERE id IN ('t2', 't3')")
        #expect(try scene.refused("export b.db").contains("the rows have not been imported since"))
        for name in ["b", "a", "b"] { try scene.succeed("sync \(name).db") }
        #expect(try scene.rows("a", "id, title, due") == ["t1|by b|by a", "t2|two|by a", "t3|by b|by b"])
        #expect(try scene.rows("b") == scene.rows("a"))
        // The value of b that gave way is told.
        let entries = try #require(try scene.json("conflicts b.db")["conflicts"] as? [[String: Any]])
        #expect(
            entries.contains { ($0["lost"] as? [String: Any])?["entity"].map { "\($0)".contains(#""due":"by b""#) } == true && $0["key"] as? String == "t2" })
        for name in ["a", "b"] { try scene.succeed("check \(name).db --local") }
    }

    @Test func aColumnThatOnePeerTakesOutStaysInTheOthersTable() throws {
        let scene = try Scene.tasks("peer", "peer")
        try scene.database("a.db").run("ALTER TABLE task ADD COLUMN due TEXT; UPDATE task SET due = 'due ' || id")
        for line in ["sync a.db", "tables adopt b.db --create", "sync b.db"] { try scene.succeed(line) }
        try scene.database("a.db").run("ALTER TABLE task DROP COLUMN due")
        try scene.database("b.db").run("UPDATE task SET due = 'not yet synced' WHERE id = 't1'; UPDATE task SET title = 'by b' WHERE id = 't2'")
        try scene.succeed("tables adopt a.db")
        try scene.succeed("sync a.db")
        #expect(try scene.refused("sync b.db").contains("another device has taken due out of the dataset task"))
        #expect(try scene.succeed("tables adopt b.db").contains("due was taken out of the zone"))
        for name in ["b", "a", "b"] { try scene.succeed("sync \(name).db") }
        #expect(try scene.rows("a") == ["t1|one|2026-01-01T00:00:00Z", "t2|by b|", "t3|three|"])
        #expect(try scene.rows("b", "id, title, due") == ["t1|one|not yet synced", "t2|by b|due t2", "t3|three|due t3"])
        for name in ["a", "b"] { try scene.succeed("check \(name).db --local") }
        // It stays out until somebody says otherwise.
        #expect(try scene.succeed("tables adopt b.db").contains("up to date"))
        #expect(try scene.succeed("tables add b.db task").contains("the column due is synced from now on"))
        try scene.succeed("sync b.db")
        try scene.succeed("tables adopt a.db --create")
        for name in ["a", "b", "a"] { try scene.succeed("sync \(name).db") }
        #expect(try scene.rows("a", "id, due") == ["t1|not yet synced", "t2|due t2", "t3|due t3"])
    }

    /// A peer that has followed the removal has left the column out, until the zone has it again.
    @Test func aColumnThatComesBackIsTakenBack() throws {
        let scene = try Scene.twoTables("peer", "peer")
        try scene.database("a.db").run("ALTER TABLE o DROP COLUMN v")
        for line in ["tables adopt a.db", "sync a.db"] { try scene.succeed(line) }
        #expect(try scene.refused("sync b.db").contains("snapsync tables adopt b.db"))
        for line in ["tables adopt b.db", "sync b.db", "sync a.db"] { try scene.succeed(line) }
        try scene.database("a.db").run("ALTER TABLE o ADD COLUMN v TEXT; INSERT INTO o(id) VALUES('1')")
        for name in ["a", "b"] { try scene.succeed("sync \(name).db") }
        try scene.database("b.db").run("UPDATE o SET v = 'of b'")
        for name in ["b", "a"] { try scene.succeed("sync \(name).db") }
        for name in ["a", "b"] { #expect(try scene.rows(name, "id, v", table: "o") == ["1|of b"]) }
    }

    /// A STRICT table cannot have the column's type, and its device still describes the column.
    @Test func aColumnOfATableThatIsNotStrictStaysDescribed() throws {
        let scene = try Scene()
        for (name, option) in [("a", "STRICT"), ("b", "")] { try scene.database("\(name).db").run("CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL) \(option)") }
        for line in ["init a.db cloud --name a --peers", "sync a.db", "join b.db cloud --name b --peer"] { try scene.succeed(line) }
        try scene.database("b.db").run("ALTER TABLE t ADD COLUMN due VARCHAR(10)")
        try scene.succeed("sync b.db")
        try scene.database("a.db").run("ALTER TABLE t ADD COLUMN tag TEXT; INSERT INTO t VALUES('1', 'red')")
        for line in ["sync a.db", "tables adopt b.db --create", "sync b.db"] { try scene.succeed(line) }
        try scene.database("b.db").run("UPDATE t SET due = 'friday'")
        for line in ["sync b.db", "join c.db cloud --name c", "sync c.db"] { try scene.succeed(line) }
        #expect(try scene.rows("c", "id, due, tag", table: "t") == ["1|friday|red"])
    }

    /// The table's default is no value of the device that adds the column later.
    @Test(arguments: ["reader", "peer"]) func aNullOfTheVersionReplacesADefault(role: String) throws {
        let scene = try Scene.twoTables(role == "peer" ? "peer" : "writer", role), column = "ALTER TABLE t ADD COLUMN n TEXT DEFAULT 'none'"
        try scene.database("a.db").run("\(column); UPDATE t SET n = NULL WHERE id = 'x'")
        for name in role == "peer" ? ["a"] : ["a", "b"] { try scene.succeed("sync \(name).db") }
        try scene.database("b.db").run(column)
        for name in ["b", "a", "b"] { try scene.succeed("sync \(name).db") }
        for name in ["a", "b"] {
            #expect(try scene.rows(name, "quote(n)", table: "t") == ["NULL", "'none'"])
            try scene.succeed("check \(name).db --local")
        }
    }

    /// SQLite takes both names for one.
    @Test(arguments: ["reader", "peer"]) func aColumnThatTwoDevicesSpellInOtherCaseIsOne(role: String) throws {
        let scene = try Scene.twoTables(role == "peer" ? "peer" : "writer --reader-edits all", role)
        try scene.database("a.db").run("ALTER TABLE t ADD COLUMN N TEXT; UPDATE t SET N = 'of a' WHERE id = 'x'")
        for name in role == "reader" ? ["a", "b"] : ["a"] { try scene.succeed("sync \(name).db") }
        try scene.database("b.db").run("ALTER TABLE t ADD COLUMN n TEXT; UPDATE t SET n = 'of b' WHERE id = 'y'")
        if role == "reader" { try scene.succeed("tables adopt b.db") }
        for name in ["b", "a", "b", "a"] { try scene.succeed("sync \(name).db") }
        for name in ["a", "b"] {
            #expect(try scene.rows(name, "n", table: "t") == ["of a", "of b"], "\(name)")
            try scene.succeed("check \(name).db --local")
        }
        try scene.database("a.db").run("UPDATE t SET N = 'later' WHERE id = 'y'")
        for name in ["a", "b"] { try scene.succeed("sync \(name).db") }
        #expect(try scene.rows("b", "n", table: "t") == ["of a", "later"])
    }

    @Test func misuseIsRefusedAndChangesNothing() throws {
        let scene = try Scene.tasks("writer", "reader")
        for (line, status, words) in [
            ("tables remove a.db nothing", 64, "no dataset is named nothing"), ("tables remove a.db task", 64, "no dataset would be left"),
            ("tables add a.db task2", 78, "there is no table task2"), ("tables add b.db tag", 64, "it has no table tag"),
        ] {
            let run = try scene.run(line)
            #expect(run.status == Int32(status) && run.errorText.contains(words), "\(line): \(run.status) \(run.errorText)")
        }
        #expect(try scene.run("tables describe a.db --create").status == 64)
        try scene.database("a.db").run("CREATE TABLE new(nr TEXT PRIMARY KEY NOT NULL, title TEXT); DROP TABLE task; ALTER TABLE new RENAME TO task")
        #expect(try scene.refused("tables adopt a.db").contains("the column id of the key is gone"))
    }

    /// Devices get the same columns in any order, with edits of rows of their own in between. Whoever is first, no value is lost.
    @Test(arguments: Sample.of(1...6, oneIn: 3)) func inAnyOrderNoValueIsLost(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let isShared = seed.isMultiple(of: 2)
        let scene = try Scene.tasks(isShared ? "peer" : "writer", isShared ? "peer" : "reader")
        let names = isShared ? ["a", "b"] : ["a"]
        let columns = ["due", "rank", "note"]
        var pending: [String: [String]] = ["a": columns.shuffled(using: &random), "b": columns.shuffled(using: &random)]
        var expected: [String: [String: String]] = [:]
        var clock = 0
        for _ in 0..<14 {
            let name = ["a", "b"].randomElement(using: &random)!
            switch Int.random(in: 0..<3, using: &random) {
            case 0:
                if let column = pending[name]?.popLast() { try scene.database("\(name).db").run("ALTER TABLE task ADD COLUMN \(column) TEXT") }
            case 1 where names.contains(name):
                let row = "\(name)\(Int.random(in: 1...3, using: &random))", has = ["title"] + columns.filter { pending[name]?.contains($0) == false }
                let column = has.randomElement(using: &random)!
                clock += 1
                try scene.database("\(name).db").run(
                    "INSERT INTO task(id, title, \(column == "title" ? "changed" : column)) VALUES('\(row)', 'new', '\(column == "title" ? "" : "v\(clock)")') ON CONFLICT(id) DO UPDATE SET \(column) = 'v\(clock)'"
                )
                var values = expected[row] ?? ["title": "new"]
                if expected[row] != nil || column != "title" { values[column] = "v\(clock)" }
                expected[row] = values
            default: _ = try scene.run("sync \(name).db")
            }
        }
        for _ in 0..<4 {
            for name in ["a", "b"] {
                let run = try scene.run("sync \(name).db")
                #expect(run.status == 0 || run.errorText.contains("snapsync tables adopt"), "seed \(seed): \(run.errorText)")
                if try scene.run("tables adopt \(name).db --create").status != 0 { Issue.record("seed \(seed)") }
            }
        }
        // A writer knows only its own columns; what is left is added there, too.
        for column in pending["a"] ?? [] where try !scene.database("a.db").run("SELECT name FROM pragma_table_info('task')").contains(column) {
            try scene.database("a.db").run("ALTER TABLE task ADD COLUMN \(column) TEXT")
        }
        for _ in 0..<2 {
            for name in ["a", "b"] {
                _ = try scene.run("sync \(name).db")
                try scene.succeed("tables adopt \(name).db --create")
            }
        }
        for name in ["a", "b", "a", "b"] { try scene.succeed("sync \(name).db") }
        let list = "id, title, due, rank, note"
        #expect(try scene.rows("a", list) == scene.rows("b", list), "seed \(seed)")
        let own = try scene.rows("a", list).filter { !$0.hasPrefix("t") }
        #expect(
            own == expected.keys.sorted().map { row in ([row] + (["title"] + columns).map { expected[row]?[$0] ?? "" }).joined(separator: "|") },
            "seed \(seed)")
        for name in ["a", "b"] { try scene.succeed("check \(name).db --local") }
    }
}
