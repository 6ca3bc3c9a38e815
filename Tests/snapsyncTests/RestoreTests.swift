import Foundation
import TestSupport
import Testing

/// `restore`, `undo` and `replace`: the user's word is law, and the loser can be brought back.
@Suite(.runsPrograms) struct RestoreTests {
    @Test func restoredVersionIsPublishedAsANewOne() throws {
        let scene = try Scene.phoneAndWatch()
        let first = try scene.contents("phone.db")
        try scene.publishMore(3)
        let newest = try scene.contents("phone.db")
        let report = try scene.json("restore phone.db 1")
        #expect(report["version"] as? Int == 1 && report["versionBefore"] as? Int == 4 && report["keptCopy"] == nil)
        #expect((report["datasets"] as? [[String: Any]])?.map { $0["changed"] as? Int } == [0, 3])
        #expect(try scene.contents("phone.db") == first)
        // Nothing is published yet: the token is the newest version's, and the rows are tracked changes.
        let status = try scene.json("status phone.db")
        #expect(status["version"] as? Int == 4 && (status["undo"] as? String)?.hasPrefix("the state before the restore of version 1") == true)
        #expect((status["datasets"] as? [[String: Any]])?.map { $0["changes"] as? Int } == [0, 3])
        try scene.sync("phone", "watch")
        #expect(try scene.contents("watch.db") == first && scene.versions() == [5, 4, 3, 2, 1])
        for database in ["phone.db", "watch.db"] { try scene.succeed("check \(database) --local") }
        // The commit that published it pinned the version that lost.
        let pins = try #require(try scene.json("log cloud")["pins"] as? [[String: Any]])
        #expect(pins.map { $0["version"] as? Int } == [4] && pins[0]["name"] as? String == "before the restore of version 1")

        try scene.succeed("undo phone.db")
        #expect(try scene.contents("phone.db") == newest)
        try scene.sync("phone", "watch")
        #expect(try scene.contents("watch.db") == newest)
        // An undo can be undone.
        try scene.succeed("undo phone.db")
        #expect(try scene.contents("phone.db") == first)
        #expect((try scene.json("status phone.db")["undo"] as? String)?.hasPrefix("the state before the redo of the restore of version 1") == true)
    }

    /// The zone's type is what the table has already. Without a type, the column takes the version's values.
    @Test func versionFromBeforeAnotherTypeIsRestoredByItsHint() throws {
        let scene = try Scene()
        try scene.database("a.db").run("CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v TEXT); INSERT INTO t VALUES('x', '007')")
        try scene.succeed("init a.db cloud --peers --name a")
        try scene.sync("a")
        func declare(_ type: String) throws {
            try scene.database("a.db").run(
                "CREATE TABLE z(id TEXT PRIMARY KEY NOT NULL, v \(type)); INSERT INTO z SELECT * FROM t; DROP TABLE t; ALTER TABLE z RENAME TO t")
            try scene.sync("a")
        }
        try declare("INTEGER")
        let run = try scene.run("restore a.db 1")
        #expect(run.status == 78 && run.errorText.contains("without a type, which keeps every value"), "\(run.errorText)")
        #expect(!run.errorText.contains("describe"))
        #expect(try scene.value("SELECT v FROM t", in: "a.db") == "7")
        try declare("")
        try scene.succeed("restore a.db 1")
        #expect(try scene.value("SELECT v FROM t", in: "a.db") == "007")
        try scene.sync("a")
        try scene.succeed("check a.db --local")
    }

    /// A migration has declared a foreign key since. What this database had itself, however it is, `undo` brings back.
    @Test func rowsThatAForeignKeyForbidsAreNotRestored() throws {
        let scene = try Scene()
        try scene.database("a.db").run(
            """
            CREATE TABLE u(id TEXT PRIMARY KEY NOT NULL); CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT);
            INSERT INTO u VALUES('x'); INSERT INTO t VALUES(1, 'old'), (2, 'x');
            """)
        try scene.succeed("init a.db cloud --name a")
        try scene.sync("a")
        try scene.database("a.db").run(
            "CREATE TABLE n(id INTEGER PRIMARY KEY, u TEXT REFERENCES u); INSERT INTO n SELECT id, 'x' FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t")
        try #require(try scene.run("sync a.db").status == 0)
        Scene.checkRefusal(
            try scene.run("restore a.db 1"), exit: 65,
            saying: ["table t", "1 row would point at rows of u that are not there", "snapsync diff a.db 1 local"])
        #expect(try scene.value("SELECT group_concat(u) FROM t", in: "a.db") == "x,x")

        try scene.database("a.db").run("INSERT INTO t VALUES(3, 'nobody')")
        try scene.sync("a")
        try scene.succeed("restore a.db 2")
        try scene.succeed("undo a.db")
        #expect(try scene.value("SELECT u FROM t WHERE id = 3", in: "a.db") == "nobody")
    }

