import Foundation
import TestSupport
import Testing

/// `pin` and `prune`: what is kept can be read, what is not is gone, and whoever is in between loses nothing.
@Suite(.runsPrograms) struct PruneTests {
    @Test func pinnedVersionOutlivesItsCommit() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.publishMore(7)
        let second = try scene.container(2), newest = try scene.container(8)
        #expect(try scene.succeed("pin phone.db 2 --name two") == "pinned version 2\n")
        #expect(try scene.succeed("pin phone.db 2 --name two") == "version 2 is pinned already\n")
        try scene.age()
        let report = try scene.json("prune phone.db --keep-last 2")
        #expect(report["removedVersions"] as? [Int] == [1, 2, 3, 4, 5, 6] && report["pinnedVersions"] as? [Int] == [2])
        // Commit 9 is the pin's, 10 makes the checkpoint count below which commits went.
        #expect(report["publishedVersion"] as? Int == 10 && report["oldestKept"] as? Int == 7)
        #expect(try scene.versions() == [10, 9, 8, 7])
        #expect(try scene.files("commits").count == 4)
        #expect(try scene.container(2) == second)
        #expect(try scene.container(8) == newest && scene.container(10) == newest)
        try scene.refuse("show cloud notifications --at 3", exit: 66, saying: ["no longer kept", "log cloud lists"])
        #expect(try scene.succeed("log cloud").hasSuffix(" pinned (two)\n"))
        #expect(try scene.json("check cloud --all-versions")["problems"] as? [String] == [])
        // A reader goes on without a word about the pin.
        #expect(try scene.json("import watch.db")["warnings"] as? [String] == [])
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))

        // Unpinned, it goes with the next prune whose grace period is over.
        try scene.succeed("pin phone.db 2 --remove")
        try scene.refuse("pin phone.db 2 --remove", exit: 66, saying: ["version 2", "it is not pinned"])
        try scene.age()
        try scene.succeed("prune phone.db --keep-last 2")
        try scene.refuse("show cloud notifications --at 2", exit: 66, saying: ["no longer kept"])
        // One asset each of the two kept states, and the buckets' one.
        #expect(try scene.files("assets/notifications_data").count == 4 && scene.files("assets/buckets_data").count == 2)
        #expect(try scene.json("check cloud --all-versions")["problems"] as? [String] == [])
    }

    @Test func nothingYoungIsRemoved() throws {
        let scene = try Scene.phone()
        try scene.publishMore(4)
        let before = try scene.cloudListing()
        #expect(try scene.succeed("prune phone.db --keep-last 1 -n").hasPrefix("nothing to remove\n"))
        #expect(try scene.cloudListing() == before)
        #expect(try scene.succeed("prune phone.db --keep-last 1").hasPrefix("nothing to remove\n"))
        #expect(try scene.versions() == [5, 4, 3, 2, 1])
        // Commits are old, and so are assets, but the last version is young: what it replaced was the newest a moment ago.
        try scene.age()
        try scene.publishMore(1)
        let report = try scene.json("prune phone.db --keep-last 1")
        #expect(report["removedVersions"] as? [Int] == [1, 2, 3, 4, 5])
        let removed = try #require(report["removedFiles"] as? [String])
        #expect(removed.contains { $0.contains("/00000000000000000004-") } && !removed.contains { $0.contains("/00000000000000000005-") })
        #expect((report["waitingFiles"] as? Int ?? 0) == 2 && (report["waitingBytes"] as? Int ?? 0) > 0)
        try scene.age()
        let next = try scene.json("prune phone.db --keep-last 1")
        #expect(next["waitingFiles"] as? Int == 0 && (next["removedFiles"] as? [String])?.filter { $0.contains("assets/") }.count == 2)
        #expect(try scene.files("assets/notifications_data").count == 2)
    }

    @Test func dryRunSaysWhatGoesAndChangesNothing() throws {
        let scene = try Scene.phone()
        try scene.publishMore(5)
        try scene.age()
        let before = try scene.cloudListing(), database = try scene.database("phone.db").dump()
        let said = try scene.json("prune phone.db --keep-last 3 -n")
        #expect(try scene.cloudListing() == before && scene.database("phone.db").dump() == database)
        let listing = try FileListing(of: scene.scratch.path(Scene.zone)).entries
        let did = try scene.json("prune phone.db --keep-last 3")
        for field in ["removedVersions", "removedFiles", "bytesFreed", "oldestKept"] {
            #expect("\(said[field] ?? "")" == "\(did[field] ?? "")", "\(field)")
        }
        let sizes = try #require(did["removedFiles"] as? [String]).map { file in
            Int(listing[file]?.components(separatedBy: "size ").last?.prefix { $0.isNumber } ?? "") ?? -1
        }
        #expect(sizes.reduce(0, +) == did["bytesFreed"] as? Int && !sizes.contains(-1))
    }

    @Test func versionsWithinATimeAreKept() throws {
        let scene = try Scene.phone()
        try scene.publishMore(4)
        try scene.age()
        #expect(try scene.succeed("prune phone.db --keep-within 1h").hasPrefix("nothing to remove\n"))
        #expect(try scene.json("prune phone.db --keep-within 0s")["removedVersions"] as? [Int] == [1, 2, 3, 4])
    }

    @Test func readerThatWasAwayStartsAtTheCheckpoint() throws {
        let scene = try Scene.phoneAndWatch()
        // What the reader changed while it was away is later than anything, and survives.
        try scene.database("watch.db").run("UPDATE buckets SET name = 'mine' WHERE id = (SELECT min(id) FROM buckets)")
        try scene.publishMore(6)
        try scene.database("phone.db").run("DELETE FROM notifications WHERE id = (SELECT max(id) FROM notifications)")
        try scene.sync("phone")
        try scene.age()
        try scene.succeed("prune phone.db --keep-last 1")
        #expect(try scene.json("status watch.db")["version"] as? Int == 1)
        let report = try scene.json("sync watch.db")
        let imported = try #require(report["imported"] as? [String: Any])
        #expect(imported["version"] as? Int == 9 && (imported["datasets"] as? [[String: Any]])?.count == 2)
        try scene.succeed("check watch.db --local")
        #expect(
            try scene.database("watch.db").values(of: "notifications", orderedBy: "id")
                == scene.database("phone.db").values(of: "notifications", orderedBy: "id"))
        #expect(try scene.value("SELECT count(*) FROM buckets WHERE name = 'mine'", in: "watch.db") == "1")
        #expect(try scene.succeed("sync watch.db").hasPrefix("version 9 is here already"))
    }

    @Test func orphansGoAfterTheGracePeriod() throws {
        let scene = try Scene.phone()
        let asset = try scene.asset("notifications")
        let orphan = asset.replacing(/-[0-9a-f]{8}\.json\.gz$/, with: "-00000000.json.gz")
        try scene.scratch.copy(scene.scratch.path(asset), to: orphan)
        try scene.scratch.copy(scene.scratch.path(asset.replacing(".json.gz", with: ".index.json")), to: orphan.replacing(".json.gz", with: ".index.json"))
        let temporary = "\(Scene.zone)/assets/buckets_data/.snapsync-\(String(repeating: "0a", count: 16)).tmp"
        try scene.scratch.write("half", to: temporary)
        try scene.scratch.write("somebody's", to: "\(Scene.zone)/assets/buckets_data/notes.txt")
        #expect(try scene.json("prune phone.db --keep-last 5")["waitingFiles"] as? Int == 3)
        #expect(scene.scratch.exists(orphan) && scene.scratch.exists(temporary))
        try scene.age()
        #expect((try scene.json("prune phone.db --keep-last 5")["removedFiles"] as? [String])?.count == 3)
        #expect(!scene.scratch.exists(orphan) && !scene.scratch.exists(temporary) && scene.scratch.exists(asset))
        // What is not ours stays.
        #expect(scene.scratch.exists("\(Scene.zone)/assets/buckets_data/notes.txt"))
    }

    @Test func readersNeitherPinNorPrune() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.refuse("pin watch.db 1", exit: 78, saying: ["this device is a reader"], watching: ["watch.db"])
        try scene.refuse("pin watch.db 1 --remove", exit: 78, saying: ["this device is a reader"], watching: ["watch.db"])
        try scene.refuse(
            "prune watch.db --keep-last 1", exit: 78, saying: ["this device is a reader", "prune on a device that publishes"], watching: ["watch.db"])
        try scene.refuse("pin phone.db 7", exit: 66, saying: ["no such version yet"], watching: ["phone.db"], asJSONToo: true)
    }

    /// A prune that is killed after any number of removals leaves a cloud that is sound, and the next one ends it.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/strace")), arguments: [1, 6])
    func killedPruneIsEndedByTheNext(removals: Int) throws {
        let scene = try Scene.copy(of: "a pin among six versions", from: .phoneAndWatch()) { scene in
            try scene.publishMore(5)
            try scene.succeed("pin phone.db 3")
        }
        try scene.age()
        let third = try scene.container(3), newest = try scene.container(6)
        let words = ["prune", "phone.db", "--keep-last", "1"]
        let run = try TracedRun.injecting("signal=KILL:when=\(removals)", at: "unlinkat", words, in: scene.scratch.path)
        #expect(run.status != 0, "nothing was killed")
        #expect(try scene.json("check cloud --read-data")["problems"] as? [String] == [])
        #expect(try scene.container(3) == third)
        try scene.sync("watch")
        try scene.succeed("check watch.db --local")
        try scene.age()
        try scene.succeed("prune phone.db --keep-last 1")
        try scene.age()
        try scene.succeed("prune phone.db --keep-last 1")
        #expect(try scene.json("check cloud --all-versions")["problems"] as? [String] == [])
        #expect(try scene.container(3) == third)
        #expect(try scene.container(#require(scene.versions().first)) == newest)
        #expect(try scene.files("assets/notifications_data").count == 4)
        try scene.publishMore(1)
        try scene.sync("watch")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
    }
}
