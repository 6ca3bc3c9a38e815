import Foundation
import TestSupport
import Testing

/// Versions that a publisher removes by itself: after a publish, at most once a day, by prune's own rules, and never at a sync's cost.
@Suite(.runsPrograms) struct RetentionTests {
    /// A writer that keeps the last two states, with six old versions, and a day since it last removed any.
    private func scene(_ flags: String = "--keep-last 2") throws -> Scene {
        let scene = try Scene.copy(of: "retention \(flags)") { scene in
            try scene.succeed("generate phone.db --notifications 30 --buckets 2")
            try scene.succeed("init phone.db cloud --built-in --name phone \(flags)")
            try scene.sync("phone")
            try scene.publishMore(5)
        }
        try scene.age()
        try passADay(scene)
        return scene
    }

    private func passADay(_ scene: Scene) throws {
        try scene.database("phone.db").run(
            "UPDATE snapsync_state SET value = json_quote(strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-25 hours')) WHERE key = 'lastRetention'")
    }

    @Test func publishRemovesWhatTheSettingsDoNotKeepOnceADay() throws {
        let scene = try scene()
        let kept = try #require(try scene.json("status phone.db")["retention"] as? [String: Any])
        #expect(kept["keepLast"] as? Int == 2 && kept["keepWithin"] == nil && kept["lastRun"] is String)
        #expect(
            try scene.succeed("status phone.db").contains(
                "\n  this device keeps the versions of the last 2 states of the data; it last looked for older ones at "))
        // Nothing to publish: nothing is removed, whatever could go.
        let before = try scene.cloudListing()
        try scene.sync("phone")
        #expect(try scene.cloudListing() == before)

        try scene.markRead(1, from: 50)
        let text = try scene.succeed("sync phone.db")
        #expect(text.hasPrefix("published version 7\n") && text.contains("\n  removed 5 old versions that the settings do not keep: "), "\(text)")
        #expect(try scene.versions() == [8, 7, 6])
        #expect(try scene.json("check cloud --all-versions")["problems"] as? [String] == [])
        // Not again on that day.
        try scene.publishMore(2)
        try scene.age()
        try scene.markRead(1, from: 51)
        #expect(try !scene.succeed("export phone.db").contains("removed"))
        #expect(try scene.versions() == [11, 10, 9, 8, 7, 6])
        try passADay(scene)
        try scene.markRead(1, from: 52)
        #expect(try scene.succeed("export phone.db").contains("  removed 5 old versions"))
        // A reader that was away meanwhile is none the worse.
        try scene.succeed("join watch.db cloud --name watch")
        try scene.sync("watch")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
    }

    @Test func youngAndPinnedVersionsStayAsWithPrune() throws {
        let scene = try scene("--keep-last 1")
        try scene.succeed("pin phone.db 2")
        let second = try scene.container(2)
        try scene.age()
        try scene.markRead(1, from: 50)
        try scene.sync("phone")
        // The version that is young stays, and so does the one before it that is of the same state; the pinned one can be read.
        #expect(try scene.versions().last == 8 && scene.container(2) == second)
        #expect(try scene.json("check cloud --all-versions")["problems"] as? [String] == [])
    }

    @Test func ageAndNumberAreTheSettingAndCanBeChanged() throws {
        let scene = try scene("--keep 30d --keep-last 3")
        var kept = try #require(try scene.json("status phone.db")["retention"] as? [String: Any])
        #expect(kept["keepLast"] as? Int == 3 && kept["keepWithin"] as? Int == 30 * 86_400)
        #expect(try scene.succeed("status phone.db").contains("keeps the versions of the last 30 d and of the last 3 states of the data; "))
        try scene.markRead(1, from: 50)
        #expect(try !scene.succeed("sync phone.db").contains("removed"))
        #expect(try scene.succeed("config set phone.db keep none") == "phone.db: keep is none\n")
        #expect(try scene.succeed("config set phone.db keep-last 2") == "phone.db: keep-last is 2\n")
        kept = try #require(try scene.json("status phone.db")["retention"] as? [String: Any])
        #expect(kept["keepLast"] as? Int == 2 && kept["keepWithin"] == nil)
        #expect(try scene.succeed("config set phone.db keep-last none") == "phone.db: keep-last is none\n")
        #expect(try scene.json("status phone.db")["retention"] == nil)
        try scene.succeed("join watch.db cloud --name watch")
        try scene.refuse("config set watch.db keep-last 1", exit: 78, saying: ["this device is a reader"], watching: ["watch.db"])
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/strace")))
    func failureIsAWarningAndTheVersionStaysPublished() throws {
        let scene = try scene()
        try scene.markRead(1, from: 50)
        let run = try TracedRun.injecting("error=EACCES", at: "unlinkat", ["sync", "phone.db", "--json"], in: scene.scratch.path)
        #expect(run.status == 0, "\(run.errorText)")
        let report = try #require(try JSONSerialization.jsonObject(with: run.output) as? [String: Any])
        let exported = try #require(report["exported"] as? [String: Any])
        #expect(exported["published"] as? Bool == true && exported["version"] as? Int == 7 && exported["pruned"] == nil)
        #expect(
            (exported["warnings"] as? [String])?.contains { $0.hasPrefix("old versions were not removed: ") && $0.contains("Permission denied") } == true,
            "\(exported)")
        #expect(try scene.json("status phone.db")["lastError"] == nil)
        #expect(try scene.json("check cloud --all-versions")["problems"] as? [String] == [])
    }
}