    @Test func datasetsThatAreNoLongerSyncedAreNamed() throws {
        let scene = try Scene()
        try scene.database("a.db").run(
            "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL); INSERT INTO notes VALUES('1'); CREATE TABLE u(id TEXT PRIMARY KEY NOT NULL); INSERT INTO u VALUES('x')"
        )
        try scene.succeed("init a.db cloud --name a")
        try scene.sync("a")
        try scene.succeed("tables remove a.db notes")
        try scene.sync("a")
        let said = try scene.succeed("restore a.db 1")
        #expect(said.hasPrefix("nothing was changed: what can be restored here is as in version 1\n"), "\(said)")
        #expect(said.contains("version 1 has the dataset notes, which this database does not sync; its rows were left out"), "\(said)")
        #expect(said.contains("snapsync show a.db notes_data --at 1"))
        #expect(try scene.succeed("show a.db notes_data --at 1").contains(#"{"id":"1"}"#))
    }

    @Test func versionOfATimeIsFound() throws {
        let scene = try Scene.phone()
        let first = try scene.contents("phone.db")
        try scene.publishMore(2)
        let versions = try #require(try scene.json("log cloud")["versions"] as? [[String: Any]])
        let (second, oldest) = (try #require(versions[1]["timestamp"] as? String), try #require(versions[2]["timestamp"] as? String))
        // A version counts from its own time on, as query and get take it.
        #expect(try scene.json("restore phone.db \(second)")["version"] as? Int == 2)
        #expect(try scene.json("restore phone.db \(oldest)")["version"] as? Int == 1)
        #expect(try scene.contents("phone.db") == first)
        try scene.refuse("restore phone.db 2001-01-01T00:00:00Z", exit: 66, saying: ["no version from before"], watching: ["phone.db"])
        try scene.refuse("restore phone.db 9", exit: 66, saying: ["no such version yet"], watching: ["phone.db"])
    }

    @Test func equalRowsAreNotTouchedAndOwnRowsKeepTheirForeignKeys() throws {
        let scene = try Scene.phone()
        try scene.database("phone.db").run(
            """
            CREATE TABLE touched(id TEXT); CREATE TRIGGER watch_update AFTER UPDATE ON notifications BEGIN INSERT INTO touched VALUES(NEW.id); END;
            CREATE TRIGGER watch_insert AFTER INSERT ON notifications BEGIN INSERT INTO touched VALUES(NEW.id); END;
            CREATE TABLE marks(id INTEGER PRIMARY KEY, note TEXT REFERENCES notifications(id) ON DELETE CASCADE);
            INSERT INTO marks(note) SELECT id FROM notifications;
            UPDATE notifications SET title = 'a' WHERE id = (SELECT min(id) FROM notifications); DELETE FROM touched;
            """)
        try scene.succeed("export phone.db")
        try scene.succeed("restore phone.db 1")
        #expect(try scene.value("SELECT count(DISTINCT id) FROM touched", in: "phone.db") == "1")
        #expect(try scene.value("SELECT count(*) FROM marks", in: "phone.db") == "30")
    }

    @Test func changesOfTheMomentAreKeptAsACopy() throws {
        let scene = try Scene.phone()
        try scene.publishMore(1)
        try scene.database("phone.db").run(
            "UPDATE notifications SET title = 'unpublished'; DELETE FROM buckets WHERE id NOT IN (SELECT bucketId FROM notifications)")
        let mine = try scene.contents("phone.db")
        #expect(try scene.json("restore phone.db 1")["keptCopy"] as? Int == 1)
        #expect(try scene.value("SELECT count(*) FROM notifications WHERE title = 'unpublished'", in: "phone.db") == "0")
        // The copy is a cloud of its own, and any gzip reads it.
        #expect(try scene.versions("phone.db.snapsync-kept") == [1])
        #expect(try scene.container(1, "phone.db.snapsync-kept").contains("unpublished"))
        #expect(try scene.succeed("check phone.db.snapsync-kept --all-versions").contains("all is well"))
        let copies = try #require(try scene.json("status phone.db")["copies"] as? [[String: Any]])
        #expect(copies.count == 1 && copies[0]["reason"] as? String == "before the restore of version 1" && (copies[0]["size"] as? Int ?? 0) > 0)
        try scene.sync("phone")
        try scene.succeed("undo phone.db")
        #expect(try scene.contents("phone.db") == mine)
        try scene.sync("phone")
        try scene.succeed("check phone.db --local")

        // Copies go when the user says so.
        #expect(try scene.json("prune phone.db --copies --keep-last 0 -n")["removedVersions"] as? [Int] == [1])
        #expect(scene.scratch.exists("phone.db.snapsync-kept"))
        #expect(try scene.succeed("prune phone.db --copies --keep-last 0").hasPrefix("removed copy 1,"))
        #expect(!scene.scratch.exists("phone.db.snapsync-kept"))
        #expect(try scene.succeed("prune phone.db --copies --keep-last 0") == "nothing to remove\n")
    }

    @Test func copiesArePrunedOldestFirst() throws {
        let scene = try Scene.phoneAndWatch()
        for _ in 1...3 {
            try scene.database("watch.db").run("UPDATE buckets SET name = name || 'x'")
            try scene.succeed("import watch.db --replace --yes")
        }
        let last = try scene.container(3, of: "buckets", "watch.db.snapsync-kept")
        let report = try scene.json("prune watch.db --copies --keep-last 1")
        #expect(report["removedVersions"] as? [Int] == [1, 2])
        #expect(try scene.container(3, of: "buckets", "watch.db.snapsync-kept") == last)
        #expect((try scene.json("status watch.db")["copies"] as? [[String: Any]])?.map { $0["number"] as? Int } == [3])
        try scene.succeed("undo watch.db")
        #expect(try scene.value("SELECT count(*) FROM buckets WHERE name LIKE '%x'", in: "watch.db") == "4")
    }

    /// A large dataset's versions are stored as what changed; they are as good as whole ones.
    @Test func versionsStoredAsChangesAreComparedRestoredAndPruned() throws {
        let scene = try Scene.phoneAndWatch(notifications: 8000)
        var contents = [1: try scene.contents("phone.db")]
        for version in 2...4 {
            try scene.database("phone.db").run(
                """
                UPDATE notifications SET title = 'v\(version)' WHERE id IN (SELECT id FROM notifications ORDER BY id LIMIT 3 OFFSET \(version * 900));
                DELETE FROM notifications WHERE id = (SELECT max(id) FROM notifications)
                """)
            try scene.sync("phone")
            contents[version] = try scene.contents("phone.db")
        }
        #expect(try scene.files("assets/notifications_data").filter { $0.contains(".changes.") }.count == 3)
        let counts = try scene.succeed("diff cloud 1 3 --dataset notifications").split(separator: "\n").last
        #expect(counts == "notifications: 0 added, 6 changed, 2 removed, 7,992 unchanged")
        #expect(try scene.succeed("diff phone.db 4 local").hasSuffix("notifications: 0 added, 0 changed, 0 removed, 7,997 unchanged\n"))
        #expect(try scene.succeed("sync watch.db -n").contains("here: 0 added, 9 changed, 3 removed; in the location: nothing"))

        try scene.succeed("restore phone.db 2")
        #expect(try scene.contents("phone.db") == contents[2])
        try scene.sync("phone", "watch")
        #expect(try scene.contents("watch.db") == contents[2])
        try scene.succeed("undo phone.db")
        #expect(try scene.contents("phone.db") == contents[4])
        try scene.sync("phone")

        // The snapshot asset of version 1 is what the kept versions' changes are laid over.
        try scene.succeed("pin phone.db 3")
        let third = try scene.container(3)
        try scene.age()
        try scene.succeed("prune phone.db --keep-last 1")
        #expect(try scene.json("check cloud --all-versions")["problems"] as? [String] == [])
        #expect(try scene.container(3) == third && scene.files("assets/notifications_data").contains { $0.hasPrefix("00000000000000000001-") })
        try scene.sync("watch")
        #expect(try scene.contents("watch.db") == contents[4])
        for database in ["phone.db", "watch.db"] { try scene.succeed("check \(database) --local") }
    }

    @Test func readerDoesNotRestore() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.refuse(
            "restore watch.db 1", exit: 78, saying: ["this device is a reader", "snapsync show watch.db DATASET --at N"],
            watching: ["watch.db"])
        try scene.refuse("undo watch.db", exit: 66, saying: ["nothing to undo"], watching: ["watch.db"])
        try scene.refuse("export watch.db", exit: 64, saying: ["watch.db", "this device is a reader", "publish from the writer"], watching: ["watch.db"])
        try scene.refuse("export watch.db --replace --yes", exit: 78, saying: ["this device is a reader"], watching: ["watch.db"], asJSONToo: true)
    }
}

