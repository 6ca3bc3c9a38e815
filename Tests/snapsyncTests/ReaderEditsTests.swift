import Foundation
import TestSupport
import Testing

/// Edits of an application's own tables on readers, which reach everybody through the writer: a to-do application with a writer and two readers.
@Suite(.runsPrograms) struct ReaderEditsTests {
    private static let schema = """
        CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL UNIQUE, updated_at TEXT NOT NULL);
        CREATE TABLE tasks(list TEXT NOT NULL REFERENCES lists(id), number INTEGER NOT NULL, title TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY(list, number)) WITHOUT ROWID;
        CREATE TABLE steps(id INTEGER PRIMARY KEY, list TEXT NOT NULL, number INTEGER NOT NULL, what TEXT, modified INTEGER NOT NULL,
            FOREIGN KEY(list, number) REFERENCES tasks(list, number));
        CREATE TABLE tags(name TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, color TEXT);
        CREATE TABLE marks(at REAL NOT NULL, uuid BLOB NOT NULL, value, PRIMARY KEY(at, uuid));
        """
    private static let rows = """
        INSERT INTO lists VALUES('home', 'Home', '2026-01-01T00:00:00Z'), ('work', 'Work', '2026-01-01T00:00:00Z');
        INSERT INTO tasks VALUES('home', 1, 'sweep', 0), ('home', 2, 'cook', 0), ('work', 1, 'write', 0);
        INSERT INTO steps VALUES(1, 'home', 1, 'find the broom', 1700000000), (2, 'work', 1, 'open the editor', 1700000001);
        INSERT INTO tags VALUES('Urgent', 'red'), ('later', NULL);
        INSERT INTO marks VALUES(1.5, x'00ff', 7), (-2.0, x'', 'seven'), (3.0, x'01', 7.0);
        """
    private static let tables = [("lists", "id"), ("tasks", "title"), ("steps", "id"), ("tags", "name"), ("marks", "at")]
    private static let edits = "--reader-edits all --shared-keys"

    /// A writer that has published version 1 and two readers that have it.
    private func scene(_ options: String = edits, readers: [String] = ["phone", "tablet"]) throws -> Scene {
        try Scene.copy(of: "to-do lists \(options) \(readers)") { scene in
            try scene.database("desk.db").run(Self.schema + Self.rows)
            try scene.succeed("init desk.db cloud --name desk \(options)")
            try scene.sync("desk")
            for reader in readers {
                try scene.succeed("join \(reader).db cloud --name \(reader)")
                try scene.sync(reader)
            }
        }
    }

    private func contents(_ scene: Scene, _ database: String) throws -> String {
        try Self.tables.map { try scene.database(database).values(of: $0.0, orderedBy: $0.1) }.joined(separator: "\n")
    }

