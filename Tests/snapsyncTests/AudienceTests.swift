import Foundation
import TestSupport
import Testing

/// A database publishes the rows of queries into zones of their own.
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct AudienceTests {
    private static let lock = "import sqlite3, time; c = sqlite3.connect('app.db', isolation_level=None); c.execute('BEGIN EXCLUSIVE'); time.sleep(14)"
    private static let orders = "orders=SELECT * FROM orders WHERE shop = "

    /// A source with the orders of two shops, and the audiences `shop7.db` and `shop8.db` with a reader each.
    static func shops() throws -> Scene {
        try Scene.copy(of: "audiences") { scene in
            try scene.database("app.db").run(
                """
                CREATE TABLE customers(id TEXT PRIMARY KEY NOT NULL, name TEXT COLLATE NOCASE);
                CREATE TABLE orders(
                    id TEXT PRIMARY KEY NOT NULL, shop INT NOT NULL, customer TEXT REFERENCES customers(id), cents INT CHECK (cents >= 0), status TEXT DEFAULT 'new');
                CREATE TABLE log(entry TEXT);
                CREATE TRIGGER priced AFTER UPDATE OF cents ON orders BEGIN INSERT INTO log VALUES(NEW.id || ' costs ' || NEW.cents); END;
                INSERT INTO customers VALUES('c1', 'Ann'), ('c2', 'Ben');
                INSERT INTO orders(id, shop, customer, cents) VALUES('o1', 7, 'c1', 100), ('o2', 7, 'c2', 200), ('o3', 8, 'c2', 300);
                """)
            for line in ["init app.db cloud --name app --exclude log", "sync app.db"] { try scene.succeed(line) }
            for shop in [7, 8] {
                try scene.audience(
                    "init shop\(shop).db cloud --name shop\(shop) --zone shop\(shop) --source app.db --reader-edits all --from", orders + "\(shop)")
            }
            try scene.succeed("sync app.db")
            for shop in [7, 8] { try scene.succeed("join r\(shop).db cloud --name r\(shop) --zone shop\(shop)") }
            for shop in [7, 8] { try scene.succeed("sync r\(shop).db") }
        }
    }

    private func orders(_ scene: Scene, _ name: String) throws -> [String] { try scene.rows(name, "id, shop, customer, cents, status", table: "orders") }

    @Test func oneRunPublishesToEveryAudience() throws {
        let scene = try Self.shops()
        #expect(try orders(scene, "r7") == ["o1|7|c1|100|new", "o2|7|c2|200|new"] && orders(scene, "r8") == ["o3|8|c2|300|new"])
        // A row that leaves the filter is a deletion there.
        try scene.database("app.db").run("UPDATE orders SET shop = 8 WHERE id = 'o2'; UPDATE orders SET status = 'paid' WHERE id = 'o1'")
        let plan = try scene.succeed("sync app.db -n")
        #expect(plan.contains("the location has version 1\n  orders is filled first: 0 added, 1 changed, 1 removed\n"), "\(plan)")
        #expect(plan.contains("  orders is filled first: 1 added, 0 changed, 0 removed\n"), "\(plan)")
        try scene.succeed("sync shop7.db -n --out shop7.plan")
        try scene.database("app.db").run("UPDATE orders SET shop = 7 WHERE id = 'o3'")
        #expect(try scene.run("sync shop7.db --plan shop7.plan").errorText.contains("its source was changed since the plan was made"))
        try scene.database("app.db").run("UPDATE orders SET shop = 8 WHERE id = 'o3'")
        let said = try scene.succeed("sync app.db")
        #expect(said.contains("audience \(scene.scratch.path("shop7.db")):\n  published version 2\n"), "\(said)")
        for shop in [7, 8] { try scene.succeed("sync r\(shop).db") }
        #expect(try orders(scene, "r7") == ["o1|7|c1|100|paid"] && orders(scene, "r8") == ["o2|8|c2|200|new", "o3|8|c2|300|new"])
        #expect(!(try scene.succeed("sync app.db -n").contains("filled")))
        // Without a change, no zone gets a version, and no database a change.
        let before = try scene.cloudListing(), dump = try scene.database("shop7.db").run(".dump")
        try scene.succeed("sync app.db")
        #expect(try scene.cloudListing() == before && scene.database("shop7.db").run(".dump") == dump)
        // Each audience can be synced alone.
        try scene.database("app.db").run("UPDATE orders SET cents = cents + 1")
        #expect(try scene.succeed("sync shop8.db").contains("published version 3"))
        for shop in [7, 8] { try scene.succeed("check shop\(shop).db --local") }
        #expect(try scene.json("sync app.db")["audiences"].map { ($0 as? [[String: Any]])?.count } == 2)
    }

    @Test func readersEditTheSource() throws {
        let scene = try Self.shops()
        try scene.database("r7.db").run(
            "UPDATE orders SET status = 'sent' WHERE id = 'o1'; DELETE FROM orders WHERE id = 'o2'; INSERT INTO orders VALUES('o4', 7, 'c1', 400, NULL)")
        try scene.database("app.db").run("UPDATE orders SET cents = 111 WHERE id = 'o1'")
        for name in ["r7", "app", "r7"] { try scene.succeed("sync \(name).db") }
        let expected = ["o1|7|c1|111|sent", "o4|7|c1|400|"]
        #expect(try orders(scene, "app") == expected + ["o3|8|c2|300|new"] || orders(scene, "app") == ["o1|7|c1|111|sent", "o3|8|c2|300|new", "o4|7|c1|400|"])
        #expect(try orders(scene, "r7") == expected)
        // A trigger for one column runs for an edit of that column alone.
        #expect(try scene.database("app.db").run("SELECT entry FROM log") == "o1 costs 111\n")
        #expect(try scene.succeed("conflicts r7.db").hasPrefix("no "))
        for name in ["shop7", "r7", "app"] { try scene.succeed("check \(name).db --local") }
    }

    /// The source refuses single edits, and the reader's journal has them.
    @Test func whatTheSourceRefusesIsTold() throws {
        let scene = try Self.shops()
        try scene.database("r7.db").run(
            """
            UPDATE orders SET cents = -1 WHERE id = 'o1'; UPDATE orders SET shop = 8 WHERE id = 'o2';
            INSERT INTO orders VALUES('o5', 7, 'nobody', 1, 'new'), ('o6', 8, NULL, 1, 'new'), ('o7', 7, NULL, 7, 'new');
            """)
        try scene.succeed("sync r7.db")
        let run = try scene.run("sync app.db")
        #expect(run.status == 0)
        for reason in [
            "CHECK constraint failed: cents >= 0 (key 'o1')", "FOREIGN KEY constraint failed (key 'o5')", "2 edits not made in",
            "the row would not be one of the query's (key 'o6', and others)",
        ] { #expect((run.text + run.errorText).contains(reason), "\(run.text) \(run.errorText)") }
        #expect(try orders(scene, "app") == ["o1|7|c1|100|new", "o2|7|c2|200|new", "o3|8|c2|300|new", "o7|7||7|new"])
        try scene.succeed("sync r7.db")
        #expect(try orders(scene, "r7") == ["o1|7|c1|100|new", "o2|7|c2|200|new", "o7|7||7|new"])
        let journal = try scene.succeed("conflicts r7.db")
        for key in ["o1", "o2", "o5", "o6"] { #expect(journal.contains(key), "\(journal)") }
        #expect(try scene.succeed("sync app.db").contains("audience"))
        for name in ["shop7", "r7", "app"] { try scene.succeed("check \(name).db --local") }
    }

    /// Of two edits of a column the later one wins, although the source's arrives in the audience later.
    @Test(arguments: [false, true]) func theLaterEditWins(sourceIsLater: Bool) throws {
        let scene = try Self.shops()
        let edits = [("app", "of the source"), ("r7", "of the reader")]
        for (name, text) in sourceIsLater ? edits.reversed() : edits {
            try scene.database("\(name).db").run("UPDATE orders SET status = '\(text)' WHERE id = 'o1'")
            usleep(20_000)
        }
        for name in ["r7", "app", "r7"] { _ = try scene.run("sync \(name).db") }
        let winner = sourceIsLater ? "of the source" : "of the reader"
        for name in ["app", "r7", "shop7"] { #expect(try scene.rows(name, "status", table: "orders WHERE id = 'o1'") == [winner]) }
        #expect(try scene.succeed("conflicts shop7.db").hasPrefix("1 edit lost"))
    }

    /// A kill after the source has an edit and before the audience is refreshed, and one before the version.
    @Test func anEditThatWasMadeTwiceIsOne() throws {
        let scene = try Self.shops()
        for name in ["shop7", "app"] {
            try scene.database("\(name).db").run(
                "UPDATE orders SET status = 'paid' WHERE id = 'o1'; INSERT INTO orders VALUES('o8', 7, NULL, 8, 'new'); DELETE FROM orders WHERE id = 'o2'")
        }
        try scene.succeed("sync app.db")
        try scene.succeed("sync r7.db")
        for name in ["app WHERE shop = 7", "shop7", "r7"] {
            let words = name.split(separator: " ", maxSplits: 1)
            #expect(try scene.rows(String(words[0]), "id, status", table: "orders \(words.dropFirst().first ?? "")") == ["o1|paid", "o8|new"])
        }
    }

    @Test func aBusySourceIsTriedAgainLater() throws {
        let scene = try Self.shops()
        try scene.database("r7.db").run("UPDATE orders SET status = 'sent' WHERE id = 'o1'")
        try scene.succeed("sync r7.db")
        let lock = try RunningProgram("python3", ["-c", Self.lock], in: scene.scratch.path)
        usleep(300_000)
        let run = try scene.run("sync shop7.db")
        #expect(run.status == 75 && run.errorText.contains("another program holds the database's lock"), "\(run.errorText)")
        _ = try lock.wait()
        try scene.succeed("sync shop7.db")
        #expect(try scene.rows("app", "status", table: "orders WHERE id = 'o1'") == ["sent"])
    }

    @Test func theSourceChangesItsTables() throws {
        let scene = try Self.shops()
        try scene.database("app.db").run("ALTER TABLE orders ADD COLUMN note TEXT; UPDATE orders SET note = 'fragile' WHERE id = 'o1'")
        for name in ["app", "r7"] { _ = try scene.run("sync \(name).db") }
        for line in ["tables adopt r7.db --create", "sync r7.db"] { try scene.succeed(line) }
        #expect(try scene.rows("r7", "id, note", table: "orders") == ["o1|fragile", "o2|"])
        try scene.database("app.db").run("ALTER TABLE orders DROP COLUMN customer")
        let refusal = try scene.refused("sync shop7.db")
        #expect(refusal.contains("its query has no column customer any longer") && refusal.contains("snapsync tables add"), "\(refusal)")
        try scene.audience("tables add shop7.db orders --from", "SELECT id, shop, cents, status, note FROM orders WHERE shop = 7 AND cents < 200;")
        try scene.succeed("sync shop7.db")
        _ = try scene.run("sync r7.db")
        #expect(try scene.rows("r7", "id, cents, note", table: "orders") == ["o1|100|fragile"])
        try scene.succeed("check shop7.db --local")
        // Another table, with totals that nobody can edit.
        try scene.audience(
            "tables add shop7.db totals --key totals=status --from",
            "SELECT status, count(*) AS orders, sum(cents) AS cents FROM orders WHERE shop = 7 GROUP BY 1")
        try scene.succeed("tables adopt app.db")
        let other = try scene.refused("sync app.db")
        #expect(other.contains("shop8.db, table orders") && other.contains("snapsync tables add \(scene.scratch.path("shop8.db")) orders"), "\(other)")
        try scene.audience("tables add shop8.db orders --from", "SELECT id, shop, cents, status, note FROM orders WHERE shop = 8")
        try scene.succeed("sync app.db")
        #expect(try scene.database("shop7.db").run("SELECT * FROM totals") == "new|2|300\n")
        let edits = try scene.run("tables edits shop7.db totals")
        #expect(edits.status == 64 && edits.errorText.contains("readers cannot edit its rows"), "\(edits.errorText)")
        try scene.succeed("tables remove shop7.db totals")
        try scene.database("app.db").run("DELETE FROM orders WHERE id = 'o2'")
        try scene.succeed("sync app.db")
        #expect(try scene.database("shop7.db").run("SELECT * FROM totals") == "new|2|300\n")
        try scene.succeed("detach shop7.db")
        #expect(try scene.database("shop7.db").run("SELECT name FROM sqlite_schema WHERE name LIKE 'snapsync_filled%'") == "")
        #expect(try !scene.succeed("sync app.db").contains("shop7.db"))
    }

    @Test(arguments: [
        ("SELECT missing FROM orders", "no such column: missing"), ("SELECT * FROM nowhere", "no such table: nowhere"), ("SELEC * FROM orders", "syntax error"),
        ("SELECT customer AS id, shop FROM orders", "its rows have no key"), ("SELECT shop, count(*) AS n FROM orders GROUP BY shop", "its rows have no key"),
        ("SELECT *, random() AS r FROM orders", "it calls random"), ("SELECT id, CURRENT_TIMESTAMP AS at FROM orders", "it calls current_timestamp"),
        ("SELECT id FROM orders WHERE date(status) < date('now')", "it calls date for the present time"),
        ("SELECT id FROM orders WHERE status < datetime()", "it calls datetime for the present time"),
        ("SELECT id FROM today", "it calls strftime for the present time"), ("SELECT id FROM orders WHERE shop = ?", "it has parameters"),
        ("DELETE FROM orders RETURNING id", "it does more than read rows"), ("ATTACH 'x.db' AS x", "it does more than read rows"),
        ("PRAGMA user_version = 3", "it does more than read rows"), ("PRAGMA table_info(orders)", "it does more than read rows"),
        ("SELECT id FROM orders; DELETE FROM orders", "several statements"), ("SELECT id, shop AS ID FROM orders", "two columns are named"),
        ("SELECT o.id FROM orders o JOIN customers", "two rows have one key (id): 'o1'"),
        ("SELECT c.id FROM orders o LEFT JOIN customers c ON c.id = o.customer AND shop = 7 WHERE o.id <> 'o2'", "NULL in the key"),
        ("SELECT id FROM orders) UNION SELECT id FROM (SELECT id FROM customers", "syntax error"),
    ]) func aBadQueryIsRefused(query: String, reason: String) throws {
        let scene = try Self.shops()
        try scene.database("app.db").run("CREATE VIEW today AS SELECT id, strftime('%s', 'now') AS at FROM orders")
        let before = try (scene.cloudListing(), scene.database("app.db").run(".dump"), scene.database("shop7.db").run(".dump"))
        // Every way takes the query through the same check, so one query is tried by all of them.
        let ways = ["tables add shop7.db other --from", "init new.db cloud --zone new --source app.db --from", "tables add shop7.db orders --from"]
        for words in query.hasPrefix("DELETE") ? ways[...] : ways[..<1] {
            let run = try scene.audience(run: words, words.hasPrefix("init") ? "other=\(query)" : query)
            // Of a table that readers edit, it says first that the rows of such a query are not theirs to edit.
            let isSaid = run.errorText.contains(reason) || words.contains("orders") && run.errorText.contains("the rows of this query cannot be edited")
            #expect([64, 78].contains(run.status) && isSaid && run.errorText.contains("hint: "), "\(words) \(query): \(run.errorText)")
        }
        #expect(
            try scene.cloudListing() == before.0 && scene.database("app.db").run(".dump") == before.1 && scene.database("shop7.db").run(".dump") == before.2)
        #expect(!scene.scratch.exists("new.db") && !scene.scratch.exists("x.db"))
    }

    @Test func wrongFilesAreRefused() throws {
        let scene = try Self.shops()
        for (words, status, reason) in [
            ("init new.db cloud --zone new --source gone.db --from", 66, "there is no such database"),
            ("init app.db cloud --zone new --source app.db --from", 78, "set up for syncing already"),
            ("init own.db cloud --zone new --source own.db --from", 64, "the source is the same file"),
            ("init new.db cloud --zone new --from", 64, "--source and --from require each other"),
            ("tables add app.db x --from", 64, "only those of an audience"),
            ("init new.db cloud --zone new --source app.db --peers --from", 64, "cannot be combined"),
            ("init own.db cloud --zone new --source app.db --from", 64, "there is such a table"),
        ] as [(String, Int32, String)] {
            try scene.database("own.db").run("CREATE TABLE IF NOT EXISTS orders(id)")
            let run = try scene.audience(run: words, Self.orders + "7")
            #expect(run.status == status && run.errorText.contains(reason), "\(words): \(run.status) \(run.errorText)")
            #expect(!scene.scratch.exists("new.db") && !scene.scratch.exists("gone.db"))
        }
        let edits = try scene.audience(
            run: "init new.db cloud --zone new --source app.db --reader-edits all --key t=shop --from",
            "t=SELECT shop, sum(cents) AS cents FROM orders GROUP BY shop")
        #expect(edits.status == 64 && edits.errorText.contains("readers cannot edit its rows") && !scene.scratch.exists("new.db"), "\(edits.errorText)")
        // An audience whose file is gone does not keep the others from syncing, and is no success.
        try FileManager.default.removeItem(atPath: scene.scratch.path("shop7.db"))
        try scene.database("app.db").run("UPDATE orders SET status = 'late'")
        let run = try scene.run("sync app.db")
        #expect(run.status == 66 && run.errorText.contains("there is no such database, and it is an audience of app.db"), "\(run.errorText)")
        try scene.succeed("sync r8.db")
        #expect(try scene.rows("r8", "status", table: "orders") == ["late"])
        let hint = try #require(run.errorText.range(of: "end the audience: ").map { String(run.errorText[$0.upperBound...]) })
        let pasted = try ProgramRun("sh", ["-c", hint], in: scene.scratch.path)
        #expect(pasted.status == 0, "\(hint) \(pasted.errorText)")
        try scene.succeed("sync app.db")
    }

    /// Who has the keys of one audience has none of another's.
    @Test func eachSealedAudienceHasKeysOfItsOwn() throws {
        let scene = try Self.shops()
        for shop in [17, 18] {
            let run = try scene.audience(
                run: "init shop\(shop).db cloud --name shop\(shop) --zone shop\(shop) --encrypt --source app.db --from", Self.orders + "\(shop - 10)")
            #expect(run.status == 0, "\(run.errorText)")
        }
        try scene.succeed("sync app.db")
        _ = try scene.run("join r17.db cloud --name r17 --zone shop17")
        _ = try scene.run("zone approve shop17.db r17 --yes")
        _ = try scene.run("join r17.db cloud --name r17 --zone shop17")
        _ = try scene.run("sync r17.db")
        #expect(try orders(scene, "r17").count == 2)
        #expect(try scene.run("query cloud --zone shop18 SELECT").status != 0)
        #expect(try scene.run("join r18.db cloud --name r17 --zone shop18").status != 0)
    }
}

extension Scene {
    /// Runs the command with the words of a line, and one more that may have spaces.
    fileprivate func audience(run line: String, _ word: String) throws -> ProgramRun {
        let words = line.split(separator: " ").map(String.init) + [word], run = try BuiltCommand.run(words, in: scratch.path)
        PastedHints.check(run, words, in: scratch.path, environment: [:])
        return run
    }

    fileprivate func audience(_ line: String, _ word: String) throws {
        let run = try audience(run: line, word)
        try #require(run.status == 0 && run.errorText == "", "snapsync \(line): \(run.errorText)")
    }
}
