import Foundation
import TestSupport
import Testing

/// What `init` puts in, what `detach` takes out, and where settings come from.
@Suite(.runsPrograms) struct SetupTests {
    @Test(arguments: ["writer", "peer", "reader"])
    func detachRemovesEverythingOfOurs(role: String) throws {
        let scene = try Scene.phone()
        try scene.succeed("generate other.db --notifications 3 --buckets 1 --seed 5")
        try scene.database("other.db").run("CREATE INDEX mine ON notifications(title); CREATE TABLE notes(x); INSERT INTO notes VALUES('kept')")
        let (schema, notes) = try (scene.database("other.db").schema(), scene.database("other.db").run("SELECT * FROM notes"))
        let (zone, tables) = role == "reader" ? ("ZentikSyncZone", "") : ("Second", " --built-in")
        try scene.succeed(Scene.setUp("other.db", as: role, "--name other --zone \(zone) --replace-local\(tables)"))
        #expect(try scene.database("other.db").schema() != schema)
        try scene.sync("other")
        let (rows, cloud) = (try scene.contents("other.db"), try scene.cloudListing())

        #expect(try scene.succeed("detach other.db") == "other.db is no longer part of zone \(zone); its tables and the location are as they were\n")
        #expect(try scene.database("other.db").schema() == schema)
        #expect(try scene.contents("other.db") == rows)
        #expect(try scene.database("other.db").run("SELECT * FROM notes") == notes)
        #expect(try scene.cloudListing() == cloud)
        try scene.refuse("sync other.db", exit: 66, saying: ["other.db", "not set up for syncing", "snapsync init"], watching: ["other.db"])
        try scene.refuse("detach other.db", exit: 66, saying: ["other.db", "not set up for syncing"], watching: ["other.db"])
    }

    @Test func secondInitIsRefused() throws {
        let scene = try Scene.phone()
        try scene.refuse(
            "join phone.db cloud", exit: 78, saying: ["phone.db", "set up for syncing already", "snapsync detach"],
            watching: ["phone.db"])
    }

    @Test func initThatFailsLeavesNoDatabaseBehind() throws {
        let scene = try Scene()
        try scene.refuse("init new.db nowhere/cloud --built-in", exit: 69, saying: ["nowhere", "No such file or directory"])
        try scene.refuse("join new.db cloud", exit: 69, saying: ["cloud", "No such file or directory"])
        #expect(try FileListing(of: scene.scratch.path).entries.keys.sorted() == ["."])
        try scene.refuse("init new.db cloud", exit: 66, saying: ["new.db", "no such database", "snapsync join new.db"])
        #expect(try FileListing(of: scene.scratch.path).entries.keys.sorted() == ["."])
    }

    @Test func journalModeIsLeftAsItIs() throws {
        let scene = try Scene.phone()
        #expect(try scene.database("phone.db").run("PRAGMA journal_mode") == "delete\n")
        #expect(try scene.json("join new.db cloud")["journalMode"] as? String == "wal")
        let scene2 = try Scene()
        try scene2.succeed("generate phone.db")
        #expect(try scene2.succeed("init phone.db cloud --built-in").contains("the journal mode is delete; with WAL"))
    }

    @Test func environmentNamesDatabaseAndCloud() throws {
        let scene = try Scene()
        let environment = ["SNAPSYNC_DB": scene.scratch.path("phone.db"), "SNAPSYNC_LOCATION": scene.scratch.path("cloud")]
        try scene.succeed("generate", environment: environment)
        try scene.succeed("init --built-in --name phone", environment: environment)
        try scene.succeed("export", environment: environment)
        try scene.succeed("status", environment: environment)
        // Without a database, the environment's cloud alone is looked at; an argument goes before the environment.
        let alone = try scene.succeed("log", environment: ["SNAPSYNC_LOCATION": scene.scratch.path("cloud")])
        #expect(alone.hasPrefix("version 1 "))
        try scene.succeed("join watch.db", environment: ["SNAPSYNC_LOCATION": scene.scratch.path("cloud")])
        #expect(try scene.succeed("status", environment: environment).contains("writer phone"))
        #expect(try scene.succeed("status watch.db", environment: environment).contains("watch.db: reader "))
        // An empty variable is none.
        #expect(try scene.run("status", environment: ["SNAPSYNC_DB": "", "SNAPSYNC_LOCATION": ""]).status == 64)
    }

