import LocalStore
import LocalTables
import SnapshotModel
import StrictText
import TestSupport
import Testing

@Suite struct ForeignKeyEnforcerTests {
    private let items = "CREATE TABLE items(id TEXT PRIMARY KEY, name TEXT); INSERT INTO items VALUES('a', '1'), ('b', '2'), ('c', '3');"
    /// What the version holds: `a` as it was, `b` changed, `c` gone, `d` new.
    private let version: [[Value]] = [[.text("a"), .text("1")], [.text("b"), .text("new")], [.text("d"), .text("4")]]

    /// Imports the version into a database made of `items` and more SQL, and returns what a query then finds.
    private func imported(_ sql: String, then query: String, wal: Bool = true) throws -> String {
        let scene = try LocalScene(items + sql, wal: wal)
        try scene.replace(namedItems(), by: version)
        #expect(try scene.rows(of: namedItems()) == version)
        return try scene.app.run(query)
    }

    /// Tries the same import, which must be refused and change nothing.
    private func refused(_ sql: String) throws -> SyncError {
        let scene = try LocalScene(items + sql)
        let before = try scene.app.dump()
        let error = try #require(throws: SyncError.self) { try scene.replace(namedItems(), by: version) }
        #expect(try scene.app.dump() == before)
        // Nothing of the failed attempt is in the way of the next.
        try scene.replace(namedItems(), by: [[.text("a"), .text("1")], [.text("b"), .text("2")], [.text("c"), .text("new")]])
        return error
    }

    @Test func setNullAndSetDefaultClearOnlyWhatPointsAtNothing() throws {
        let left = try imported(
            """
            CREATE TABLE notes(n INTEGER PRIMARY KEY, item TEXT REFERENCES items(id) ON DELETE SET NULL,
                other TEXT DEFAULT 'a' REFERENCES items(id) ON DELETE SET DEFAULT, third TEXT REFERENCES items(id) ON DELETE SET DEFAULT);
            INSERT INTO notes VALUES(1, 'a', 'b', 'b'), (2, 'c', 'c', 'c');
            """, then: "SELECT * FROM notes ORDER BY n")
        #expect(left == "1|a|b|b\n2||a|\n")
    }

    @Test func aReferenceFollowsAColumnThatIsNoKeyAsOnUpdateSays() throws {
        let left = try imported(
            """
            CREATE UNIQUE INDEX names ON items(name);
            CREATE TABLE notes(n INTEGER PRIMARY KEY, item TEXT REFERENCES items(name) ON UPDATE CASCADE ON DELETE CASCADE,
                other TEXT REFERENCES items(name) ON UPDATE SET NULL ON DELETE CASCADE, third TEXT DEFAULT '1' REFERENCES items(name) ON UPDATE SET DEFAULT);
            INSERT INTO notes VALUES(1, '1', NULL, '2'), (2, '2', '1', NULL), (3, '3', NULL, NULL), (4, NULL, '2', NULL), (5, '2', '3', NULL), (6, 'none', NULL, NULL);
            """, then: "SELECT * FROM notes ORDER BY n")
        #expect(left == "1|1||1\n2|new|1|\n4|||\n6|none||\n")
    }

    @Test(arguments: [
        // A column that is no key, and may not change.
        ("CREATE UNIQUE INDEX names ON items(name); CREATE TABLE notes(item TEXT REFERENCES items(name) ON DELETE CASCADE ON UPDATE RESTRICT)", "2", "notes"),
        ("CREATE UNIQUE INDEX names ON items(name); CREATE TABLE notes(item TEXT REFERENCES items(name) ON DELETE CASCADE)", "2", "notes"),
        // A default that points at nothing, and NULL where it must not be.
        ("CREATE TABLE notes(item TEXT DEFAULT 'none' REFERENCES items(id) ON DELETE SET DEFAULT)", "c", "notes"),
        ("CREATE TABLE notes(item TEXT NOT NULL REFERENCES items(id) ON DELETE SET NULL)", "c", "notes"),
        // A cascade that meets a restriction.
        (
            "CREATE TABLE notes(item TEXT UNIQUE REFERENCES items(id) ON DELETE CASCADE); CREATE TABLE tags(note TEXT REFERENCES notes(item) ON DELETE RESTRICT); INSERT INTO tags VALUES('c')",
            "c", "tags"
        ),
    ])
    func anActionThatCannotBeRefusesTheImport(tables: String, item: String, table: String) throws {
        let error = try refused("\(tables); INSERT INTO notes VALUES('\(item)')")
        let isNull = tables.contains("NOT NULL")
        #expect(error.database == (isNull ? .badRow : .foreignKeyViolated))
        #expect(isNull || error.place.hasSuffix("table \(table)"))
    }

