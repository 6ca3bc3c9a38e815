import Foundation
import TestSupport
import Testing

/// `init --replicated`: a folder that a tool replicates although nothing in it shows that.
@Suite(.runsPrograms) struct ReplicatedFolderTests {
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
