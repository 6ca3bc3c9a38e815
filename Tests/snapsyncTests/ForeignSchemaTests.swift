import Foundation
import TestSupport
import Testing

/// Databases as applications make them: `init` carries them, or lists at once what it cannot carry, with a way out that works as it is printed.
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct ForeignSchemaTests {
    /// A writer `a.db` with these tables, and a device `b.db` made from the zone.
    private func scene(_ sql: String, _ role: String = "writer", _ other: String = "reader") throws -> Scene { try Scene.pair(sql, roles: (role, other)) }

    private func expectEqual(_ scene: Scene, _ query: String, at location: SourceLocation = #_sourceLocation) throws {
        #expect(try scene.database("b.db").run(query) == scene.database("a.db").run(query), sourceLocation: location)
        for name in ["a", "b"] { try scene.succeed("check \(name).db --all-versions --local", at: location) }
    }

    // MARK: what init finds in the rows

    @Test func keysThatAreNotUTF8AndRowsThatAreTooLargeAreNamedByTheExport() throws {
        let scene = try Scene()
        try scene.database("a.db").run(
            """
            CREATE TABLE good(id INTEGER PRIMARY KEY, face BLOB); INSERT INTO good VALUES(1, zeroblob(20000000));
            CREATE TABLE words(word TEXT PRIMARY KEY, n INTEGER); INSERT INTO words VALUES(CAST(x'61ff' AS TEXT), 1), ('ok', 2), (CAST(x'ff' AS TEXT), 3);
            CREATE TABLE films(id INTEGER PRIMARY KEY, film BLOB); INSERT INTO films VALUES(1, zeroblob(60000000)), (2, x'00');
            CREATE TABLE pages(id INTEGER PRIMARY KEY, page TEXT); INSERT INTO pages VALUES(1, replace(hex(zeroblob(6000000)), '0', char(1)))
            """)
        try scene.succeed("init a.db cloud --name a")
        let run = try scene.run("sync a.db")
        #expect(run.status == 65 && run.errorText.contains("4 rows cannot be synced; nothing was published"), "\(run.errorText)")
        #expect(run.errorText.contains("column word: the key is text that is not UTF-8"))
        #expect(run.errorText.contains("films, key 1: the entity is larger than 64 MiB") && run.errorText.contains("pages, key 1: the entity is larger"))
        try scene.database("a.db").run("DELETE FROM words WHERE word <> 'ok'; DELETE FROM films WHERE id = 1; DELETE FROM pages")
        try scene.sync("a")
    }

    /// One key column with every storage class, at a writer, a reader and a peer: rows come, change and go.
    @Test(arguments: ["", "BLOB", "NUMERIC"])
    func keysOfEveryStorageClassTravel(declared: String) throws {
        let scene = try scene(
            "CREATE TABLE t(k \(declared) PRIMARY KEY NOT NULL, v); INSERT INTO t VALUES(1, 'i'), (2.5, 'r'), ('a', 't'), (x'00ff', 'b'), ('', 'e'), (-1e300, 'm'), (x'', 'z')",
            "peer", "peer")
        let rows = "SELECT quote(k), v FROM t ORDER BY k"
        try expectEqual(scene, rows)
        try scene.database("a.db").run(
            "UPDATE t SET v = v || '1' WHERE k IN (2.5, x'00ff'); DELETE FROM t WHERE k IN ('a', x''); INSERT INTO t VALUES(3, 'n'), (0.25, 'q')")
        try scene.database("b.db").run("UPDATE t SET v = v || '2' WHERE k IN (1, ''); UPDATE t SET k = x'0102' WHERE k = -1e300; DELETE FROM t WHERE k = 2.5")
        try scene.sync("a", "b", "a", "b")
        try expectEqual(scene, rows)
        #expect(try scene.database("a.db").run("SELECT group_concat(quote(k), ' ') FROM (SELECT k FROM t ORDER BY k)") == "0.25 1 3 '' X'00FF' X'0102'\n")
        try scene.succeed("join c.db cloud --name c")
        try scene.sync("c")
        #expect(try scene.database("c.db").run(rows) == scene.database("a.db").run(rows))
        #expect(try scene.succeed("sync a.db").contains("nothing new"))
    }

    /// What the two tables' declarations would make of the values is told before a row is written.
    @Test func declarationsThatChangeValuesAreToldAtInit() throws {
        let scene = try Scene()
        try scene.database("a.db").run("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, n INTEGER); INSERT INTO t VALUES(1, '12', 3)")
        try scene.succeed("init a.db cloud --name a")
        try scene.sync("a")
        for (columns, name) in [("v INTEGER, n INTEGER", "v"), ("v TEXT, n TEXT", "n"), ("v TEXT, n REAL", "n")] {
            let other = "b-\(columns.hashValue).db"
            try scene.database(other).run("CREATE TABLE t(id INTEGER PRIMARY KEY, \(columns))")
            try scene.refuse(
                "join \(other) cloud --name b", exit: 78, saying: ["the column \(name) is declared"], watching: [])
        }
    }

    /// A device publishes its own name of a column; another one that is set up again has the name of the JSON.
    @Test func aColumnThatAnotherDeviceHasRenamedIsFoundAtInit() throws {
        let scene = try scene("CREATE TABLE notes(id TEXT PRIMARY KEY, color TEXT); INSERT INTO notes VALUES('n', 'red')", "peer", "peer")
        try scene.database("a.db").run("ALTER TABLE notes RENAME COLUMN color TO colour")
        try scene.succeed("tables adopt a.db")
        try scene.database("a.db").run("UPDATE notes SET colour = 'blue'")
        try scene.sync("a", "b")
        try scene.database("b.db").run("UPDATE notes SET color = color || '!'")
        try scene.succeed("detach b.db")
        try scene.succeed("join b.db cloud --peer")
        try scene.sync("b", "a")
        #expect(try scene.database("a.db").run("SELECT colour FROM notes") == "blue!\n")
        for name in ["a", "b"] { try scene.succeed("check \(name).db --all-versions --local") }
    }

    // MARK: columns that hold something else one day

    private static let cards = """
        CREATE TABLE card(id INTEGER PRIMARY KEY, sort INTEGER NOT NULL, weight REAL, note TEXT, flag BOOLEAN, extra JSON, face BLOB, day DATE);
        INSERT INTO card VALUES(1, 10, 0.5, 'one', 1, '{"base64": [1]}', x'00ff', '2026-01-01'), (2, 20, NULL, NULL, 0, '"AA=="', x'', NULL),
            (3, 30, 1.0, 'three', NULL, NULL, NULL, '2026-01-02')
        """
    private static let cardRows = """
        SELECT id, typeof(sort), quote(sort), typeof(weight), quote(weight), typeof(note), hex(note), quote(flag), typeof(extra), quote(extra), quote(face), quote(day)
        FROM card ORDER BY id
        """
    private static let misfits = """
        UPDATE card SET sort = 'ten' WHERE id = 1; UPDATE card SET weight = 9e999, flag = 7 WHERE id = 2; UPDATE card SET note = CAST(x'61ff' AS TEXT) WHERE id = 3;
        UPDATE card SET extra = 'no JSON', face = 'text', day = 20260102 WHERE id = 3
        """

    @Test func aColumnMayHoldOtherValuesOneDay() throws {
        let scene = try scene(Self.cards)
        let before = try scene.database("a.db").run(Self.cardRows)
        try scene.database("a.db").run(Self.misfits)
        try scene.sync("a", "b")
        try expectEqual(scene, Self.cardRows)
        #expect(try scene.succeed("sync a.db").contains("nothing new"))
        // Versions from before are compared with those from after.
        for sides in ["1 2", "1 local"] {
            let diff = try scene.succeed("diff a.db \(sides)")
            for line in ["changed card \"1\": sort", "changed card \"2\": weight, flag", "changed card \"3\": note, extra, face, day"] {
                #expect(diff.contains(line), "\(diff)")
            }
        }
        // Versions from before are read as they were, and a device that comes later gets all of it.
        let after = try scene.database("a.db").run(Self.cardRows)
        for (line, rows) in [("restore a.db 1", before), ("undo a.db", after)] {
            try scene.succeed(line)
            try scene.sync("a", "b")
            #expect(try scene.database("a.db").run(Self.cardRows) == rows)
            try expectEqual(scene, Self.cardRows)
        }
        try scene.succeed("join c.db cloud --name c")
        try scene.sync("c")
        #expect(try scene.database("c.db").run(Self.cardRows) == after)
    }

    @Test func twoPeersWriteOtherValuesIntoColumnsAtOnce() throws {
        let scene = try scene(Self.cards.replacing("INTEGER PRIMARY KEY", with: "TEXT PRIMARY KEY NOT NULL"), "peer", "peer")
        try scene.database("a.db").run("UPDATE card SET sort = 'ten' WHERE id = '1'")
        try scene.database("b.db").run("UPDATE card SET note = x'00' WHERE id = '2'; UPDATE card SET sort = x'01' WHERE id = '3'")
        try scene.sync("a", "b", "a", "b")
        try expectEqual(scene, Self.cardRows)
        #expect(try scene.database("a.db").run("SELECT typeof(sort), typeof(note) FROM card ORDER BY id") == "text|text\ninteger|blob\nblob|text\n")
    }

    // MARK: unique indexes on expressions

    private static let people = #"""
        CREATE TABLE person(id INTEGER PRIMARY KEY, mail TEXT NOT NULL, "the ""name""" TEXT, area INTEGER, seen TEXT);
        CREATE UNIQUE INDEX person_mail ON person(lower(mail) DESC, coalesce("the ""name""", ',)') /* not ) here */, area);
        CREATE UNIQUE INDEX person_seen ON person(substr(seen, 1, 4) COLLATE NOCASE) WHERE area > 5;
        INSERT INTO person VALUES(1, 'Ann@x', 'Ann', 1, NULL), (2, 'ben@x', NULL, 2, NULL), (3, 'cy@x', 'Cy', 3, 'q'), (4, 'dee@x', 'Dee', 9, 'AbCdE')
        """#
    private static let personRows = "SELECT * FROM person ORDER BY id"

    @Test func tablesWithUniqueExpressionsAreTrackedLikeOthers() throws {
        let scene = try scene(Self.people)
        #expect(try scene.database("b.db").run("SELECT count(*) FROM person") == "4\n")
        for sql in [
            "DELETE FROM person WHERE id = 2", "INSERT INTO person VALUES(9, 'new@x', NULL, 2, NULL); UPDATE person SET mail = 'ANN@y' WHERE id = 1",
            // Each removes a row without a DELETE trigger.
            "INSERT OR REPLACE INTO person VALUES(20, 'CY@X', 'Cy', 3, 'other')",
            "UPDATE OR REPLACE person SET mail = 'NEW@x', \"the \"\"name\"\"\" = NULL, area = 2 WHERE id = 20",
            "REPLACE INTO person VALUES(30, 'e@x', NULL, 8, 'aBcDzzz')",
        ] {
            try scene.database("a.db").run(sql)
            #expect(try scene.succeed("sync a.db").contains("published"))
            try scene.sync("b")
            try expectEqual(scene, Self.personRows)
        }
        #expect(try scene.database("a.db").run("SELECT id FROM person ORDER BY id") == "1\n20\n30\n")
        #expect(try scene.succeed("sync a.db").contains("nothing new"))
    }

    @Test func anIndexOnAnExpressionMayComeAndGo() throws {
        let scene = try scene("CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, name TEXT); INSERT INTO t VALUES('a', 'A'), ('b', 'B')")
        try scene.database("a.db").run("CREATE UNIQUE INDEX i ON t(lower(name)); REPLACE INTO t VALUES('c', 'b')")
        try scene.succeed("sync a.db --allow-shrink t")
        try scene.database("a.db").run("REPLACE INTO t VALUES('d', 'C'), ('e', 'c')")
        try scene.sync("a")
        try scene.database("a.db").run("DROP INDEX i; INSERT INTO t VALUES('f', 'C')")
        try scene.sync("a", "b")
        try expectEqual(scene, "SELECT * FROM t ORDER BY id")
        #expect(try scene.database("b.db").run("SELECT id FROM t ORDER BY id") == "a\nc\ne\nf\n")
    }

    // MARK: tables without a key

    @Test func aRenamedColumnOfATableWithoutAKeyIsNoDroppedOne() throws {
        let scene = try scene("CREATE TABLE log(line TEXT NOT NULL, level INTEGER NOT NULL); INSERT INTO log VALUES('one', 1), ('two', 2)")
        try scene.database("a.db").run("ALTER TABLE log RENAME COLUMN level TO rank; INSERT INTO log VALUES('three', 3)")
        let run = try scene.run("sync a.db")
        #expect(run.status == 78)
        #expect(run.errorText.contains("the column level is named rank now"))
        try scene.succeed("tables adopt a.db")
        try scene.sync("a", "b")
        #expect(try scene.database("b.db").run("SELECT rowid, line, level FROM log") == "1|one|1\n2|two|2\n3|three|3\n")
        try scene.succeed("restore a.db 1")
        #expect(try scene.database("a.db").run("SELECT rowid, line, rank FROM log") == "1|one|1\n2|two|2\n")
    }

    @Test func versionsFromBeforeADroppedColumnCanBeRestored() throws {
        let scene = try scene("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b INTEGER NOT NULL); INSERT INTO t VALUES(1, 'one', 7), (2, 'two', 8)")
        try scene.database("a.db").run("ALTER TABLE t DROP COLUMN b; UPDATE t SET a = 'edited'")
        try scene.succeed("tables adopt a.db")
        try scene.sync("a")
        // The reader's column is NOT NULL, and join makes no defaults: the hint's command is what it takes.
        try scene.database("a.db").run("INSERT INTO t VALUES(3, 'three')")
        try scene.sync("a")
        var run = try scene.run("sync b.db")
        if run.status == 0 { run = try scene.run("sync b.db") }
        if run.status == 78 {
            let command = try #require(run.errorText.firstMatch(of: /if nobody needs the column any more: (.*); else give it a default/)).1
            _ = try ToolFailure.check(ProgramRun("sh", ["-c", String(command)], in: scene.scratch.path), "sh")
            try scene.sync("b")
        }
        try scene.succeed("restore a.db 1")
        #expect(try scene.database("a.db").run("SELECT * FROM t ORDER BY id") == "1|one\n2|two\n")
        try scene.sync("a", "b")
        try expectEqual(scene, "SELECT id, a FROM t ORDER BY id")
    }

    // MARK: what cannot travel

    private func refusal(_ scene: Scene, _ line: String) throws -> String {
        let run = try scene.run(line)
        #expect(run.status == 78, "\(run.text)\(run.errorText)")
        return run.errorText
    }

    /// Runs `init` with what the refusal's hint says, as a shell takes it.
    private func initAgain(_ scene: Scene, after text: String) throws {
        let lines = text.split(separator: "\n")
        let skips = lines.compactMap { line in line.firstMatch(of: /--exclude (.+)$/).map { String($0.1) } }
        let skip = try #require(skips.last)
        let command = "'\(try BuiltCommand.path())' init a.db cloud --name a --exclude \(skip)"
        _ = try ToolFailure.check(ProgramRun("bash", ["-c", command], in: scene.scratch.path), "bash")
    }

    @Test func aTableThatSQLiteCannotReadHidesNoOther() throws {
        let scene = try Scene()
        try Python.run(
            """
            import sqlite3
            c = sqlite3.connect('a.db'); c.create_collation('APP', lambda a, b: (a > b) - (a < b))
            c.executescript(\"""
                CREATE TABLE tag(name TEXT PRIMARY KEY COLLATE APP, usn INTEGER) WITHOUT ROWID; INSERT INTO tag VALUES('x', 1);
                CREATE TABLE deck(id INTEGER PRIMARY KEY, name TEXT COLLATE APP); CREATE UNIQUE INDEX deck_name ON deck(name); INSERT INTO deck VALUES(1, 'd');
                CREATE TABLE pair(a TEXT COLLATE APP, b INTEGER, PRIMARY KEY(b, a)); INSERT INTO pair VALUES('p', 1);
                CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT COLLATE APP); INSERT INTO note VALUES(1, 'n');
                \""")
            """, in: scene.scratch.path)
        let text = try refusal(scene, "init a.db cloud --name a")
        #expect(text.contains("3 tables cannot be synced"))
        for table in ["tag", "deck", "pair"] { #expect(text.contains("\n  \(table): ")) }
        #expect(text.contains("tag: the key column name is compared by the collation APP, which is not SQLite's own"))
        try initAgain(scene, after: text)
        #expect(try scene.succeed("sync a.db").contains("note: 1 entity"))
    }

    @Test func keysThatCannotTravelAreListedBeforeAnythingIsPublished() throws {
        let scene = try Scene()
        try scene.database("a.db").run(
            """
            CREATE TABLE long(k TEXT PRIMARY KEY NOT NULL); INSERT INTO long VALUES(printf('%.1025c', 'x')), ('short');
            CREATE TABLE pair(a TEXT NOT NULL, b BLOB NOT NULL, PRIMARY KEY(a, b)); INSERT INTO pair VALUES(printf('%.600c', 'x'), zeroblob(600));
            CREATE TABLE far(r REAL PRIMARY KEY NOT NULL); INSERT INTO far VALUES(9e999), (-9e999), (0.0);
            CREATE TABLE least(a INTEGER NOT NULL, b INTEGER NOT NULL, PRIMARY KEY(a, b)); INSERT INTO least VALUES(-9223372036854775808, 1);
            CREATE TABLE fits(k TEXT PRIMARY KEY NOT NULL, huge TEXT, far REAL); INSERT INTO fits VALUES(printf('%.1024c', 'x'), printf('%.5000c', 'y'), 9e999);
            """)
        try scene.succeed("init a.db cloud --name a")
        let refused = try scene.run("sync a.db"), text = refused.errorText
        #expect(refused.status == 65 && text.contains("4 rows cannot be synced; nothing was published"), "\(text)")
        for table in ["long", "pair", "far"] { #expect(text.contains("\n  \(table), "), "\(text)") }
        #expect(text.contains("the key is longer than 1024 bytes") && text.contains("an infinite number cannot be a key"))
        #expect(!text.contains("fits, ") && !text.contains("least, "))
        try scene.database("a.db").run("DELETE FROM long WHERE length(k) > 9; DELETE FROM pair; DELETE FROM far WHERE r <> 0")
        #expect(try scene.succeed("sync a.db").contains("fits: 1 entity"))
    }

    @Test func theNamesOfAHintWorkWhenTheyAreTyped() throws {
        let scene = try Scene()
        let bad = ["-old", "a,b", "line\nbreak", "it's \"quoted\"", " first", "$HOME `x`", "tab\tand \\n"]
        for name in bad {
            // Its NULL keeps the table from travelling.
            try scene.database("a.db").run(
                "CREATE TABLE \"\(name.replacing("\"", with: "\"\""))\"(k TEXT PRIMARY KEY); INSERT INTO \"\(name.replacing("\"", with: "\"\""))\" VALUES(NULL)"
            )
        }
        try scene.database("a.db").run("CREATE TABLE a(k INTEGER PRIMARY KEY); CREATE TABLE b(k INTEGER PRIMARY KEY)")
        let text = try refusal(scene, "init a.db cloud --name a")
        #expect(text.contains("7 tables cannot be synced"))
        try initAgain(scene, after: text)
        #expect(try scene.succeed("status a.db").contains("a: "))
    }

    @Test func aTableOfAThousandColumnsTravels() throws {
        let columns = (1..<1000).map { "c\($0) TEXT" }.joined(separator: ", ")
        let scene = try scene("CREATE TABLE wide(id INTEGER PRIMARY KEY, \(columns)); INSERT INTO wide(id, c1, c999) VALUES(1, 'first', 'last')")
        try scene.database("a.db").run("UPDATE wide SET c500 = 'middle'")
        try scene.sync("a", "b")
        try expectEqual(scene, "SELECT * FROM wide")
    }

    @Test func manyTriggersAndTablesAreSaidInFewLines() throws {
        let scene = try Scene()
        let tables = (1...21).map { n in
            "CREATE TABLE t\(n)(id INTEGER PRIMARY KEY, last_update TEXT); INSERT INTO t\(n) VALUES(1, 'never');"
                + "CREATE TRIGGER touch\(n) AFTER UPDATE ON t\(n) BEGIN UPDATE t\(n) SET last_update = 'now' WHERE id = NEW.id; END; CREATE TABLE l\(n)(x);"
        }
        try scene.database("a.db").run(tables.joined())
        let text = try scene.succeed("init a.db cloud --name a")
        let names = (1...21).map { "t\($0)" }.joined(separator: ", ")
        #expect(text.contains("timestamp of \(names): none; not last_update\n"))
        #expect(text.contains("21 triggers of \(names): run for the rows that an import changes; what they write into synced tables is ignored then"))
        #expect(text.contains("note: \((1...21).map { "l\($0)" }.joined(separator: ", ")) have no key and are carried by their rowids"))
        #expect(try scene.run("check a.db -v").text.contains("the trigger touch7 of t7 runs for the rows that an import changes"))
    }
}
