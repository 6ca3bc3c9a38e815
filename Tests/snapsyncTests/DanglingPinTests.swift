import Foundation
import TestSupport
import Testing

/// A pin whose checkpoint is gone: it does not come about by a prune, it stops nothing else where it is there, and `pin --remove` ends it.
@Suite(.runsPrograms) struct DanglingPinTests {
    private static let checkpoint = "\(Scene.zone)/checkpoints/00000000000000000002.json"

    /// A writer with versions 1 to 8, and version 2 pinned; old.
    private func pinned() throws -> Scene {
        let scene = try Scene.copy(of: "a pin among eight versions", from: .phone()) { scene in
            try scene.publishMore(7)
            try scene.succeed("pin phone.db 2 --name two")
        }
        try scene.age()
        return scene
    }

    private func remove(_ path: String, _ scene: Scene) throws { try FileManager.default.removeItem(atPath: scene.scratch.path(path)) }

    @Test func versionThatWasPrunedBeforeItsPinIsToldAndNotPinned() throws {
        let scene = try Scene.deskAndLaptop(notifications: 5, buckets: 1)
        for number in 1...3 {
            try scene.database("laptop.db").run("UPDATE buckets SET name = 'b\(number)'")
            try scene.sync("laptop")
        }
        #expect(try scene.succeed("import desk.db --replace --yes").contains("snapsync undo desk.db brings it back"))
        try scene.age()
        try scene.succeed("prune laptop.db --keep-last 1")
        #expect(try scene.files("checkpoints") == ["00000000000000000003.json"])

        try scene.database("desk.db").run("UPDATE buckets SET name = 'by desk'")
        let report = try scene.json("sync desk.db")
        let warnings = try #require((report["exported"] as? [String: Any])?["warnings"] as? [String])
        #expect(
            warnings == [
                "version 1, which the replacement of the local data replaced, was pruned by another device before it could be pinned; it is gone, and undo cannot bring it back"
            ])
        #expect((try scene.json("log desk.db")["pins"] as? [Any])?.isEmpty == true)
        #expect(try scene.json("status desk.db")["undo"] == nil)
        try scene.refuse("undo desk.db", exit: 66, saying: ["there is nothing to undo"], watching: ["desk.db"])
        #expect(try scene.succeed("check desk.db --all-versions").hasSuffix("all is well\n"))
        // It is told once.
        try scene.database("desk.db").run("UPDATE buckets SET name = 'by desk again'")
        #expect((try scene.json("sync desk.db")["exported"] as? [String: Any])?["warnings"] as? [String] == [])
        try scene.age()
        try scene.sync("laptop")
        for name in ["desk.db", "laptop.db"] { #expect(try scene.json("prune \(name) --keep-last 1")["problems"] as? [String] == []) }
        #expect(try scene.doctor("desk.db", exit: 0).about("pins").map(\.severity) == ["ok"])
    }

    @Test func checkpointOfAPendingPinIsMadeAgainWhileItsCommitIsThere() throws {
        let scene = try Scene.phone()
        try scene.publishMore(1)
        let before = try scene.container(2)
        try scene.succeed("restore phone.db 1")
        try remove(Self.checkpoint, scene)
        #expect((try scene.json("sync phone.db")["exported"] as? [String: Any])?["warnings"] as? [String] == [])
        #expect(scene.scratch.exists(Self.checkpoint))
        try scene.age()
        try scene.succeed("prune phone.db --keep-last 1")
        #expect(try scene.container(2) == before)
    }

    @Test func pruneKeepsAPinWhoseCheckpointIsGoneAndWhoseCommitIsThere() throws {
        let scene = try pinned()
        let second = try scene.container(2)
        try remove(Self.checkpoint, scene)
        let verify = try scene.run("check cloud --all-versions")
        #expect(
            verify.status == 65 && verify.text.contains("pin of version 2: its checkpoint is missing or damaged; the version's commit is still there"),
            "\(verify.text)")
        try scene.expectFinding("warning", "pins", "cloud", exit: 65, saying: ["pin of version 2", "still there"], remedy: "snapsync repair")
        try scene.succeed("repair phone.db")
        #expect(scene.scratch.exists(Self.checkpoint))

        try remove(Self.checkpoint, scene)
        #expect(try scene.json("prune phone.db --keep-last 2 -n")["problems"] as? [String] != [])
        let report = try scene.json("prune phone.db --keep-last 2")
        #expect(report["problems"] as? [String] == [] && report["removedVersions"] as? [Int] == [1, 2, 3, 4, 5, 6])
        #expect(try scene.container(2) == second)
        #expect(try scene.succeed("check cloud --all-versions").hasSuffix("all is well\n"))

