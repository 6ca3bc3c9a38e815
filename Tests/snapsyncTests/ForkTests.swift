import Foundation
import TestSupport
import Testing

/// Two commits of one number, as a tool that replicates folders leaves them: seen, said, and healed with nothing lost.
@Suite(.runsPrograms) struct ForkTests {
    private static let copy = "00000000000000000002.sync-conflict-20260301-081500-7KQ2M4A.json"

    private func titles(_ scene: Scene, _ database: String) throws -> String {
        try scene.database(database).run(
            """
            SELECT (SELECT title FROM notifications ORDER BY id LIMIT 1) || ', ' || (SELECT title FROM notifications ORDER BY id DESC LIMIT 1)
                || ', ' || (SELECT count(*) FROM buckets WHERE name = 'made on laptop')
            """)
    }

    @Test func whatTheLosingCommitHadIsPublishedAgain() throws {
        let scene = try Scene()
        try scene.forkOfPeers()
        #expect(try titles(scene, "desk.db").hasPrefix("by desk, ") && titles(scene, "laptop.db").hasSuffix(", by laptop, 1\n"))

        // Looking says what is wrong, at either device and without any.
        for line in ["status --db desk.db", "status --db laptop.db", "history --db laptop.db", "history --cloud one"] {
            #expect(try scene.succeed(line).contains("fork: two devices published version 2, and the one by laptop of "), "\(line)")
        }
        for line in ["verify --db desk.db", "verify --db laptop.db --local", "verify --cloud two --all"] {
            let run = try scene.run(line)
            #expect(run.status == 65 && run.text.contains("commits/\(Self.copy)); run snapsync sync on laptop"), "\(line): \(run.text)\(run.errorText)")
        }
        // The device whose commit stands has nothing to do.
        #expect(try scene.json("sync --db desk.db")["imported"] == nil)

        let healed = try scene.json("sync --db laptop.db")
        let warnings = try #require((healed["imported"] as? [String: Any])?["warnings"] as? [String])
        #expect(warnings.contains { $0.hasPrefix("a fork: version 2 was published by two devices") })
        #expect((healed["exported"] as? [String: Any])?["version"] as? Int == 3)
        try scene.replicate("one", "two", conflict: "unused")
        try scene.succeed("sync --db desk.db")
        #expect(try titles(scene, "desk.db") == "by desk, by laptop, 1\n")
        #expect(try scene.contents("desk.db") == scene.contents("laptop.db"))
        for line in ["verify --db desk.db --local --all", "verify --db laptop.db --local"] {
            let text = try scene.succeed(line)
            #expect(text.contains("what it had was published again, and commits/\(Self.copy) can be removed") && text.hasSuffix("all is well\n"), "\(text)")
        }
        try FileManager.default.removeItem(atPath: scene.scratch.path("one/private/ZentikSyncZone/commits/\(Self.copy)"))
        #expect(try scene.json("status --db desk.db")["forks"] as? [String] == [])
    }