    @Test func aParentThatIsHeldIsNotGone() throws {
        let scene = try LocalScene(
            items + """
                CREATE UNIQUE INDEX names ON items(name);
                CREATE TABLE notes(n INTEGER PRIMARY KEY, item TEXT REFERENCES items(id) ON DELETE CASCADE, name TEXT REFERENCES items(name));
                INSERT INTO notes VALUES(1, 'c', '3'), (2, 'b', '2');
                """)
        let schema = try namedItems(), at = Instant(microseconds: 1)
        let row = WaitingRow(key: .text(Array("c".utf8)), entity: #"{"id":"c","name":"3"}"#, at: at, born: at, columns: [:], gone: nil)
        _ = try scene.database.write { try $0.tracking.install([schema]) }
        func imported(_ hold: (LocalTransaction) throws -> Void) throws -> [String] {
            try scene.database.write { transaction in
                let keeper = try ForeignKeyEnforcer(transaction, datasets: [schema])
                try send([[.text("a"), .text("1")], [.text("b"), .text("2")]], to: transaction.rows.replaceAll(of: schema))
                try hold(transaction)
                try keeper.enforce()
                return transaction.triggerNotices
            }
        }
        let notices = try imported { try $0.waiting.put(row, of: schema) }
        #expect(notices.count == 2 && notices.allSatisfy { $0.hasPrefix("notes: 1 row refers to a row of items that is held, and stays as it is;") })
        #expect(try imported { _ in } == [])
        #expect(try scene.app.run("SELECT * FROM notes") == "1|c|3\n2|b|2\n")
        // It is deleted while it is held.
        #expect(try imported { try $0.waiting.remove(of: schema) } == [])
        #expect(try scene.app.run("SELECT n FROM notes") == "2\n")
    }

    @Test(arguments: ["ON DELETE RESTRICT", "ON DELETE NO ACTION", "", "DEFERRABLE INITIALLY DEFERRED", "ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED"])
    func aKeyThatForbidsItRefusesTheImport(action: String) throws {
        let error = try refused(
            """
            CREATE TABLE notes(n INTEGER PRIMARY KEY, item TEXT REFERENCES items(id) \(action), text);
            INSERT INTO notes VALUES(1, 'a', 'secret'), (2, 'c', 'secret'), (3, 'c', 'secret');
            """)
        #expect(error.database == .foreignKeyViolated)
        #expect(error.place.hasSuffix("table notes"))
        #expect(error.reason.contains("2 rows"))
        #expect(!error.description.contains("secret"))
    }

    @Test func whatDangledBeforeIsLeftAlone() throws {
        let left = try imported(
            """
            CREATE TABLE notes(n INTEGER PRIMARY KEY, item TEXT REFERENCES items(id) ON DELETE CASCADE);
            CREATE TABLE links(item TEXT REFERENCES items(id) ON DELETE RESTRICT);
            INSERT INTO notes VALUES(1, 'lost'), (2, 'c'); INSERT INTO links VALUES('lost');
            """, then: "SELECT * FROM notes; SELECT * FROM links")
        #expect(left == "1|lost\nlost\n")
    }

    @Test func compositeKeysPointOnlyWhenAllTheirPartsAreThere() throws {
        let left = try imported(
            """
            CREATE UNIQUE INDEX both ON items(id, name);
            CREATE TABLE notes(n INTEGER PRIMARY KEY, item TEXT, name TEXT, FOREIGN KEY(item, name) REFERENCES items(id, name) ON UPDATE CASCADE ON DELETE CASCADE);
            INSERT INTO notes VALUES(1, 'a', '1'), (2, 'b', '2'), (3, 'c', '3'), (4, 'c', NULL), (5, 'x', 'y');
            """, then: "SELECT n FROM notes ORDER BY n")
        // b is another name now, and the pair with it.
        #expect(left == "1\n2\n4\n5\n")
    }

    @Test func onlyASCIILettersAreOneInBothCases() throws {
        // To SQLite, É and é are two names, and so are K and the sign for kelvin.
        let scene = try LocalScene(
            """
            CREATE TABLE "É"(id TEXT PRIMARY KEY, name TEXT); INSERT INTO "É" VALUES('a', '1'), ('c', '3');
            CREATE TABLE "é"(n INTEGER PRIMARY KEY, item TEXT REFERENCES "É"(id) ON DELETE CASCADE); INSERT INTO "é" VALUES(1, 'a'), (2, 'c');
            CREATE TABLE notes(n INTEGER PRIMARY KEY, item TEXT REFERENCES "É" ON DELETE CASCADE); INSERT INTO NOTES VALUES(1, 'a'), (2, 'c');
            """)
        let columns = [DatasetColumn("id", .text), DatasetColumn("name", .text)]
        try scene.replace(DatasetSchema(name: "items", table: "É", keys: ["id"], timestamp: nil, columns: columns), by: [[.text("a"), .text("1")]])
        #expect(try scene.app.run("SELECT n FROM \"é\"; SELECT n FROM notes") == "1\n1\n")

        let others = try LocalScene("CREATE TABLE items(k TEXT PRIMARY KEY, \"\u{212A}\" TEXT UNIQUE, name TEXT)")
        let keyed = try DatasetSchema(
            name: "items", table: "items", keys: ["k"], timestamp: nil, columns: [DatasetColumn("k", .text), DatasetColumn("name", .text)])
        _ = try others.database.write { try $0.tracking.install([keyed]) }
        try others.app.run("INSERT INTO items VALUES('a', 'one', ''); DELETE FROM snapsync_log; INSERT OR REPLACE INTO items VALUES('b', 'one', '')")
        // The row that REPLACE removed is tracked, for its other column is UNIQUE, too.
        #expect(try others.app.run("SELECT DISTINCT key FROM snapsync_log WHERE key = 'a'") == "a\n")
    }

    @Test func aKeyOfTheDatasetIntoAnApplicationsTableIsChecked() throws {
        let scene = try LocalScene(
            """
            CREATE TABLE kinds(name TEXT PRIMARY KEY); INSERT INTO kinds VALUES('1'), ('2');
            CREATE TABLE items(id TEXT PRIMARY KEY, name TEXT REFERENCES kinds(name) ON DELETE CASCADE); INSERT INTO items VALUES('a', '1'), ('old', 'lost');
            """)
        try scene.replace(namedItems(), by: [[.text("a"), .text("2")], [.text("b"), .null], [.text("old"), .text("lost")]])
        let error = try #require(throws: SyncError.self) { try scene.replace(namedItems(), by: [[.text("a"), .text("3")]]) }
        #expect(error.database == .foreignKeyViolated)
        #expect(try scene.app.run("SELECT count(*) FROM items") == "3\n")
    }

    @Test func keysWithinAndBetweenDatasetsAreTheVersionsOwnMatter() throws {
        let scene = try LocalScene(
            items + """
                CREATE TABLE parts(id TEXT PRIMARY KEY, name TEXT REFERENCES items(id) ON DELETE RESTRICT, FOREIGN KEY(name) REFERENCES parts(id) ON DELETE CASCADE);
                INSERT INTO parts VALUES('p', 'c');
                """)
        let parts = try DatasetSchema(
            name: "parts", table: "parts", keys: ["id"], timestamp: nil, columns: [DatasetColumn("id", .text), DatasetColumn("name", .text, isOptional: true)])
        try scene.replace(namedItems(), by: version, datasets: [namedItems(), parts])
        #expect(try scene.app.run("SELECT * FROM parts") == "p|c\n")
    }

    @Test func namesOfTablesAreComparedWithoutCase() throws {
        let left = try imported(
            "CREATE TABLE Notes(n INTEGER PRIMARY KEY, Item TEXT REFERENCES ITEMS(ID) ON DELETE CASCADE); INSERT INTO notes VALUES(1, 'a'), (2, 'c');",
            then: "SELECT n FROM notes")
        #expect(left == "1\n")
    }

    @Test func oddNamesAndKeysIntoNowhereAreNoObstacle() throws {
        let left = try imported(
            """
            CREATE TABLE "no""tes; --"("the item" TEXT REFERENCES items(id) ON DELETE CASCADE, ghost TEXT REFERENCES missing(id) ON DELETE CASCADE);
            INSERT INTO "no""tes; --" VALUES('a', 'g'), ('c', 'g');
            """, then: "SELECT * FROM \"no\"\"tes; --\"")
        #expect(left == "a|g\n")
    }

    @Test(arguments: [false, true]) func theApplicationsOwnTriggersAndTheJournalModeDoNotMatter(wal: Bool) throws {
        let left = try imported(
            """
            CREATE TABLE notes(n INTEGER PRIMARY KEY, item TEXT REFERENCES items(id) ON DELETE CASCADE); CREATE TABLE gone(n);
            CREATE TRIGGER t AFTER DELETE ON notes BEGIN INSERT INTO gone VALUES(old.n); END;
            INSERT INTO notes VALUES(1, 'a'), (2, 'c');
            """, then: "SELECT n FROM gone", wal: wal)
        #expect(left == "2\n")
    }

    @Test(arguments: UInt64(1)...40) func anImportDoesToChildrenWhatDeletingTheMissingParentsWould(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let actions = ["CASCADE", "SET NULL", "SET DEFAULT"].shuffled(using: &random)
        let names = (0..<12).map { "k\($0)" }
        let before = names.filter { _ in random.happens(percent: 60) }, after = names.filter { _ in random.happens(percent: 60) }
        var sql = """
            CREATE TABLE items(id TEXT PRIMARY KEY, name TEXT);
            CREATE TABLE one(n INTEGER PRIMARY KEY, item TEXT REFERENCES items(id) ON DELETE \(actions[0]), up INTEGER REFERENCES one(n) ON DELETE CASCADE);
            CREATE TABLE two(n INTEGER PRIMARY KEY, one INTEGER REFERENCES one(n) ON DELETE CASCADE, item TEXT REFERENCES items(id) ON DELETE \(actions[1]));
            CREATE TABLE three(n INTEGER PRIMARY KEY, two INTEGER REFERENCES two(n) ON DELETE SET NULL, item TEXT REFERENCES items(id) ON DELETE \(actions[2]));
            """
        func pick(_ names: [String]) -> String { names.isEmpty || random.happens(percent: 20) ? "NULL" : "'\(names[random.below(names.count)])'" }
        for name in before { sql += "INSERT INTO items VALUES('\(name)', NULL);" }
        for n in 1...20 {
            sql += "INSERT INTO one VALUES(\(n), \(pick(before)), \(n > 1 && random.happens(percent: 50) ? String(1 + random.below(n - 1)) : "NULL"));"
        }
        for n in 1...20 { sql += "INSERT INTO two VALUES(\(n), \(1 + random.below(20)), \(pick(before)));" }
        for n in 1...20 { sql += "INSERT INTO three VALUES(\(n), \(1 + random.below(20)), \(pick(before)));" }

        let ours = try LocalScene(sql), sqlites = try LocalScene(sql)
        try ours.replace(namedItems(), by: after.map { [.text($0), .null] })
        let gone = before.filter { !after.contains($0) }.map { "'\($0)'" }.joined(separator: ", ")
        let added = after.filter { !before.contains($0) }.map { "INSERT INTO items VALUES('\($0)', NULL);" }.joined()
        try sqlites.app.run("PRAGMA foreign_keys = ON; DELETE FROM items WHERE id IN (\(gone)); \(added)")
        for table in ["items", "one", "two", "three"] {
            let query = "SELECT * FROM \(table) ORDER BY 1"
            #expect(try ours.app.run(query) == sqlites.app.run(query), "\(table)")
        }
        #expect(try ours.app.run("PRAGMA foreign_key_check") == "")
    }
}