    private func mailbox(_ scene: Scene, of device: String) throws -> [String] {
        let folder = scene.scratch.path("\(Scene.mainZone)/messages/\(device)")
        guard FileManager.default.fileExists(atPath: folder) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".json") }.sorted()
    }

    private func round(_ scene: Scene, _ order: [String] = ["phone", "tablet", "desk", "phone", "tablet"]) throws {
        for device in order { try scene.succeed("sync \(device).db") }
    }

    /// All devices have the same rows, nothing waits, and every database is its version.
    private func expectSettled(_ scene: Scene, _ devices: [String] = ["phone", "tablet"], at location: SourceLocation = #_sourceLocation) throws {
        for device in devices {
            #expect(try contents(scene, "\(device).db") == contents(scene, "desk.db"), "\(device)", sourceLocation: location)
            #expect(try mailbox(scene, of: device) == [], sourceLocation: location)
            #expect(try scene.pendingEdits(of: "\(device).db") == 0, sourceLocation: location)
            try scene.succeed("check \(device).db --local", at: location)
        }
        try scene.succeed("check desk.db --local", at: location)
    }

    @Test func editsOfTwoReadersReachEverybody() throws {
        let scene = try scene()
        try scene.database("phone.db").run(
            """
            INSERT INTO lists VALUES('club', 'Club', strftime('%Y-%m-%dT%H:%M:%fZ'));
            INSERT INTO tasks VALUES('club', 7, 'meet', 0);
            INSERT INTO steps VALUES(9, 'club', 7, 'call', unixepoch());
            UPDATE tasks SET done = 1 WHERE list = 'home' AND number = 1;
            DELETE FROM steps WHERE id = 2;
            UPDATE tags SET color = 'blue' WHERE name = 'URGENT';
            UPDATE marks SET value = 7.0 WHERE at = 1.5;
            """)
        try scene.database("tablet.db").run(
            """
            DELETE FROM tasks WHERE list = 'home' AND number = 2;
            INSERT INTO tags VALUES('new', 'green');
            DELETE FROM marks WHERE at = -2.0;
            INSERT INTO marks VALUES(9.0, x'abcd', x'00'), (0.25, x'', NULL);
            UPDATE steps SET what = 'look for it', modified = unixepoch() WHERE id = 1;
            """)
        let phone = try contents(scene, "phone.db")
        #expect(try scene.succeed("sync phone.db").hasSuffix("sent 7 edits to the publisher\n"))
        #expect(try contents(scene, "phone.db") == phone)
        #expect(try scene.succeed("pending cloud").contains("\n  insert tasks [\"club\",7] of "))
        #expect(try scene.succeed("sync tablet.db").hasSuffix("sent 6 edits to the publisher\n"))
        #expect(try scene.succeed("status phone.db").contains("\n  edits of readers: 7 handed over and not decided yet\n"))
        #expect(try scene.succeed("sync desk.db").contains("\n  edits of readers: 13 applied\n"))
        try round(scene, ["phone", "tablet"])
        try expectSettled(scene)
        let look = """
            SELECT (SELECT count(*) FROM tasks), (SELECT done FROM tasks WHERE title = 'sweep'), (SELECT what FROM steps WHERE id = 1),
                (SELECT color FROM tags WHERE name = 'urgent'), (SELECT group_concat(typeof(value)) FROM (SELECT value FROM marks ORDER BY at))
            """
        for device in ["desk", "phone", "tablet"] { #expect(try scene.database("\(device).db").run(look) == "3|1|look for it|blue|null,real,real,blob\n") }
        #expect(try scene.succeed("sync desk.db") == "nothing new since version 2; nothing was written\n")
        #expect(try scene.succeed("conflicts desk.db").contains("no "))
    }

    @Test func theMessageIsJSONThatOtherToolsRead() throws {
        let scene = try scene(readers: ["phone"])
        try scene.database("phone.db").run(
            "UPDATE tasks SET title = 'sweep it' WHERE title = 'sweep'; DELETE FROM steps WHERE id = 2; INSERT INTO marks VALUES(0.5, x'00ff', 'x')")
        try scene.succeed("sync phone.db")
        try Python.run(
            """
            import glob, json, sys
            (path,) = glob.glob(sys.argv[1] + '/*.json')
            body = json.load(open(path))['message']['body']
            assert body['format'] == 1 and body['device'] == 'phone' and body['id'] + '.json' == path.rsplit('/', 1)[1], body
            numbers = [edit['number'] for edit in body['edits']]
            assert numbers == sorted(set(numbers)), numbers
            edits = {edit['dataset']: edit for edit in body['edits']}
            changed, deleted, added = edits['tasks'], edits['steps'], edits['marks']
            assert changed['id'] == ['home', 1] and [c['name'] for c in changed['columns']] == ['title'], changed
            assert json.loads(changed['row']) == {'list': 'home', 'number': 1, 'title': 'sweep it', 'done': 0}, changed
            assert changed['base'] == {'at': '0001-01-01T00:00:00.000Z'}, changed
            assert deleted['id'] == 2 and 'row' not in deleted and 'columns' not in deleted, deleted
            assert deleted['base'] == {'at': '2023-11-14T22:13:21.000Z'}, deleted
            assert added['id'] == [0.5, {'base64': 'AP8='}] and 'base' not in added and added['born'] == added['at'], added
            """, [scene.scratch.path("\(Scene.mainZone)/messages/phone")])
    }

    @Test func theLaterEditWinsAndTheOtherIsKept() throws {
        let scene = try scene(readers: ["phone"])
        // Both at once, without knowledge of each other; a table without a timestamp.
        try scene.database("phone.db").run("UPDATE tags SET color = 'of the phone' WHERE name = 'later'")
        try scene.succeed("sync phone.db")
        try scene.database("desk.db").run("UPDATE tags SET color = 'of the desk' WHERE name = 'later'")
        #expect(try scene.succeed("sync desk.db").contains("\n  edits of readers: 0 applied, 1 refused"))
        #expect(try scene.succeed("conflicts desk.db").contains("of the phone"))
        try scene.succeed("sync phone.db")
        #expect(try scene.database("phone.db").run("SELECT color FROM tags WHERE name = 'later'") == "of the desk\n")
        try expectSettled(scene, ["phone"])
        // The reader's is the later one: the writer's published edit loses, and stands in its journal.
        try scene.database("desk.db").run("UPDATE tags SET color = 'of the desk' WHERE name = 'Urgent'")
        try scene.succeed("sync desk.db")
        try scene.database("phone.db").run("UPDATE tags SET color = 'of the phone' WHERE name = 'Urgent'")
        try scene.succeed("sync phone.db")
        let lost = try scene.run("sync desk.db")
        #expect(lost.status == 0 && lost.text.contains("edits of readers: 1 applied"))
        #expect(try scene.database("desk.db").run("SELECT color FROM tags WHERE name = 'Urgent'") == "of the phone\n")
        #expect(try scene.json("conflicts desk.db")["conflicts"].map { "\($0)" }?.contains("of the desk") == true)
        try scene.succeed("sync phone.db")
        try expectSettled(scene, ["phone"])
    }

    @Test func aUniqueValueMovesFromADeletedRowToANewOne() throws {
        let scene = try scene(readers: ["phone"])
        try scene.database("phone.db").run(
            """
            INSERT INTO lists VALUES('club', 'Club', '2026-01-02T00:00:00Z');
            """)
        try round(scene, ["phone", "desk", "phone"])
        try scene.database("phone.db").run(
            "DELETE FROM lists WHERE id = 'club'; INSERT INTO lists VALUES('society', 'Club', strftime('%Y-%m-%dT%H:%M:%fZ'))")
        #expect(try scene.succeed("sync phone.db").hasSuffix("sent 2 edits to the publisher\n"))
        #expect(try scene.succeed("sync desk.db").contains("\n  edits of readers: 2 applied\n"))
        try scene.succeed("sync phone.db")
        try expectSettled(scene, ["phone"])
    }

    @Test func aTreeOfRowsIsDeletedAndOneThatOthersReferToStays() throws {
        let scene = try scene()
        try scene.database("phone.db").run(
            "DELETE FROM steps WHERE list = 'home'; DELETE FROM tasks WHERE list = 'home'; DELETE FROM lists WHERE id = 'home';")
        // The other reader adds a row that refers to the task that the first one deletes.
        try scene.database("tablet.db").run(
            "DELETE FROM steps WHERE list = 'work'; DELETE FROM tasks WHERE list = 'work'; DELETE FROM lists WHERE id = 'work'")
        try scene.succeed("sync phone.db")
        try scene.succeed("sync tablet.db")
        try scene.database("desk.db").run("INSERT INTO tasks VALUES('work', 2, 'read', 0)")
        #expect(try scene.succeed("sync desk.db").contains("\n  edits of readers: 6 applied, 1 refused"))
        #expect(try scene.succeed("conflicts desk.db").contains("lists work (parentNeeded"))
        #expect(try scene.database("desk.db").run("SELECT group_concat(id) FROM lists; SELECT group_concat(title) FROM tasks") == "work\nread\n")
        try round(scene, ["phone", "tablet"])
        try expectSettled(scene)
    }

    @Test func nothingIsTakenUnlessItIsSaidAndItCanBeSaidLater() throws {
        let scene = try scene("--reader-edits none", readers: ["phone"])
        try scene.database("phone.db").run("UPDATE tags SET color = 'mine' WHERE name = 'later'")
        #expect(!(try scene.succeed("sync phone.db")).contains("sent"))
        #expect(try mailbox(scene, of: "phone") == [])
        #expect(try scene.database("phone.db").run("SELECT color FROM tags WHERE name = 'later'") == "mine\n")
        // Whoever edits all the same is told where the edit is.
        #expect(try scene.succeed("status phone.db").contains("1 changed since, kept here alone: readers may not edit it"))
        #expect(try scene.succeed("pending phone.db").contains("  stays here: update tags later: readers may not edit the table\n"))
        let doctor = try scene.succeed("check phone.db")
        #expect(doctor.contains("so no other device gets this") && doctor.contains("snapsync tables edits DB tags there"), "\(doctor)")
        #expect(try scene.succeed("sync desk.db").contains("nothing new"))
        // What the hint says.
        let said = try scene.succeed("tables edits desk.db tags,tasks")
        #expect(said.contains("tags: readers may add, change and delete rows") && said.contains("tasks: readers may"))
        try scene.succeed("sync desk.db")
        // The reader learns it from the zone, and what waited is sent.
        let learnt = try scene.run("sync phone.db")
        #expect(learnt.status == 0 && (learnt.text + learnt.errorText).contains("tags: readers may add, change and delete rows"))
        #expect(learnt.text.hasSuffix("sent 1 edit to the publisher\n"))
        try round(scene, ["desk", "phone"])
        #expect(try scene.database("desk.db").run("SELECT color FROM tags WHERE name = 'later'") == "mine\n")
        try expectSettled(scene, ["phone"])
        let datasets = try #require(try scene.json("status phone.db")["datasets"] as? [[String: Any]])
        #expect(datasets.first { $0["name"] as? String == "tags" }?["changesStay"] as? Bool == false)
        // And no longer: what is under way is refused, not forgotten.
        try scene.database("phone.db").run("UPDATE tags SET color = 'mine again' WHERE name = 'later'")
        try scene.succeed("sync phone.db")
        try scene.succeed("tables edits desk.db none")
        #expect(try scene.succeed("sync desk.db").contains("edits of readers: 0 applied, 1 refused"))
        #expect(try scene.succeed("conflicts desk.db").contains("refused: the dataset tags takes no such edits from readers"))
        #expect(try scene.run("sync phone.db").status == 0)
        for device in ["desk", "phone"] { #expect(try scene.database("\(device).db").run("SELECT color FROM tags WHERE name = 'later'") == "mine\n") }
        #expect(try scene.succeed("conflicts phone.db").contains("mine again"))
        // A description without the policy is what earlier versions wrote.
        #expect(try scene.database("desk.db").run("SELECT count(*) FROM snapsync_settings WHERE value LIKE '%\"messages\"%'") == "0\n")
    }

    @Test func tablesInWhichSQLiteMakesTheKeysNeedAYes() throws {
        let scene = try Scene()
        try scene.database("desk.db").run(Self.schema + "CREATE TABLE notes(text TEXT);" + Self.rows)
        let refused = try scene.run("init desk.db cloud --reader-edits all --shared-keys")
        #expect(refused.status == 78 && refused.errorText.contains("dataset notes: the table has no key but the rowid"))
        let keys = try scene.run("init desk.db cloud --exclude notes --reader-edits all")
        #expect(keys.status == 78 && keys.errorText.contains("give one key to two rows: steps") && keys.errorText.contains("--shared-keys"))
        let unknown = try scene.run("init desk.db cloud --exclude notes --reader-edits task")
        #expect(unknown.status == 64 && unknown.errorText.contains("no synced table is named task"))
        #expect(try scene.run("init desk.db cloud --built-in --reader-edits all").status == 64)
        let taken = try scene.succeed("init desk.db cloud --reader-edits tasks,lists")
        #expect(taken.contains("\n  readers may edit lists, tasks\n"))
    }

    @Test func aReaderThatLacksAColumnDoesNotClearIt() throws {
        let scene = try scene(readers: ["phone"])
        try scene.database("desk.db").run("ALTER TABLE tags ADD COLUMN icon TEXT; UPDATE tags SET icon = 'flag'")
        #expect(try scene.run("sync desk.db").status == 0)
        #expect(try scene.run("sync phone.db").status == 0)
        try scene.database("phone.db").run("UPDATE tags SET color = 'blue'; INSERT INTO tags VALUES('fresh', 'white')")
        #expect(try scene.run("sync phone.db").status == 0)
        #expect(try scene.run("sync desk.db").status == 0)
        #expect(
            try scene.database("desk.db").run("SELECT name, color, icon FROM tags ORDER BY name") == "fresh|white|\nlater|blue|flag\nUrgent|blue|flag\n")
    }

    @Test(.enabled(if: SignedScene.isAvailable)) func editsTravelInASealedZone() throws {
        let scene = try SignedScene()
        try scene.scene.database("phone.db").run(Self.schema + Self.rows)
        _ = try scene.initSealed("init phone.db cloud --name phone --encrypt \(Self.edits)")
        try scene.succeed("sync phone.db")
        try scene.join("watch")
        try scene.succeed("sync watch.db")
        try scene.scene.database("watch.db").run("INSERT INTO tags VALUES('CANARY', 'x'); UPDATE tasks SET done = 1")
        try scene.succeed("sync watch.db")
        try scene.expectNowhere(["CANARY", "\"edits\""])
        #expect(try scene.succeed("sync phone.db").contains("edits of readers: 4 applied"))
        try scene.succeed("sync watch.db")
        #expect(try contents(scene.scene, "watch.db") == contents(scene.scene, "phone.db"))
    }

    /// The writer's edit of another column does not say which timestamp the writer's row has: the reader has its own in its place.
    @Test func aTimestampAloneIsAnEditBesideThoseOfOtherColumns() throws {
        let scene = try Scene()
        // Large enough that versions are published as changes.
        try scene.database("a.db").run(
            """
            CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, title TEXT, pad TEXT, updated_at TEXT);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
                INSERT INTO notes SELECT 'n' || i, 't', hex(randomblob(400)), '2026-01-01T00:00:00Z' FROM n
            """)
        try scene.succeed("init a.db cloud --name a --reader-edits all")
        try scene.sync("a")
        try scene.succeed("join b.db cloud --name b")
        try scene.sync("b")
        try scene.database("b.db").run("UPDATE notes SET updated_at = '2026-02-01T00:00:00Z' WHERE id = 'n4'")
        try scene.database("a.db").run("UPDATE notes SET title = 'new' WHERE id = 'n4'")
        try scene.sync("a", "b", "a", "b")
        for device in ["a", "b"] {
            #expect(try scene.database("\(device).db").run("SELECT title, updated_at FROM notes WHERE id = 'n4'") == "new|2026-02-01T00:00:00Z\n")
            try scene.succeed("check \(device).db --local")
        }
    }

    /// The reader has deleted the row, and then each device inserts one under its key.
    @Test func ofTwoRowsInTheDeletedOnesPlaceTheLaterOneWins() throws {
        let scene = try Scene()
        try scene.database("a.db").run("CREATE TABLE files(id TEXT PRIMARY KEY NOT NULL, name TEXT)")
        try scene.succeed("init a.db cloud --name a --reader-edits all")
        try scene.database("a.db").run("INSERT INTO files VALUES('f', 'first')")
        try scene.sync("a")
        try scene.succeed("join b.db cloud --name b")
        try scene.sync("b")
        try scene.database("b.db").run("DELETE FROM files")
        try scene.sync("b", "a")
        try scene.database("a.db").run("INSERT INTO files VALUES('f', 'second')")
        try scene.sync("a")
        Thread.sleep(forTimeInterval: 0.02)
        try scene.database("b.db").run("INSERT INTO files VALUES('f', 'third')")
        try scene.sync("b", "a", "b")
        for device in ["a", "b"] { #expect(try scene.database("\(device).db").run("SELECT name FROM files") == "third\n") }
    }
}