        // Where the name is taken by something else, the commit stays, and the prune says why.
        let other = try pinned()
        try other.scratch.edit(Self.checkpoint) { $0 = Data("{}".utf8) }
        let held = try other.json("prune phone.db --keep-last 2")
        #expect((held["problems"] as? [String])?.first?.contains("pin of version 2: its checkpoint is missing or damaged") == true)
        #expect((held["removedVersions"] as? [Int])?.contains(2) == false)
        try other.succeed("repair phone.db")
        try other.succeed("prune phone.db --keep-last 2")
        #expect(try other.succeed("check cloud --all-versions").hasSuffix("all is well\n"))
    }

    @Test func danglingPinStopsNothingElse() throws {
        let scene = try pinned()
        let second = try scene.container(2)
        try scene.succeed("prune phone.db --keep-last 2")
        let checkpoint = try scene.scratch.read(Self.checkpoint)
        try remove(Self.checkpoint, scene)

        let verify = try scene.run("check phone.db --all-versions")
        #expect(verify.status == 65 && verify.text.hasSuffix("1 problem\n"), "\(verify.text)\(verify.errorText)")
        for words in ["sound: notifications_data@8", "pin of version 2: the pinned version cannot be read", "snapsync pin DB 2 --remove"] {
            #expect(verify.text.contains(words), "\(verify.text)")
        }
        try scene.expectFinding("error", "pins", "phone.db", exit: 65, saying: ["pin of version 2", "cannot be read"], remedy: "snapsync pin DB 2 --remove")
        for line in ["repair phone.db", "repair cloud"] {
            let repair = try scene.run(line)
            #expect(
                repair.status == 65
                    && ["lost: checkpoints/00000000000000000002.json", "snapsync pin DB 2 --remove"].allSatisfy(repair.text.contains),
                "\(repair.text)\(repair.errorText)")
        }
        try scene.refuse("show cloud notifications --at 2", exit: 65, saying: ["pin of version 2", "snapsync pin DB 2 --remove"])

        // Prune goes on with the rest, and keeps what the pinned version may need, should its checkpoint come back.
        try scene.publishMore(4)
        try scene.age()
        let prune = try scene.json("prune phone.db --keep-last 1")
        #expect((prune["problems"] as? [String])?.count == 1 && prune["pinnedVersions"] as? [Int] == [])
        #expect((prune["removedVersions"] as? [Int])?.isEmpty == false)
        #expect(try scene.run("prune phone.db --keep-last 1").text.contains("warning: verify failed: pin of version 2"))
        try scene.scratch.write(checkpoint, to: Self.checkpoint)
        #expect(try scene.container(2) == second)
        #expect(try scene.succeed("check cloud --all-versions").hasSuffix("all is well\n"))

        try remove(Self.checkpoint, scene)
        try scene.succeed("pin phone.db 2 --remove")
        try scene.age()
        let after = try scene.json("prune phone.db --keep-last 1")
        #expect(
            after["problems"] as? [String] == []
                && (after["removedFiles"] as? [String])?.contains { $0.contains("assets/notifications_data/00000000000000000002-") } == true)
        #expect(try scene.succeed("check cloud --all-versions").hasSuffix("all is well\n"))
        _ = try scene.doctor("phone.db", exit: 0)
    }

    @Test func missingFileOfAPinnedVersionIsFound() throws {
        let scene = try pinned()
        try scene.succeed("prune phone.db --keep-last 2")
        let asset = try #require(try scene.files("assets/notifications_data").first { $0.hasPrefix("00000000000000000002-") && $0.hasSuffix(".json.gz") })
        try remove("\(Scene.zone)/assets/notifications_data/\(asset)", scene)
        try scene.expectFinding("error", "pins", "cloud", exit: 65, saying: ["1 pinned version lacks a file: 2"], remedy: "snapsync repair")
    }

    /// A run was killed between its commit and the note of it, and a sync tool has taken the commit away for a day.
    @Test func assetsOfAVersionThatWasNotNotedStay() throws {
        let scene = try Scene.phone()
        try scene.publishMore(1)
        try scene.scratch.copy(scene.scratch.path("phone.db"), to: "before.db")
        try scene.publishMore(1)
        let third = try scene.container(3)
        let commit = "\(Scene.zone)/commits/00000000000000000003.json"
        let hash = try ProgramRun("sha256sum", [commit], in: scene.scratch.path).text.prefix(64)
        try FileManager.default.removeItem(atPath: scene.scratch.path("phone.db"))
        try FileManager.default.moveItem(atPath: scene.scratch.path("before.db"), toPath: scene.scratch.path("phone.db"))
        try scene.database("phone.db").run(
            """
            INSERT OR REPLACE INTO snapsync_state VALUES('intended', '{"sequences":{},"version":{"hash":"\(hash)","number":3}}')
            """)
        try FileManager.default.moveItem(atPath: scene.scratch.path(commit), toPath: scene.scratch.path("commit"))
        // The killed run had not come to its report either.
        try remove("\(Scene.zone)/devices/phone", scene)
        try scene.age()
        try scene.succeed("prune phone.db --keep-last 5")
        try FileManager.default.moveItem(atPath: scene.scratch.path("commit"), toPath: scene.scratch.path(commit))
        #expect(try scene.container(3) == third)
    }
}