/// `replace`: one side wins as a whole.
@Suite(.runsPrograms) struct ReplaceTests {
    @Test func cloudIsReplacedByADatabaseFromABackup() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.scratch.copy(scene.scratch.path("phone.db"), to: "backup.db")
        try scene.database("phone.db").run("DELETE FROM notifications WHERE id = (SELECT min(id) FROM notifications); UPDATE buckets SET name = 'lost'")
        try scene.sync("phone", "watch")
        try scene.database("backup.db").run("UPDATE notifications SET title = 'backup'")
        let backup = try scene.contents("backup.db")
        // It takes another name when it finds what was published meanwhile; the user decides that it is the writer.
        let refused = try scene.run("export backup.db")
        #expect(refused.status == 78 && refused.errorText.contains("a backup that was put back"), "\(refused.errorText)")
        try scene.succeed("device claim backup.db")
        let report = try scene.json("export backup.db --replace --yes")
        #expect((report["exported"] as? [String: Any])?["version"] as? Int == 3)
        #expect((report["replaced"] as? [String: Any])?["versionBefore"] as? Int == 2)
        // No row here was touched, and every device has them.
        #expect(try scene.contents("backup.db") == backup)
        try scene.sync("watch")
        #expect(try scene.contents("watch.db") == backup)
        for database in ["backup.db", "watch.db"] { try scene.succeed("check \(database) --local") }
        #expect((try scene.json("log cloud")["pins"] as? [[String: Any]])?.map { $0["version"] as? Int } == [2])
        // The loser can be had back.
        try scene.succeed("undo backup.db")
        #expect(try scene.contents("backup.db") == scene.contents("phone.db"))
        try scene.sync("backup", "watch")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
    }

    @Test func cloudThatIsTheSameIsLeftAlone() throws {
        let scene = try Scene.phone()
        let before = try scene.cloudListing()
        #expect(try scene.succeed("export phone.db --replace --yes").hasPrefix("the location has this device's data already\n"))
        #expect(try FileListing(of: scene.scratch.path("cloud/private/ZentikSyncZone/commits")).entries.count == 2)
        #expect(before.entries.keys.filter { $0.contains("commits/") }.count == 1)
        try scene.refuse("undo phone.db", exit: 66, saying: ["nothing to undo"], watching: ["phone.db"])
    }

    @Test func localChangesAreReplacedAndKept() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.publishMore(1)
        try scene.database("watch.db").run(
            """
            UPDATE notifications SET title = 'mine', updatedAt = '2026-11-21T10:00:00Z'; DELETE FROM notifications WHERE id = (SELECT max(id) FROM notifications);
            INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('~', 'own', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')
            """)
        let mine = try scene.contents("watch.db")
        let report = try scene.json("import watch.db --replace --yes")
        #expect(report["keptCopy"] as? Int == 1 && report["versionBefore"] as? Int == 1)
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
        try scene.succeed("check watch.db --local")
        #expect((try scene.json("status watch.db")["datasets"] as? [[String: Any]])?.allSatisfy { $0["changes"] as? Int == 0 } == true)
        try scene.succeed("undo watch.db")
        #expect(try scene.contents("watch.db") == mine)
        // They are this reader's own changes again, and the next import leaves them.
        try scene.sync("watch")
        #expect(try scene.contents("watch.db") == mine)
        try scene.succeed("check watch.db --local")
    }

    @Test func rowsFromBeforeTheFirstImportAreReplacedAndKept() throws {
        let scene = try Scene.phone()
        try scene.succeed("generate watch.db --notifications 5 --buckets 1 --seed 99")
        let mine = try scene.contents("watch.db")
        try scene.succeed("join watch.db cloud --name watch --replace-local")
        try scene.succeed("import watch.db --replace --yes")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
        try scene.succeed("undo watch.db")
        #expect(try scene.contents("watch.db") == mine)
    }

    @Test func nobodyIsAskedWithoutATerminal() throws {
        let scene = try Scene.phoneAndWatch()
        for half in ["export", "import"] {
            let run = try scene.run("\(half) phone.db --replace")
            #expect(run.status == 64 && run.errorText.contains("Pass --yes"))
        }
        #expect(!scene.scratch.exists("phone.db.snapsync-kept"))
    }
}
