import Foundation
import TestSupport
import Testing

/// Peers, by the built command: several devices that edit and publish in one zone.
@Suite(.runsPrograms) struct PeerTests {
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

    @Test func zoneKeepsTheRuleThatItWasMadeWith() throws {
        let scene = try Scene.phone()
        try scene.succeed("generate desk.db --notifications 1 --buckets 1")
        try scene.refuse(
            "init desk.db cloud --peers --built-in --name desk", exit: 78,
            saying: ["its one publisher is the device phone", "snapsync join", "--zone"], watching: ["desk.db"])
        try scene.refuse("init desk.db cloud --built-in --name desk", exit: 78, saying: ["its one publisher is the device phone"], watching: ["desk.db"])
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

    // MARK: A folder that a tool replicates although nothing in it shows that

    @Test func peerIsRefusedAndNothingIsMade() throws {
        let scene = try Scene()
        let run = try scene.run("init desk.db cloud --peers --built-in --replicated")
        #expect(run.status == 78 && run.errorText.contains("--replicated says that a tool replicates this folder"), "\(run.errorText)")
        #expect(run.errorText.contains("init without --peers"))
        #expect(!scene.scratch.exists("cloud") && !scene.scratch.exists("desk.db"))
    }

    @Test func writerPublishesAloneAndDoctorKnowsWhy() throws {
        let scene = try Scene()
        try scene.succeed("generate phone.db --notifications 5 --buckets 2")
        try scene.succeed("init phone.db cloud --built-in --name phone --replicated")
        try scene.succeed("export phone.db")
        let zone = String(decoding: try scene.scratch.read("\(Scene.zone)/zone.json"), as: UTF8.self)
        #expect(zone.contains(#""publishers":"one""#))
        try scene.expectFinding("notice", "replication", "phone.db", exit: 0, saying: ["init was told that a tool replicates the folder"])
        try scene.succeed("join watch.db cloud --name watch --replicated")
        try scene.succeed("import watch.db")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
    }

    @Test func zoneOfPeersIsNotJoinedBySomeoneWhoSaysSo() throws {
        let scene = try Scene()
        try scene.succeed("init desk.db cloud --peers --built-in --name desk")
        let listing = try scene.cloudListing()
        let run = try scene.run("init late.db cloud --peers --built-in --name late --replicated")
        #expect(run.status == 78 && run.errorText.contains("replicates this folder"), "\(run.errorText)")
        #expect(try scene.cloudListing() == listing && !scene.scratch.exists("late.db"))
    }
}
