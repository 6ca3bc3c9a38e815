import Foundation
import TestSupport
import Testing

/// Rows that are held, and what `conflicts` does about them.
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct HeldRowTests {
    private static let tables = """
        CREATE TABLE customers(id TEXT PRIMARY KEY NOT NULL, mail TEXT UNIQUE COLLATE NOCASE, name TEXT, n INT);
        CREATE TABLE orders(id TEXT PRIMARY KEY NOT NULL, customer TEXT REFERENCES customers(id), n INT);
        """

    /// Two devices with one customer; then each adds one with the same mail, and `b` an order of its customer.
    private func scene(_ role: String) throws -> Scene {
        let sql = Self.tables + "INSERT INTO customers VALUES('old', 'old@x', 'Old', 1)"
        let first = role == "reader" ? "writer --reader-edits all" : "peer"
        return try Scene.copy(of: "held rows \(role)", from: .pair(sql, roles: (first, role))) { scene in
            try scene.database("a.db").run("INSERT INTO customers VALUES('a1', 'ann@x', 'Ann', 2)")
            try scene.database("b.db").run("INSERT INTO customers VALUES('b1', 'Ann@X', 'Ann B', 3); INSERT INTO orders VALUES('o1', 'b1', 4)")
            try scene.sync("a", "b")
        }
    }

    private func everybodySyncs(_ scene: Scene) throws {
        try scene.sync("a", "b", "a", "b")
        for query in ["SELECT * FROM customers ORDER BY id", "SELECT * FROM orders"] {
            #expect(try scene.database("a.db").run(query) == scene.database("b.db").run(query))
        }
    }

    /// Each role of the second device, the device that edits, and whether a version has the rows.
    private static let cases = [("peer", "b", false), ("reader", "a", true), ("reader", "b", true)]

    @Test(arguments: cases) func aHeldRowIsListedAndEdited(role: String, editor: String, published: Bool) throws {
        let scene = try scene(role)
        if published { try everybodySyncs(scene) }
        let list = try scene.succeed("conflicts \(editor).db")
        #expect(list.contains("2 rows are held") && list.contains(#"customers b1: mail "Ann@X" is that of "a1""#), "\(list)")
        #expect(list.contains(#"orders o1: customer "b1" is in no row of customers"#), "\(list)")
        let misfit = try scene.run("conflicts edit \(editor).db customers b1 mail=OLD@x")
        #expect(misfit.status == 78 && misfit.errorText.contains(#"still does not fit: mail "OLD@x" is that of "old""#), "\(misfit.errorText)")
        #expect(try scene.run("conflicts edit \(editor).db customers b2 mail=x").status == 66)
        #expect(try scene.run("conflicts edit \(editor).db customers b1 post=x").status == 78)
        #expect(try scene.succeed("conflicts \(editor).db") == list)
        try scene.succeed("conflicts edit \(editor).db customers b1 mail=bea@x n=30")
        try everybodySyncs(scene)
        for name in ["a", "b"] {
            #expect(try scene.database("\(name).db").run("SELECT * FROM customers WHERE id = 'b1'") == "b1|bea@x|Ann B|30\n")
            #expect(try scene.database("\(name).db").run("SELECT * FROM orders") == "o1|b1|4\n")
            // The row's author had seen it: nothing loses.
            #expect(try scene.succeed("conflicts \(name).db") == "no edit has lost to another one\n")
            #expect(try scene.succeed("sync \(name).db").hasPrefix(name == "b" && role == "reader" ? "version" : "nothing"))
        }
    }

    /// A key is shown with its hidden characters escaped, and a column as the table calls it.
    @Test func aHeldRowIsEditedByTheKeyAndTheColumnThatAreListed() throws {
        let scene = try Scene.pair("CREATE TABLE q(id TEXT PRIMARY KEY NOT NULL, m TEXT UNIQUE)")
        try scene.database("a.db").run("INSERT INTO q VALUES('1', 'm')")
        try scene.database("b.db").run("INSERT INTO q VALUES('a' || char(10) || 'b', 'm')")
        try scene.sync("a", "b")
        try scene.database("b.db").run("ALTER TABLE q RENAME COLUMN m TO mail")
        try scene.succeed("tables adopt b.db")
        #expect(try scene.succeed("conflicts b.db").contains(#"q a\u{a}b: mail "m" is that of "1""#))
        let edit = try BuiltCommand.run(["conflicts", "edit", "b.db", "q", #"a\u{a}b"#, "mail=new"], in: scene.scratch.path)
        #expect(edit.status == 0, "\(edit.errorText)")
        #expect(try scene.database("b.db").run("SELECT hex(id) FROM q WHERE mail = 'new'") == "610A62\n")
    }

    /// A column without a type holds 1 and '1' side by side.
    @Test func keysThatLookAlikeAreToldApart() throws {
        let scene = try Scene.pair("CREATE TABLE q(id NOT NULL PRIMARY KEY, m TEXT UNIQUE)")
        try scene.database("a.db").run("INSERT INTO q VALUES('w', 'm1'), ('x', 'm2'), ('y', 'm3'), ('z', 'm4')")
        try scene.database("b.db").run("INSERT INTO q VALUES(1, 'm1'), ('1', 'm2'), (2.5, 'm3'), ('[2.5]', 'm4')")
        try scene.sync("a", "b", "a")
        let keys = ["1", #"["1"]"#, "[2.5]", #"["[2.5]"]"#]
        let held = try #require(try scene.json("conflicts b.db")["held"] as? [[String: Any]])
        #expect(Set(held.map { "\($0["key"] ?? "")" }).count == 4, "\(held)")
        for name in ["a", "b"] {
            let list = try scene.succeed("conflicts \(name).db")
            for (number, key) in keys.enumerated() { #expect(list.contains("q \(key): m \"m\(number + 1)\" is that of"), "\(list)") }
        }
        for (number, key) in keys.enumerated().reversed() {
            try scene.succeed("conflicts drop b.db q \(key)")
            let list = try scene.succeed("conflicts b.db")
            for other in keys.indices { #expect(list.contains("\"m\(other + 1)\"") == (other < number), "\(key): \(list)") }
        }
    }

    @Test func anEditThatStaysOnTheDeviceIsSaidToStay() throws {
        let scene = try Scene.pair(Self.tables, roles: ("writer", "reader"))
        try scene.database("a.db").run("INSERT INTO customers VALUES('a1', 'ann@x', 'Ann', 2), ('a2', 'bea@x', 'Bea', 2)")
        try scene.database("b.db").run("INSERT INTO customers VALUES('b1', 'ann@x', 'Ann B', 3), ('b2', 'bea@x', 'Bea B', 3)")
        try scene.sync("a", "b")
        let edited = try scene.succeed("conflicts edit b.db customers b1 mail=new@x")
        #expect(edited == "customers b1 is in its table; it stays on this device: readers may not edit the table\n")
        let dropped = try scene.succeed("conflicts drop b.db customers b2")
        #expect(dropped == "deleted customers b2, which was held; it stays on this device: no other device has the row\n")
    }

    /// A reader's own edit, which stays there, lets it show rows that the zone holds. That is no difference.
    @Test func aRowThatAnOwnEditReleasesIsNoDamage() throws {
        let scene = try scene("peer")
        try scene.database("a.db").run("DELETE FROM customers WHERE id = 'a1'; UPDATE customers SET mail = 'ANN@x' WHERE id = 'old'")
        try everybodySyncs(scene)
        try scene.succeed("join c.db cloud --name c")
        try scene.sync("c")
        let c = scene.database("c.db")
        try c.run("UPDATE customers SET mail = 'other' WHERE id = 'old'")
        for _ in 0..<2 {
            try scene.database("a.db").run("UPDATE customers SET n = n + 1")
            try scene.sync("a", "c")
            #expect(try c.run("SELECT customer FROM orders; SELECT mail FROM customers ORDER BY id") == "b1\nAnn@X\nother\n")
            try scene.succeed("check c.db --local")
            #expect(try !scene.succeed("sync c.db -n").contains("b1"))
            // A comparison of all rows, which the next sync makes, takes them for no edits of the reader's either: two of the three changes are rows that nobody edited.
            #expect(try c.run("SELECT count(*) FROM snapsync_changes; UPDATE snapsync_tracking SET isComplete = 2") == "3\n")
        }
        try c.run("UPDATE customers SET name = 'mine' WHERE id = 'b1'")
        try scene.succeed("check c.db --local")
    }

    /// A row that its publisher has deleted is restored by a reader's later edit, and does not fit beside the row that has its value now.
    @Test func aRowThatWasShownCanBeHeld() throws {
        let scene = try scene("reader")
        try everybodySyncs(scene)
        try scene.database("a.db").run("DELETE FROM customers WHERE id = 'old'; INSERT INTO customers VALUES('new', 'old@x', 'New', 5)")
        usleep(20_000)
        try scene.database("b.db").run("UPDATE customers SET n = 6 WHERE id = 'old'")
        try scene.sync("b")
        try everybodySyncs(scene)
        for name in ["a", "b"] {
            #expect(try scene.database("\(name).db").run("SELECT id FROM customers ORDER BY id") == "a1\nnew\n")
            #expect(try scene.succeed("conflicts \(name).db").contains(#"customers old: mail "old@x" is that of "new""#))
            #expect(try scene.succeed("check \(name).db --local").contains("all is well"))
        }
        try scene.database("a.db").run("UPDATE customers SET mail = 'new@x' WHERE id = 'new'")
        try everybodySyncs(scene)
        #expect(try scene.database("b.db").run("SELECT n FROM customers WHERE id = 'old'") == "6\n")
    }

    /// The application inserts another row under the key of one that was handed over and is held, and takes it away again.
    @Test(arguments: [
        "DELETE FROM customers WHERE id = 'b1'", "INSERT OR REPLACE INTO customers VALUES('b2', 'free@x', 'again', 8)",
        "UPDATE customers SET id = 'b9' WHERE id = 'b1'",
    ])
    func aHeldRowThatWasReplacedIsInTheJournal(then: String) throws {
        let scene = try scene("reader")
        try scene.succeed("conflicts drop b.db orders o1")
        try scene.database("b.db").run("INSERT INTO customers VALUES('b1', 'free@x', 'instead', 7)")
        try scene.sync("b")
        #expect(try scene.succeed("conflicts b.db").contains(#"name: "Ann B" lost"#))
        try scene.database("b.db").run(then)
        try everybodySyncs(scene)
        #expect(try !scene.succeed("conflicts a.db").contains("a deletion"))
        let ids = ["a1", then.contains("b2") ? "b2" : then.contains("b9") ? "b9" : "", "old"].filter { !$0.isEmpty }
        #expect(try scene.database("b.db").run("SELECT id FROM customers ORDER BY id") == ids.joined(separator: "\n") + "\n")
    }

    @Test(arguments: cases) func aHeldRowIsDropped(role: String, editor: String, published: Bool) throws {
        let scene = try scene(role)
        if published { try everybodySyncs(scene) }
        for row in ["orders o1", "customers b1"] { try scene.succeed("conflicts drop \(editor).db \(row)") }
        #expect(try !scene.succeed("conflicts \(editor).db").contains("held"))
        try everybodySyncs(scene)
        // The value of the row that was dropped is free.
        try scene.database("a.db").run("UPDATE customers SET mail = 'new@x' WHERE id = 'a1'")
        try everybodySyncs(scene)
        for name in ["a", "b"] {
            #expect(try scene.database("\(name).db").run("SELECT id FROM customers ORDER BY id") == "a1\nold\n")
            #expect(try scene.database("\(name).db").run("SELECT * FROM orders") == "")
            #expect(try !scene.succeed("conflicts \(name).db").contains("held"))
        }
    }

    // MARK: - What a device has besides the synced columns

    @Test(arguments: ["peer", "reader"]) func whatADeviceAloneHasOfAHeldRowStays(role: String) throws {
        let scene = try Scene.pair(Self.tables, roles: (role == "reader" ? "writer --reader-edits all" : "peer", role))
        let b = scene.database("b.db"), isReader = role == "reader"
        try b.run(
            """
            CREATE TABLE own(customer TEXT REFERENCES customers(id) ON DELETE CASCADE, second TEXT REFERENCES customers(id) ON DELETE SET NULL,
                third TEXT REFERENCES customers(id));
            INSERT INTO customers(id, mail) VALUES('b1', 'Ann@X'); INSERT INTO own VALUES('b1', 'b1', 'b1');
            \(isReader ? "ALTER TABLE customers ADD COLUMN note; UPDATE customers SET note = x'00ff'" : "")
            """)
        try scene.database("a.db").run("INSERT INTO customers VALUES('a1', 'ann@x', 'Ann', 2)")
        try scene.sync("a")
        let said = try scene.succeed("sync b.db")
        #expect(said.contains("own: 1 row refers to a row of customers that is held, and stays as it is; snapsync conflicts "), "\(said)")
        for name in ["a", "b", "b"] { #expect(try !scene.succeed("sync \(name).db").contains("own: 1 row")) }
        #expect(try scene.succeed("conflicts b.db").contains("customers b1: mail"))
        try scene.database("a.db").run("UPDATE customers SET mail = 'new@x'")
        try scene.sync("a", "b")
        #expect(try b.run("SELECT id FROM customers ORDER BY id; SELECT * FROM own") == "a1\nb1\nb1|b1|b1\n")
        if isReader { #expect(try b.run("SELECT id, hex(note) FROM customers ORDER BY id; SELECT count(*) FROM snapsync_own") == "a1|\nb1|00FF\n0\n") }
        // A parent that is deleted is gone.
        try b.run("UPDATE own SET third = NULL")
        try scene.database("a.db").run("DELETE FROM customers WHERE id = 'b1'")
        try scene.sync("a", "b")
        #expect(try b.run("SELECT count(*) FROM own") == "0\n")
    }

    @Test func theOwnColumnsOfAHeldRowComeBackWithAnEditOfIt() throws {
        let scene = try Scene.pair(Self.tables, roles: ("writer --reader-edits all", "reader"))
        let b = scene.database("b.db")
        try b.run("ALTER TABLE customers ADD COLUMN note; INSERT INTO customers(id, mail, note) VALUES('b1', 'ann@x', 'kept'), ('b2', 'bea@x', 'old')")
        try scene.database("a.db").run("INSERT INTO customers(id, mail) VALUES('a1', 'ann@x'), ('a2', 'bea@x')")
        try scene.sync("a", "b")
        try scene.succeed("conflicts edit b.db customers b1 mail=free@x")
        // An application's row has what the application wrote.
        try b.run("INSERT INTO customers(id, mail) VALUES('b2', 'other@x')")
        try scene.sync("b", "a", "b")
        #expect(try b.run("SELECT id, note FROM customers ORDER BY id; SELECT count(*) FROM snapsync_own") == "a1|\na2|\nb1|kept\nb2|\n0\n")
    }

    // MARK: - A dataset that is no longer synced

    /// What is in the files beside a database.
    private func kept(_ name: String, _ scene: Scene) throws -> String {
        try Python.run(
            """
            import glob, gzip
            for name in sorted(glob.glob('\(name).snapsync-kept/*.json.gz')): print(gzip.open(name).read().decode())
            """, in: scene.scratch.path)
    }

    @Test(arguments: [("peer", true), ("reader", false)])
    func aHeldRowIsInAFileOnceItsDatasetIsTakenOut(role: String, published: Bool) throws {
        let scene = try scene(role)
        if published { try everybodySyncs(scene) }
        let report = try scene.succeed("tables remove b.db orders")
        #expect(report.contains("1 row that no table has: b.db.snapsync-kept/"), "\(report)")
        #expect(try !scene.succeed("conflicts b.db").contains("orders o1"))
        try scene.sync("b")
        // A reader alone has the other row.
        #expect(try scene.succeed("detach b.db").contains("are kept in b.db.snapsync-kept/") == (role == "reader" && !published))
        let file = try kept("b.db", scene)
        #expect(file.contains("o1") && file.contains("b1"), "\(file)")
    }

    @Test func aHeldRowIsHeldAgainOnceItsDatasetIsBack() throws {
        let scene = try scene("peer")
        try everybodySyncs(scene)
        try scene.succeed("tables remove a.db orders")
        try everybodySyncs(scene)
        #expect(try scene.succeed("conflicts b.db").contains("orders o1"))
        #expect(try kept("a.db", scene).contains("o1"))
        try scene.succeed("tables add a.db orders")
        try everybodySyncs(scene)
        for name in ["a", "b"] {
            #expect(try scene.succeed("conflicts \(name).db").contains("orders o1"))
            #expect(try scene.succeed("sync \(name).db").hasPrefix("nothing"))
        }
    }

    // MARK: - Other states of the data

    /// The rows that are held at a device, as `table key`.
    private func held(_ name: String, _ scene: Scene) throws -> [String] {
        let rows = try #require(try scene.json("conflicts \(name).db")["held"] as? [[String: Any]])
        return rows.map { "\($0["dataset"] ?? "") \($0["key"] ?? "")" }
    }

    @Test(arguments: ["peer", "reader"]) func aHeldRowGivesWayToTheCloudAndUndoBringsItBack(role: String) throws {
        let scene = try scene(role)
        try everybodySyncs(scene)
        let published = try held("b", scene)
        #expect(published == ["customers b1", "orders o1"])
        try scene.database("b.db").run("INSERT INTO customers VALUES('b2', 'cat@x', 'Cat B', 5)")
        try scene.database("a.db").run("INSERT INTO customers VALUES('a2', 'cat@x', 'Cat', 6)")
        try scene.sync("a")
        try scene.succeed("import b.db")
        let before = ["customers b1", "customers b2", "orders o1"]
        #expect(try held("b", scene) == before)
        #expect(try scene.json("import b.db --replace --yes")["keptCopy"] as? Int == 1)
        #expect(try held("b", scene) == published)
        try everybodySyncs(scene)
        #expect(try held("a", scene) == published)
        try scene.succeed("undo b.db")
        #expect(try held("b", scene) == before)
        // Another undo, before anything is published, has it in a copy.
        try scene.succeed("undo b.db")
        #expect(try held("b", scene) == published)
        try scene.succeed("undo b.db")
        try everybodySyncs(scene)
        for name in ["a", "b"] { #expect(try held(name, scene) == before) }
    }

    @Test func aVersionIsRestoredWithItsHeldRows() throws {
        let scene = try scene("peer")
        try everybodySyncs(scene)
        let (version, before) = (try #require(try scene.versions().first), try held("a", scene))
        let rows = try scene.database("a.db").run("SELECT * FROM customers ORDER BY id")
        func expect(_ held: [String], _ text: String? = nil) throws {
            try everybodySyncs(scene)
            for name in ["a", "b"] {
                #expect(try self.held(name, scene) == held)
                if let text { #expect(try scene.database("\(name).db").run("SELECT * FROM customers ORDER BY id") == text) }
                try scene.succeed("check \(name).db --local")
            }
        }
        // The first version does not have them.
        try scene.succeed("restore a.db 1")
        try expect([], "old|old@x|Old|1\n")
        try scene.succeed("undo a.db")
        try expect(before, rows)
        // They were dropped.
        for row in ["orders o1", "customers b1"] { try scene.succeed("conflicts drop b.db \(row)") }
        try expect([], rows)
        #expect(try scene.succeed("restore a.db \(version)").contains("customers: 0 added, 0 changed, 0 removed, 1 held row put back"))
        try expect(before, rows)
        // They are shown.
        try scene.database("a.db").run("UPDATE customers SET mail = 'new@x' WHERE id = 'a1'")
        try expect([])
        let shown = try scene.database("a.db").run("SELECT * FROM customers ORDER BY id")
        #expect(shown.contains("b1"))
        try scene.succeed("restore b.db \(version)")
        try expect(before, rows)
        try scene.succeed("undo b.db")
        try expect([], shown)
        #expect(try scene.succeed("restore a.db \(#require(try scene.versions().first))").contains("nothing was changed"))
    }

    @Test func thePublishersHeldRowsReplaceThoseOfTheCloud() throws {
        let scene = try scene("peer")
        try everybodySyncs(scene)
        let before = try held("b", scene)
        for row in ["orders o1", "customers b1"] { try scene.succeed("conflicts drop a.db \(row)") }
        try scene.sync("a")
        try scene.succeed("export b.db --replace --yes")
        try everybodySyncs(scene)
        for name in ["a", "b"] { #expect(try held(name, scene) == before) }
    }

    /// The version that first held the row is gone: another one has its number.
    @Test func aHeldRowOutlivesTheVersionThatHeldIt() throws {
        let scene = try Scene()
        try scene.database("desk.db").run("CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL, m TEXT UNIQUE); INSERT INTO p VALUES('x', '1')")
        try scene.succeed("init desk.db one --peers --name desk")
        try scene.sync("desk")
        try scene.scratch.copy(scene.scratch.path("one"), to: "two")
        try scene.succeed("join laptop.db two --peer --name laptop")
        try scene.sync("laptop")
        try scene.database("desk.db").run("INSERT INTO p VALUES('k', 'm')")
        try scene.sync("desk")
        try scene.replicate("one", "two", conflict: nil)
        try scene.database("laptop.db").run("INSERT INTO p VALUES('l', 'm')")
        try scene.database("desk.db").run("UPDATE p SET m = '2' WHERE id = 'x'")
        try scene.sync("desk", "laptop")
        try scene.replicate("one", "two", conflict: "sync-conflict-20260301-081500-7KQ2M4A")
        try scene.succeed("import laptop.db --accept-rollback 3")
        try scene.sync("laptop")
        try scene.replicate("one", "two", conflict: nil)
        try scene.sync("desk")
        for name in ["desk", "laptop"] {
            #expect(try held(name, scene) == ["p l"])
            #expect(try scene.database("\(name).db").run("SELECT * FROM p ORDER BY id") == "k|m\nx|2\n")
            #expect(try scene.succeed("conflicts \(name).db").hasPrefix("no edit has lost"))
        }
    }

    // MARK: - Other tables

    /// No edit lets the row fit, but the table.
    @Test func aHeldRowIsShownOnceItsIndexIsGone() throws {
        let scene = try Scene.pair(
            "CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL, m TEXT); CREATE UNIQUE INDEX pm ON p(m)", roles: ("peer", "peer --with-schema"))
        for (name, key) in [("a", "x"), ("b", "y")] { try scene.database("\(name).db").run("INSERT INTO p VALUES('\(key)', 'm')") }
        try scene.sync("a", "b", "a")
        let version = try #require(try scene.versions().first)
        // As long as nothing fits, nothing is published.
        try scene.sync("a", "b")
        #expect(try scene.versions().first == version)
        for name in ["a", "b"] { try scene.database("\(name).db").run("DROP INDEX pm") }
        for name in ["a", "b"] {
            try scene.succeed("sync \(name).db")
            #expect(try scene.database("\(name).db").run("SELECT id FROM p ORDER BY id") == "x\ny\n")
        }
        #expect(try scene.versions().first == version + 1)
    }

    /// The writer's table has constraints that the reader's lacks.
    @Test func aHeldRowSaysWhichValueIsMissingOrBreaksACheck() throws {
        let scene = try Scene()
        try scene.database("w.db").run("CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, n TEXT NOT NULL CHECK(n < 'm')); INSERT INTO t VALUES('1', 'a')")
        try scene.database("r.db").run("CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, n TEXT)")
        try scene.succeed("init w.db cloud --name w --reader-edits all")
        try scene.sync("w")
        try scene.succeed("join r.db cloud --name r")
        try scene.sync("r")
        try scene.database("r.db").run("INSERT INTO t VALUES('2', NULL), ('3', 'z')")
        try scene.sync("r", "w")
        let list = try scene.succeed("conflicts w.db")
        #expect(list.contains("t 2: n must have a value") && list.contains("t 3: it breaks CHECK (n < 'm')"), "\(list)")
    }

    private static let rows = "SELECT 'c', id FROM customers UNION ALL SELECT 'o', id FROM orders ORDER BY 1, 2"

    /// A writer and two readers that edit, with the customer `old`.
    private func writerAndReaders() throws -> Scene {
        let scene = try Scene.pair(Self.tables + "INSERT INTO customers VALUES('old', 'old@x', 'Old', 1)", roles: ("writer --reader-edits all", "reader"))
        try scene.succeed("join c.db cloud --name c")
        try scene.sync("c")
        return scene
    }

    /// The writer holds a reader's row, and shows it again because its parent is back. In the same sync, the reader's deletion of the row arrives.
    @Test func aReadersDeletionOfARowThatIsShownAgainIsMade() throws {
        let scene = try writerAndReaders()
        try scene.database("b.db").run("INSERT INTO orders VALUES('o1', 'old', 4)")
        try scene.sync("b")
        try scene.database("a.db").run("DELETE FROM customers")
        try scene.sync("a")
        try scene.database("b.db").run("DELETE FROM orders")
        try scene.sync("b")
        try scene.database("a.db").run("INSERT INTO customers VALUES('old', 'old@x', 'Again', 1)")
        try scene.sync("a", "b", "c")
        for name in ["a", "b", "c"] {
            #expect(try scene.database("\(name).db").run(Self.rows) == "c|old\n")
            try scene.succeed("check \(name).db --local")
        }
        #expect(try scene.succeed("show cloud orders").contains(#""deletions":[{"id":"o1""#))
        #expect(try scene.succeed("conflicts b.db") == "no edit has lost to another one\n")
    }

    /// A reader inserts and deletes a row before the writer takes either edit. The version has the deletion, so that no other edit of the row counts.
    @Test func aRowThatAReaderInsertedAndDeletedIsDeletedInTheVersion() throws {
        let scene = try writerAndReaders()
        try scene.database("b.db").run("INSERT INTO orders VALUES('o1', 'old', 4)")
        try scene.sync("b")
        try scene.database("b.db").run("DELETE FROM orders")
        try scene.sync("b", "a", "b")
        #expect(try scene.succeed("show cloud orders").contains(#""deletions":[{"id":"o1""#))
    }

    /// Of two own rows with one UNIQUE value, the one that the version shows with it keeps it: the other own row had it only while that one had another.
    @Test func aRowThatGetsItsValueBackKeepsItFromAnotherOwnRow() throws {
        let scene = try Scene.pair(Self.tables + "INSERT INTO customers VALUES('old', 'old@x', 'Old', 1)", roles: ("peer", "peer"))
        try scene.database("a.db").run("INSERT INTO customers VALUES('a1', 'new@x', 'Ann', 2)")
        try scene.database("b.db").run(
            "UPDATE customers SET mail = 'new@x', name = 'of b'; INSERT INTO customers VALUES('b1', 'old@x', 'Ben', 3)")
        try everybodySyncs(scene)
        #expect(try scene.database("b.db").run("SELECT id, mail, name FROM customers ORDER BY id") == "a1|new@x|Ann\nold|old@x|of b\n")
        #expect(try scene.succeed("conflicts a.db").contains(#"customers b1: mail "old@x" is that of "old""#))
    }

    /// A reader's order is held because the writer deleted its customer. A later edit of the customer brings it back, once.
    @Test func aParentThatALaterEditBringsBackIsNotRestoredBesides() throws {
        let scene = try writerAndReaders()
        try scene.database("b.db").run("INSERT INTO orders VALUES('o1', 'old', 4)")
        try scene.sync("b")
        try scene.database("a.db").run("DELETE FROM customers")
        try scene.sync("a")
        try scene.database("b.db").run("UPDATE customers SET name = 'of b'")
        try scene.sync("b", "a", "b", "c")
        for name in ["a", "b", "c"] { #expect(try scene.database("\(name).db").run("SELECT name FROM customers; \(Self.rows)") == "of b\nc|old\no|o1\n") }
    }

    /// Two readers bring back a row that the writer deleted. The second had not seen what the first had changed before the deletion.
    @Test func aValueFromBeforeADeletionIsInTheJournalIfAnotherReaderReplacesIt() throws {
        let scene = try writerAndReaders()
        try scene.database("b.db").run("UPDATE customers SET name = 'of b'")
        try scene.database("a.db").run("DELETE FROM customers")
        try scene.sync("a")
        try scene.database("b.db").run("UPDATE customers SET n = 2")
        try scene.database("c.db").run("DELETE FROM customers; INSERT INTO customers VALUES('old', 'old@x', 'Old', 1)")
        try scene.sync("b", "c", "a", "b", "c")
        for name in ["a", "b", "c"] { #expect(try scene.database("\(name).db").run("SELECT name, n FROM customers") == "Old|1\n") }
        #expect(try scene.succeed("conflicts a.db").contains(#"name: "of b" lost, "Old" was kept"#))
    }

    /// A reader restores a parent that its row needs, and the version holds the parent. Then the reader holds its row, too: no row refers to a missing one.
    @Test func aRowWhoseRestoredParentIsHeldIsHeldAgain() throws {
        let scene = try writerAndReaders()
        try scene.database("b.db").run("DELETE FROM customers")
        try scene.database("c.db").run("INSERT INTO orders VALUES('o1', 'old', 4)")
        try scene.sync("b", "c", "a")
        try scene.database("b.db").run("INSERT INTO customers VALUES('new', 'old@x', 'New', 2)")
        try scene.sync("b", "c")
        #expect(try scene.database("c.db").run(Self.rows) == "c|old\no|o1\n")
        try scene.sync("a", "b", "c")
        for name in ["a", "b", "c"] {
            #expect(try scene.database("\(name).db").run(Self.rows) == "c|new\n")
            #expect(try scene.succeed("conflicts \(name).db").contains("2 rows are held"))
            try scene.succeed("check \(name).db --local")
        }
    }

    /// The version holds a reader's row, which the reader shows beside the parent that it has restored. An edit of the row is one of that row.
    @Test func anEditOfARowThatTheVersionHoldsMergesByColumns() throws {
        let scene = try writerAndReaders()
        try scene.database("b.db").run("INSERT INTO orders VALUES('o1', 'old', 4)")
        try scene.sync("b")
        try scene.database("a.db").run("DELETE FROM customers")
        try scene.sync("a", "b")
        #expect(try scene.database("b.db").run(Self.rows) == "c|old\no|o1\n")
        try scene.database("b.db").run("UPDATE orders SET n = 9")
        try scene.sync("a")
        try scene.database("a.db").run("INSERT INTO customers VALUES('new', 'new@x', 'New', 2); UPDATE orders SET customer = 'new'")
        try scene.sync("a", "b", "a", "b")
        for name in ["a", "b"] { #expect(try scene.database("\(name).db").run("SELECT * FROM orders") == "o1|new|9\n") }
        #expect(!(try scene.succeed("conflicts b.db").contains("orders")))
    }

    /// The writer has deleted a row, inserted another one under its key and deleted that, too. A reader's later edit brings the row back, and it is held.
    @Test func aRowThatWasReplacedAndDeletedCanBeHeld() throws {
        let scene = try writerAndReaders()
        try scene.database("a.db").run("INSERT INTO orders VALUES('o1', 'old', 4)")
        try scene.sync("a", "b")
        try scene.database("a.db").run("DELETE FROM orders")
        try scene.database("a.db").run("INSERT INTO orders VALUES('o1', NULL, 5)")
        try scene.database("a.db").run("DELETE FROM orders; DELETE FROM customers")
        usleep(20_000)
        try scene.database("b.db").run("UPDATE orders SET n = 6")
        try scene.sync("b", "a")
        #expect(try scene.succeed("conflicts a.db").contains(#"orders o1: customer "old" is in no row of customers"#))
        // The reader has the customer, and restores it.
        try scene.sync("b", "a", "b")
        for name in ["a", "b"] { #expect(try scene.database("\(name).db").run(Self.rows + "; SELECT n FROM orders") == "c|old\no|o1\n6\n") }
    }

    /// The version holds a row of which a reader has an edit that loses. Another edit of the reader lets the row fit there.
    @Test func aHeldRowWithALostEditIsShownWhereItFits() throws {
        let scene = try writerAndReaders()
        try scene.database("a.db").run("INSERT INTO customers VALUES('x', 'x@x', 'X', 1)")
        try scene.sync("a", "b", "c")
        try scene.database("b.db").run("UPDATE customers SET name = 'lost' WHERE id = 'x'")
        usleep(20_000)
        try scene.database("a.db").run("DELETE FROM customers WHERE id = 'x'; INSERT INTO customers VALUES('z', 'x@x', 'Z', 1)")
        usleep(20_000)
        try scene.database("c.db").run("UPDATE customers SET name = 'back' WHERE id = 'x'")
        try scene.database("b.db").run("INSERT INTO customers VALUES('z', 'b@x', 'Later', 1)")
        try scene.sync("c", "a")
        #expect(try scene.succeed("conflicts a.db").contains(#"customers x: mail "x@x" is that of "z""#))
        try scene.sync("b")
        let rows = "SELECT id, name FROM customers ORDER BY id"
        #expect(try scene.database("b.db").run(rows) == "old|Old\nx|back\nz|Later\n")
        try scene.sync("a", "b", "c")
        for name in ["a", "b", "c"] { #expect(try scene.database("\(name).db").run(rows) == "old|Old\nx|back\nz|Later\n") }
    }

    /// A reader deletes the row that a held row conflicts with. It shows the held row before any version has the deletion.
    @Test func aHeldRowIsShownOnTheReaderThatLetsItFit() throws {
        let scene = try scene("reader")
        try everybodySyncs(scene)
        try scene.database("b.db").run("DELETE FROM customers WHERE id = 'a1'")
        try scene.sync("b")
        #expect(try scene.database("b.db").run(Self.rows) == "c|b1\nc|old\no|o1\n")
        try everybodySyncs(scene)
        #expect(try scene.database("a.db").run(Self.rows) == "c|b1\nc|old\no|o1\n")
    }

    /// A reader drops a held row, and lets it fit before the drop is sent. The row stays dropped, here and in the version.
    @Test func aHeldRowThatWasDroppedDoesNotComeBack() throws {
        let scene = try scene("reader")
        try everybodySyncs(scene)
        try scene.succeed("conflicts drop b.db orders o1")
        try scene.succeed("conflicts drop b.db customers b1")
        try scene.database("b.db").run("DELETE FROM customers WHERE id = 'a1'")
        try scene.sync("b")
        #expect(try scene.database("b.db").run(Self.rows) == "c|old\n")
        try everybodySyncs(scene)
        for name in ["a", "b"] { #expect(try scene.database("\(name).db").run(Self.rows) == "c|old\n") }
    }
}
