import Foundation
import TestSupport
import Testing

/// Peers and a reader in one zone: messages, pins, restored and replaced versions meet there, by the built command.
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct MixedZoneTests {
    private static let publishers = ["desk.db", "laptop.db"]
    private static let all = publishers + ["watch.db"]

    /// Two peers and a reader that have version 1.
    private func zone() throws -> Scene {
        try Scene.copy(of: "peers and a reader", from: .deskAndLaptop(notifications: 12)) { scene in
            try scene.succeed("join watch.db cloud --name watch")
            for name in Self.all { try scene.succeed("sync \(name)") }
        }
    }

    private func edit(_ scene: Scene, _ database: String, _ sql: String) throws { try scene.database(database).run(sql) }

    /// Everybody has the same rows, they are the applied version, and no edit waits.
    private func expectSettled(_ scene: Scene, at location: SourceLocation = #_sourceLocation) throws {
        let rows = try scene.contents("desk.db")
        for name in Self.all {
            #expect(try scene.contents(name) == rows, "\(name)", sourceLocation: location)
            try scene.succeed("check \(name) --local", at: location)
        }
        #expect(try scene.json("pending cloud")["waiting"] as? [String] == [], sourceLocation: location)
    }

    @Test func aReadMarkIsAppliedByWhicheverPeerIsFirstAndJoinsItsEdits() throws {
        let scene = try zone()
        let marked = "SELECT count(*) FROM notifications WHERE readAt = '2026-11-20T10:00:00Z'"
        try edit(scene, "watch.db", "UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id IN (SELECT id FROM notifications ORDER BY id LIMIT 2)")
        try scene.sync("watch")
        try edit(scene, "laptop.db", "UPDATE notifications SET title = 'laptop' WHERE id = (SELECT min(id) FROM notifications)")
        let laptop = try #require(try scene.json("sync laptop.db")["exported"] as? [String: Any])
        #expect(laptop["version"] as? Int == 2 && laptop["messagesApplied"] as? Int == 2)
        // The file still lies there, but another peer has answered it.
        let desk = try #require(try scene.json("sync desk.db")["exported"] as? [String: Any])
        #expect(desk["published"] as? Bool == false)
        try scene.sync("watch")
        try expectSettled(scene)
        #expect(try scene.value(marked + " AND title = 'laptop'", in: "desk.db") == "1")
        #expect(try scene.value(marked, in: "desk.db") == "2")
        for name in Self.publishers { #expect(try scene.json("sync \(name)")["imported"] == nil) }
        #expect(try scene.json("log cloud")["newestVersion"] as? Int == 2)
    }

    @Test func whatAPeerRestoresAndUndoesReachesEverybody() throws {
        let scene = try zone()
        let first = try scene.contents("desk.db")
        try edit(
            scene, "desk.db",
            "UPDATE notifications SET title = 'desk' WHERE id = (SELECT min(id) FROM notifications); DELETE FROM notifications WHERE id = (SELECT max(id) FROM notifications)"
        )
        for name in Self.all { try scene.succeed("sync \(name)") }
        let second = try scene.contents("desk.db")
        try scene.succeed("restore laptop.db 1")
        // Another peer publishes between the restoring and its commit; what it changed is not restored.
        try edit(scene, "desk.db", "UPDATE buckets SET name = 'desk'")
        try scene.sync("desk", "laptop", "desk", "watch")
        try expectSettled(scene)
        #expect(try scene.database("desk.db").values(of: "buckets", orderedBy: "id") != first)
        #expect(first.hasSuffix(try scene.database("watch.db").values(of: "notifications", orderedBy: "id")))
        #expect(try #require(try scene.json("log cloud")["pins"] as? [[String: Any]]).compactMap { $0["version"] as? Int } == [2])
        try scene.succeed("undo laptop.db")
        try scene.sync("laptop", "desk", "watch")
        try expectSettled(scene)
        #expect(try scene.contents("watch.db") == second)
    }

    @Test func aPeersDataReplaceTheClouds() throws {
        let scene = try zone()
        for name in Self.publishers { try edit(scene, name, "UPDATE buckets SET color = '#\(name)'") }
        try scene.sync("laptop")
        // Desk's are the earlier edits; they win for it says so.
        #expect(try scene.json("export desk.db --replace --yes")["exported"] is [String: Any])
        try scene.sync("laptop", "watch")
        try expectSettled(scene)
        #expect(try scene.value("SELECT DISTINCT color FROM buckets", in: "watch.db") == "#desk.db")
        try scene.succeed("undo desk.db")
        try scene.sync("desk", "laptop", "watch")
        try expectSettled(scene)
        #expect(try scene.value("SELECT DISTINCT color FROM buckets", in: "watch.db") == "#laptop.db")
    }

    @Test func aReaderWhoseVersionWasPrunedStillTellsWhatItChanged() throws {
        let scene = try zone()
        try edit(scene, "watch.db", "DELETE FROM notifications WHERE id = (SELECT max(id) FROM notifications)")
        for seed in 1...4 {
            try scene.markRead(1, from: seed, in: "desk.db")
            try scene.succeed("sync desk.db --quiet")
        }
        try scene.age()
        try scene.succeed("prune desk.db --keep-last 1")
        try scene.sync("watch", "laptop", "watch", "desk")
        try expectSettled(scene)
        #expect(try scene.value("SELECT count(*) FROM notifications", in: "laptop.db") == "11")
        try scene.succeed("check cloud --all-versions")
    }

    @Test func whatAReaderToldIsTakenBackWithItsChanges() throws {
        let scene = try zone()
        let rows = try scene.contents("watch.db")
        try edit(scene, "watch.db", "UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = (SELECT min(id) FROM notifications)")
        try scene.sync("watch")
        // One that is in the mailbox, and one that is not yet.
        try edit(scene, "watch.db", "DELETE FROM notifications WHERE id = (SELECT max(id) FROM notifications)")
        #expect(try (scene.json("pending cloud")["waiting"] as? [[String: Any]])?.count == 1)
        try scene.succeed("import watch.db --replace --yes")
        #expect(try scene.contents("watch.db") == rows)
        #expect(try scene.json("pending watch.db")["sent"] as? [String] == [])
        try scene.sync("desk", "watch")
        try expectSettled(scene)
        #expect(try scene.contents("desk.db") == rows && scene.json("log cloud")["newestVersion"] as? Int == 1)
        // Brought back, it is told again.
        try scene.succeed("undo watch.db")
        try scene.sync("watch", "desk", "watch", "laptop")
        try expectSettled(scene)
        #expect(try scene.value("SELECT count(*) FROM notifications WHERE readAt = '2026-11-20T10:00:00Z'", in: "laptop.db") == "1")
        #expect(try scene.value("SELECT count(*) FROM notifications", in: "laptop.db") == "11")
    }

    @Test func aCopyOfTheWriterPinsNothingInItsName() throws {
        let scene = try Scene.phone()
        try edit(scene, "phone.db", "VACUUM INTO '\(scene.scratch.path("copy.db"))'")
        try scene.publishMore(1)
        let commits = try scene.files("commits")
        Scene.checkRefusal(try scene.run("pin copy.db 1"), exit: 78, saying: ["phone"])
        #expect(try scene.files("commits") == commits)
        try scene.publishMore(1)
        #expect(try scene.json("log cloud")["pins"] as? [String] == [])
    }

    @Test func whoReplacesTheCloudsDataApprovesOfFewerEntities() throws {
        let scene = try Scene.phoneAndWatch()
        try edit(scene, "phone.db", "DELETE FROM notifications WHERE id NOT IN (SELECT id FROM notifications LIMIT 5)")
        try scene.refuse("export phone.db", exit: 78, saying: ["it has 5 of the 30 entities"])
        try scene.succeed("export phone.db --replace --yes")
        try scene.sync("watch")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
        try scene.succeed("undo phone.db")
        try scene.sync("phone", "watch")
        #expect(try scene.value("SELECT count(*) FROM notifications", in: "watch.db") == "30")
    }

    @Test func watchesCarryMarksAndVersionsBothWays() async throws {
        let scene = try zone()
        var watches: [RunningWatch] = []
        for name in Self.all { watches.append(try await scene.watch("\(name)")) }
        try edit(scene, "watch.db", "UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = (SELECT min(id) FROM notifications)")
        try edit(scene, "laptop.db", "UPDATE buckets SET name = 'laptop'")
        try await Eventually.holds(
            "all have both changes and nothing waits",
            explain: { try watches.map { try $0.program.outputSoFar() + $0.program.errorsSoFar() }.joined(separator: "\n") }
        ) {
            try Self.all.allSatisfy { name in
                try scene.value(
                    "SELECT (SELECT count(*) FROM notifications WHERE readAt = '2026-11-20T10:00:00Z') || (SELECT count(*) FROM buckets WHERE name = 'laptop')",
                    in: name) == "13"
            } && scene.value("SELECT count(*) FROM snapsync_sent", in: "watch.db") == "0"
        }
        for watch in watches { try watch.end() }
        for name in Self.all { try scene.succeed("sync \(name)") }
        try expectSettled(scene)
    }
}