    @Test func cloudUnderAnotherPathIsTheSameCloud() throws {
        let scene = try Scene.phoneAndWatch()
        try FileManager.default.moveItem(atPath: scene.scratch.path("cloud"), toPath: scene.scratch.path("moved"))
        try scene.refuse(
            "sync watch.db", exit: 69, saying: ["cloud", "the directory cannot be opened", "mount it"], watching: ["watch.db"], asJSONToo: true)
        try scene.succeed("sync watch.db --location moved")
        try scene.markRead(2)
        try scene.succeed("sync phone.db", environment: ["SNAPSYNC_LOCATION": scene.scratch.path("moved")])
        #expect(try scene.succeed("sync watch.db --location moved").hasPrefix("imported version 2\n"))
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
        // The override is for one run.
        try scene.refuse("sync watch.db", exit: 69, saying: ["the directory cannot be opened"], watching: ["watch.db"])
    }

    @Test func anotherCloudIsRefused() throws {
        let scene = try Scene.phoneAndWatch()
        for line in ["generate else.db --notifications 2 --buckets 1", "init else.db other --built-in", "export else.db"] { try scene.succeed(line) }
        let other = try FileListing(of: scene.scratch.path("other"))
        for line in ["import watch.db", "export phone.db", "status watch.db", "check phone.db --read-data"] {
            try scene.refuse(
                line + " --location other", exit: 78, saying: ["other", "this is the location ", "mount the right directory"],
                watching: ["watch.db", "phone.db"])
        }
        #expect(try FileListing(of: scene.scratch.path("other")) == other)
        // Swapped under the same path, it is refused as well.
        try FileManager.default.moveItem(atPath: scene.scratch.path("cloud"), toPath: scene.scratch.path("away"))
        try FileManager.default.moveItem(atPath: scene.scratch.path("other"), toPath: scene.scratch.path("cloud"))
        try scene.refuse("sync watch.db", exit: 78, saying: ["this is the location "], watching: ["watch.db"])
        try scene.refuse("sync phone.db", exit: 78, saying: ["this is the location "], watching: ["phone.db"])
    }

    @Test func zonesOfOneCloudAreApart() throws {
        let scene = try Scene.phone()
        try scene.succeed("generate desk.db --notifications 5 --buckets 1 --seed 77")
        try scene.succeed("init desk.db cloud --built-in --name desk --zone Desk")
        for line in ["export desk.db", "join watch.db cloud --zone Desk", "import watch.db"] { try scene.succeed(line) }
        #expect(try scene.contents("watch.db") == scene.contents("desk.db"))
        #expect(try scene.succeed("log cloud --zone Desk").contains("notifications_data: 5 entities"))
        #expect(try scene.succeed("log cloud --zone ZentikSyncZone").contains("notifications_data: 30 entities"))
        #expect(try scene.run("log cloud").errorText.contains("choose one with --zone"))
        try scene.refuse("log cloud --zone None", exit: 66, saying: ["None", "no such zone"])
        try scene.refuse("log cloud --zone ../up", exit: 78, saying: ["zone", "name is not allowed"], asJSONToo: true)
    }

    @Test func generateMakesTheSameForTheSameSeed() throws {
        let scene = try Scene()
        for (name, seed) in [("a.db", 4), ("b.db", 4), ("c.db", 5)] {
            try scene.succeed("generate \(name) --notifications 200 --buckets 9 --seed \(seed)")
        }
        let first = try scene.contents("a.db")
        #expect(try scene.contents("b.db") == first)
        #expect(try scene.contents("c.db") != first)
        #expect(try scene.database("a.db").run("SELECT count(*) FROM notifications WHERE bucketId NOT IN (SELECT id FROM buckets)") == "0\n")
        #expect(
            try scene.database("a.db").run("SELECT (SELECT count(*) FROM buckets), count(*), min(json_valid(attachments)) FROM notifications") == "9|200|1\n")
        // Adding the same again is refused by the tables themselves, and adds nothing.
        try scene.refuse(
            "generate a.db --notifications 200 --buckets 9 --seed 4", exit: 65, saying: ["a.db", "choose another --seed"], watching: ["a.db"])
    }
}
