import Foundation
import TestSupport
import Testing

/// Peers, by the built command: several devices that edit and publish in one zone.
@Suite(.runsPrograms) struct PeerTests {
    @Test func editsOfDifferentEntitiesAreAllKept() throws {
        let scene = try Scene.deskAndLaptop()
        #expect(try scene.contents("laptop.db") == scene.contents("desk.db"))
        try scene.database("desk.db").run(
            "UPDATE notifications SET title = 'desk' WHERE id = (SELECT min(id) FROM notifications); DELETE FROM buckets WHERE id = (SELECT max(id) FROM buckets)"
        )
        try scene.database("laptop.db").run("UPDATE notifications SET title = 'laptop' WHERE id = (SELECT max(id) FROM notifications)")
        #expect(try scene.json("sync laptop.db")["imported"] == nil)
        let report = try scene.json("sync desk.db")
        #expect((report["imported"] as? [String: Any])?["version"] as? Int == 2 && (report["exported"] as? [String: Any])?["version"] as? Int == 3)
        try scene.sync("laptop")
        #expect(try scene.contents("laptop.db") == scene.contents("desk.db"))
        #expect(try scene.database("laptop.db").run("SELECT count(*) FROM notifications WHERE title IN ('desk', 'laptop')") == "2\n")
        #expect(try scene.database("laptop.db").run("SELECT count(*) FROM buckets") == "2\n")
    }

    @Test func ofTwoEditsOfOneEntityTheLaterWinsWhoeverSyncsFirst() throws {
        for order in [["desk", "laptop"], ["laptop", "desk"]] {
            let scene = try Scene.deskAndLaptop()
            let edit = { (name: String, time: String) in
                _ = try scene.database("\(name).db").run(
                    "UPDATE notifications SET title = '\(name)', updatedAt = '\(time)' WHERE id = (SELECT min(id) FROM notifications)")
            }
            try edit("desk", "2026-11-20T10:00:00+02:00")
            try edit("laptop", "2026-11-20T08:00:00.5Z")
            for name in order + order { try scene.succeed("sync \(name).db") }
            #expect(try scene.database("desk.db").run("SELECT title FROM notifications ORDER BY id LIMIT 1") == "laptop\n", "\(order)")
            #expect(try scene.contents("laptop.db") == scene.contents("desk.db"))
        }
    }

    @Test func oneDirectionAtATime() throws {
        let scene = try Scene.deskAndLaptop()
        try scene.database("desk.db").run("UPDATE buckets SET name = 'desk'")
        try scene.database("laptop.db").run("INSERT INTO buckets SELECT 'mine', 'laptop', NULL, NULL, NULL, createdAt, updatedAt, NULL FROM buckets LIMIT 1")
        #expect(try scene.json("export desk.db")["version"] as? Int == 2)
        // What others published is not passed over, and not taken in by a command that publishes.
        try scene.refuse(
            "export laptop.db", exit: 75, saying: ["version 2, which this database has not imported yet", "snapsync sync"], watching: ["laptop.db"])
        #expect(try scene.json("import laptop.db")["version"] as? Int == 2)
        #expect(try scene.database("laptop.db").run("SELECT count(*), count(DISTINCT name) FROM buckets") == "4|2\n")
        #expect(try scene.json("log cloud")["newestVersion"] as? Int == 2)
        #expect(try scene.json("export laptop.db")["version"] as? Int == 3)
    }

