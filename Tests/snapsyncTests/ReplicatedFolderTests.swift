import Foundation
import TestSupport
import Testing

/// `init --replicated`: a folder that a tool replicates although nothing in it shows that.
@Suite(.runsPrograms) struct ReplicatedFolderTests {
    @Test func peerIsRefusedAndNothingIsMade() throws {
        let scene = try Scene()
        let run = try scene.run("init --db desk.db --cloud cloud --role peer --create --replicated")
        #expect(run.status == 78 && run.errorText.contains("--replicated says that a tool replicates this folder"), "\(run.errorText)")
        #expect(run.errorText.contains("--role writer"))
        #expect(!scene.scratch.exists("cloud") && !scene.scratch.exists("desk.db"))
    }

    @Test func writerPublishesAloneAndDoctorKnowsWhy() throws {
        let scene = try Scene()
        try scene.succeed("generate --db phone.db --notifications 5 --buckets 2")
        try scene.succeed("init --db phone.db --cloud cloud --role writer --device phone --replicated")
        try scene.succeed("export --db phone.db")
        let zone = String(decoding: try scene.scratch.read("\(Scene.zone)/zone.json"), as: UTF8.self)
        #expect(zone.contains(#""publishers":"one""#))
        try scene.expectFinding("notice", "replication", "--db phone.db", exit: 0, saying: ["init was told that a tool replicates the folder"])
        try scene.succeed("init --db watch.db --cloud cloud --role reader --device watch --create --replicated")
        try scene.succeed("import --db watch.db")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
    }

    @Test func zoneOfPeersIsNotJoinedBySomeoneWhoSaysSo() throws {
        let scene = try Scene()
        try scene.succeed("init --db desk.db --cloud cloud --role peer --device desk --create")
        let listing = try scene.cloudListing()
        let run = try scene.run("init --db late.db --cloud cloud --role writer --device late --create --replicated")
        #expect(run.status == 78 && run.errorText.contains("replicates this folder"), "\(run.errorText)")
        #expect(try scene.cloudListing() == listing && !scene.scratch.exists("late.db"))
    }
}