    /// Edits of different rows lose nothing in a fork, also if several commits that lost, and an edit after them, changed one row.
    @Test(arguments: [1, 3]) func noEditLosesInAForkOfDifferentRows(versions: Int) throws {
        let scene = try Scene()
        try scene.peersWithCopies()
        let last = "WHERE id = (SELECT max(id) FROM notifications)"
        for number in 0..<versions {
            try scene.database("desk.db").run("UPDATE notifications SET title = 'by desk' || \(number) WHERE id = (SELECT min(id) FROM notifications)")
            try scene.database("laptop.db").run("UPDATE notifications SET \(["title", "body", "subtitle"][number]) = 'by laptop' \(last)")
            for name in ["desk", "laptop"] { try scene.succeed("sync --db \(name).db") }
        }
        try scene.database("laptop.db").run("UPDATE notifications SET sentAt = '2026-03-01T00:00:00Z' \(last)")
        try scene.replicate("one", "two", conflict: "sync-conflict-20260301-081500-7KQ2M4A")
        try scene.succeed("sync --db laptop.db")
        try scene.replicate("one", "two", conflict: "unused")
        try scene.succeed("sync --db desk.db")
        #expect(try scene.contents("desk.db") == scene.contents("laptop.db"))
        let row = try scene.value(
            "SELECT title || '|' || ifnull(body, '') || '|' || ifnull(subtitle, '') || '|' || sentAt FROM notifications \(last)", in: "desk.db")
        let parts = row.split(separator: "|", omittingEmptySubsequences: false)
        #expect(parts.prefix(versions).allSatisfy { $0 == "by laptop" } && parts.last == "2026-03-01T00:00:00Z", "\(row)")
        for name in ["desk", "laptop"] { #expect(try scene.succeed("conflicts --db \(name).db").contains("no edit has lost"), "\(name)") }
    }

    @Test func deletionOfTheLosingCommitIsPublishedAgain() throws {
        let scene = try Scene()
        try scene.forkOfPeers()
        // Changes after the fork are tracked as ever, on top of those that come back.
        try scene.database("laptop.db").run("DELETE FROM buckets WHERE id = 'laptop1'; UPDATE notifications SET title = 'later' WHERE title = 'by laptop'")
        try scene.succeed("sync --db laptop.db")
        try scene.replicate("one", "two", conflict: "unused")
        try scene.succeed("sync --db desk.db")
        #expect(try titles(scene, "desk.db") == "by desk, later, 0\n")
        #expect(try scene.contents("desk.db") == scene.contents("laptop.db"))
    }

    /// Also if its first version is the one that loses.
    @Test(arguments: ["reader", "peer"], [true, false]) func othersFollowTheCommitThatStands(role: String, joinsBefore: Bool) throws {
        let scene = try Scene()
        try scene.peersWithCopies()
        func join() throws { try scene.succeed("init --db watch.db --cloud two --role \(role) --device watch --create") }
        if joinsBefore {
            try join()
            try scene.succeed("sync --db watch.db")
        }
        try scene.database("desk.db").run("UPDATE notifications SET title = 'by desk'")
        try scene.database("laptop.db").run("DELETE FROM notifications")
        try scene.succeed("sync --db desk.db")
        try scene.succeed("sync --db laptop.db")
        if !joinsBefore { try join() }
        try scene.succeed("sync --db watch.db")
        try scene.replicate("one", "two", conflict: "sync-conflict-20260301-081500-7KQ2M4A")
        // What it shows lost its number, and another's shows that for certain only once somebody goes on from it.
        try scene.database("desk.db").run("UPDATE notifications SET title = 'by desk again' WHERE id = (SELECT min(id) FROM notifications)")
        try scene.succeed("sync --db desk.db")
        try scene.replicate("one", "two", conflict: "unused")
        try scene.succeed("sync --db watch.db")
        #expect(try scene.contents("watch.db") == scene.contents("desk.db"))
        try scene.succeed("sync --db laptop.db")
        try scene.replicate("one", "two", conflict: "unused")
        for name in ["desk.db", "watch.db"] { try scene.succeed("sync --db \(name)") }
        #expect(try scene.contents("desk.db") == scene.contents("laptop.db"))
        #expect(try scene.contents("watch.db") == scene.contents("desk.db"))
        // The one that desk edited later is there; the others were deleted after desk's first edit.
        #expect(try scene.database("desk.db").run("SELECT title FROM notifications") == "by desk again\n")
    }

    @Test func forkWithoutAConflictCopyWaitsUntilSomebodyHasGoneOn() throws {
        let scene = try Scene()
        try scene.peersWithCopies()
        try scene.database("desk.db").run("UPDATE notifications SET title = 'by desk' WHERE id = (SELECT min(id) FROM notifications)")
        try scene.succeed("sync --db desk.db")
        try scene.database("laptop.db").run("DELETE FROM notifications WHERE id = (SELECT max(id) FROM notifications)")
        try scene.succeed("sync --db laptop.db")
        try scene.replicate("one", "two", conflict: nil)

        try scene.refuse(
            "sync --db laptop.db", exit: 65, saying: ["two devices may have published this version", "until one of them syncs again"], watching: ["laptop.db"])
        try scene.database("desk.db").run("UPDATE notifications SET title = 'by desk again' WHERE title = 'by desk'")
        try scene.succeed("sync --db desk.db")
        try scene.replicate("one", "two", conflict: nil)
        #expect(try scene.succeed("status --db laptop.db").contains("fork: two devices published version 2, and the one by laptop does not count"))
        try scene.succeed("sync --db laptop.db")
        try scene.replicate("one", "two", conflict: nil)
        try scene.succeed("sync --db desk.db")
        #expect(try scene.contents("desk.db") == scene.contents("laptop.db"))
        #expect(try scene.database("desk.db").run("SELECT count(*), sum(title = 'by desk again') FROM notifications") == "11|1\n")
    }

    @Test func commitsThatDoNotFollowOneAnotherAreRefusedUntilThePlainNamesDo() throws {
        let scene = try Scene()
        // Laptop's third version follows its own second one, whose plain name desk's has.
        try scene.forkOfPeers(laptopVersions: 2)
        let before = try scene.contents("desk.db")
        for line in ["sync --db desk.db", "import --db desk.db", "status --db desk.db"] {
            let run = try scene.run(line)
            Scene.checkRefusal(
                run, exit: 65, saying: ["another parent", "snapsync doctor"],
                showing: line.hasPrefix("status") ? "version 2; the cloud was not looked at" : nil)
        }
        #expect(try scene.contents("desk.db") == before)
        // Laptop's own version stands, and has nothing to add to it.
        #expect(try scene.json("sync --db laptop.db")["imported"] == nil)

        for cloud in ["one", "two"] {
            let folder = scene.scratch.path("\(cloud)/private/ZentikSyncZone/commits/")
            try FileManager.default.moveItem(atPath: folder + "00000000000000000002.json", toPath: folder + "00000000000000000002.desk.json")
            try FileManager.default.moveItem(atPath: folder + Self.copy, toPath: folder + "00000000000000000002.json")
        }
        try scene.succeed("sync --db desk.db")
        try scene.replicate("one", "two", conflict: "unused")
        try scene.succeed("sync --db laptop.db")
        #expect(try titles(scene, "laptop.db") == "by desk, by laptop, 2\n")
        #expect(try scene.contents("desk.db") == scene.contents("laptop.db"))
    }

    @Test func cloudPutBackToAnEarlierVersionIsStillRefused() throws {
        let scene = try Scene()
        try scene.succeed("generate --db desk.db --notifications 5 --buckets 1")
        try scene.succeed("init --db desk.db --cloud cloud --role peer --device desk")
        try scene.succeed("sync --db desk.db")
        try scene.scratch.copy(scene.scratch.path("cloud"), to: "older")
        try scene.succeed("generate --db desk.db --mark-read 2")
        try scene.succeed("sync --db desk.db")
        try FileManager.default.removeItem(atPath: scene.scratch.path("cloud"))
        try FileManager.default.moveItem(atPath: scene.scratch.path("older"), toPath: scene.scratch.path("cloud"))
        try scene.refuse("sync --db desk.db", exit: 65, saying: ["the zone ends at commit 1, before what this device has read"], watching: ["desk.db"])
    }
}