    @Test func whatWasChangedWhileATableWasRebuiltIsNotLost() throws {
        let scene = try Scene.deskAndLaptop()
        try scene.database("laptop.db").run("UPDATE buckets SET name = 'laptop' WHERE id = (SELECT max(id) FROM buckets)")
        // A migration makes the table anew, and the triggers are gone with the old one; then the application goes on.
        try scene.database("desk.db").run(
            """
            PRAGMA foreign_keys = OFF;
            ALTER TABLE buckets RENAME TO old;
            CREATE TABLE buckets(id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, description TEXT, color TEXT, iconUrl TEXT, createdAt TEXT NOT NULL, updatedAt TEXT NOT NULL, isOrphan INTEGER);
            INSERT INTO buckets SELECT * FROM old;
            DROP TABLE old;
            UPDATE buckets SET name = 'desk', updatedAt = '2026-03-01T08:00:00Z' WHERE id = (SELECT min(id) FROM buckets);
            INSERT INTO buckets VALUES('new', 'made on desk', NULL, NULL, NULL, '2026-03-01T08:00:00Z', '2026-03-01T08:00:00Z', NULL);
            """)
        try scene.sync("laptop")
        #expect(try scene.succeed("sync desk.db").contains("the tracking of buckets was not as it should be"))
        try scene.sync("laptop")
        #expect(try scene.contents("laptop.db") == scene.contents("desk.db"))
        #expect(
            try scene.database("laptop.db").run(
                "SELECT group_concat(name, ', ') FROM (SELECT name FROM buckets WHERE name IN ('desk', 'laptop', 'made on desk') ORDER BY name)")
                == "desk, laptop, made on desk\n")
    }

    @Test func zoneKeepsTheRuleThatItWasMadeWith() throws {
        let scene = try Scene.phone()
        try scene.succeed("generate desk.db --notifications 1 --buckets 1")
        try scene.refuse(
            "init desk.db cloud --peers --built-in --name desk", exit: 78,
            saying: ["its one publisher is the device phone", "snapsync join", "--zone"], watching: ["desk.db"])
        try scene.succeed("init desk.db cloud --peers --built-in --name desk --zone Team")
        try scene.sync("desk")
        // A writer may join a zone of peers; like them it imports first.
        try scene.succeed("init other.db cloud --built-in --name other --zone Team")
        try scene.sync("other")
        #expect(try scene.contents("other.db") == scene.contents("desk.db"))
        try scene.database("other.db").run("UPDATE buckets SET name = 'other'")
        #expect((try scene.json("sync other.db")["exported"] as? [String: Any])?["version"] as? Int == 2)
    }

    @Test func firstVersionIsMadeByTheDeviceThatMadeTheZone() throws {
        let scene = try Scene()
        try scene.succeed("generate desk.db --notifications 1 --buckets 1")
        try scene.succeed("init desk.db cloud --peers --built-in --name desk")
        try scene.refuse("join laptop.db cloud --peer --name laptop", exit: 66, saying: ["nothing has been published yet", "snapsync sync DB on desk"])
        try scene.succeed("init laptop.db cloud --peers --built-in --name laptop")
        try scene.refuse(
            "sync laptop.db", exit: 66, saying: ["nothing has been published yet", "sync DB on desk first"], watching: ["laptop.db"], asJSONToo: true)
        try scene.sync("desk", "laptop")
        #expect(try scene.contents("laptop.db") == scene.contents("desk.db"))
    }

    @Test(arguments: ["share/.stfolder", "share/.dropbox", "share/team/.tmp.drivedownload"])
    func folderThatIsReplicatedIsNotForPeers(sign: String) throws {
        let scene = try Scene()
        try scene.succeed("generate desk.db --notifications 1 --buckets 1")
        try scene.scratch.write("", to: sign)
        try scene.scratch.write("", to: "share/team/kept")
        try scene.refuse(
            "init desk.db share/team/cloud --peers --built-in --name desk", exit: 78, saying: ["replicates this folder", "init without --peers"],
            watching: ["desk.db"])
        #expect(!scene.scratch.exists("share/team/cloud"))
        try scene.succeed("init desk.db share/team/cloud --built-in --name desk")
    }

    @Test func foldersOfSettingsAreNoSignOfReplication() throws {
        let scene = try Scene()
        try scene.scratch.write("", to: "home/.dropbox/settings")
        try scene.scratch.write("", to: "home/share/kept")
        try scene.succeed("init desk.db home/share/cloud --peers --built-in --name desk")
    }

    @Test func detachTakesEverythingOfAPeerOut() throws {
        let scene = try Scene.deskAndLaptop()
        try scene.database("laptop.db").run("UPDATE buckets SET name = 'laptop'")
        try scene.sync("laptop")
        try scene.succeed("detach laptop.db")
        #expect(try scene.database("laptop.db").run("SELECT name FROM sqlite_schema WHERE name LIKE 'snapsync%'") == "")
    }
}
