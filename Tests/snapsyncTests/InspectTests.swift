import Foundation
import TestSupport
import Testing

/// Looking: `show`, `log`, `status`, `check`, through a database and at a location alone.
@Suite(.runsPrograms) struct InspectTests {
    @Test func showIsWhatZcatSays() throws {
        let scene = try Scene.phoneAndWatch(notifications: 2500, buckets: 5)
        let first = try scene.scratch.read(scene.asset("notifications"))
        try scene.markRead(5)
        try scene.succeed("export phone.db")
        for dataset in ["buckets", "notifications"] {
            let newest = try Gzip.decompress(scene.scratch.path(scene.asset(dataset)))
            for line in [
                "show phone.db \(dataset)", "show watch.db \(dataset)", "show cloud \(dataset)", "show cloud \(dataset) --at 2",
            ] {
                #expect(try scene.run(line).output == newest, "\(line)")
            }
        }
        try scene.scratch.write(first, to: "first.json.gz")
        #expect(try scene.run("show phone.db notifications --at 1").output == Gzip.decompress(scene.scratch.path("first.json.gz")))
        try scene.refuse("show cloud rooms", exit: 66, saying: ["version 2", "it has no dataset rooms", "buckets_data, notifications_data"])
        try scene.refuse("show cloud buckets --at 7", exit: 66, saying: ["no such version yet; the newest is 2"])
    }

    @Test func outputThatNobodyReadsEndsTheCommand() throws {
        let scene = try Scene.phone(notifications: 3000, buckets: 3)
        let run = try ProgramRun(
            "bash", ["-c", "\"$0\" show cloud notifications | head -c 10; echo \" ${PIPESTATUS[0]}\"", BuiltCommand.path()], in: scene.scratch.path)
        #expect(run.text == "{\"syncTime 74\n" || run.text == "{\"syncTime 141\n", "\(run.text) \(run.errorText)")
        let full = try ProgramRun("bash", ["-c", "\"$0\" show cloud notifications > /dev/full", BuiltCommand.path()], in: scene.scratch.path)
        Scene.checkRefusal(full, exit: 74, saying: ["standard output", "No space left on device"])
    }

    @Test func logListsWhatEachVersionChanged() throws {
        let scene = try Scene.phone()
        for seed in 1...3 {
            try scene.markRead(1, from: seed)
            try scene.succeed("export phone.db")
        }
        let versions = try #require(try scene.json("log phone.db")["versions"] as? [[String: Any]])
        #expect(versions.map { $0["version"] as? Int } == [4, 3, 2, 1])
        #expect(versions.map { ($0["saved"] as? [[String: Any]])?.count } == [1, 1, 1, 2])
        #expect(versions.allSatisfy { $0["device"] as? String == "phone" })
        let hash = try ProgramRun("sha256sum", [scene.scratch.path(scene.newest("commits"))]).text.prefix(64)
        #expect(versions[0]["hash"] as? String == String(hash))
        let times = versions.compactMap { $0["timestamp"] as? String }
        #expect(times == times.sorted(by: >) && Set(times).count == 4)

        let limited = try scene.succeed("log cloud --limit 2")
        #expect(limited.split(separator: "\n").filter { $0.hasPrefix("version ") }.map { $0.split(separator: " ")[1] } == ["4", "3"])
        #expect(limited == (try scene.succeed("log phone.db --limit 2")))
        // The files that it names are there, in the sizes that it says.
        for saved in versions.flatMap({ $0["saved"] as? [[String: Any]] ?? [] }) {
            #expect(try scene.scratch.read("\(Scene.zone)/\(saved["file"] as? String ?? "")").count == saved["size"] as? Int)
        }
    }

    @Test func statusSaysHowFarApart() throws {
        let scene = try Scene.phoneAndWatch()
        for seed in 1...2 {
            try scene.markRead(1, from: seed)
            try scene.succeed("export phone.db")
        }
        let text = try scene.succeed("status watch.db")
        #expect(text.contains("watch.db: reader watch of zone ZentikSyncZone in \(scene.scratch.path("cloud"))\n  version 1, newest is 3, 2 behind\n"))
        #expect(text.contains("  buckets: 4 entities of 2") && text.contains("  notifications: 30 entities of 2"))
        #expect(text.contains("device phone (writer): version ") && text.contains("device watch (reader, this one): version 1, 2 behind, as of "))
        #expect(try scene.json("status watch.db")["behind"] as? Int == 2)
        #expect(try scene.json("status phone.db")["behind"] as? Int == 0)
        #expect(try scene.run("status --location cloud").status == 64)
    }

    @Test func lookingChangesNothing() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.markRead(1)
        try scene.succeed("export phone.db")
        let (cloud, watch, phone) = (try scene.cloudListing(), try scene.database("watch.db").dump(), try scene.database("phone.db").dump())
        for database in ["watch.db", "phone.db"] {
            for line in ["status", "log", "check --all-versions --local"] { try scene.succeed("\(line) \(database)") }
            try scene.succeed("show \(database) buckets")
        }
        for line in ["check cloud", "log cloud", "show cloud buckets", "check cloud --all-versions"] { try scene.succeed(line) }
        #expect(try scene.cloudListing() == cloud)
        #expect(try scene.database("watch.db").dump() == watch)
        #expect(try scene.database("phone.db").dump() == phone)
    }

    @Test func verifyCountsWhatItChecked() throws {
        let scene = try Scene.phoneAndWatch(notifications: 2500, buckets: 5)
        try scene.markRead(1)
        try scene.succeed("export phone.db")
        let newest = try scene.json("check cloud --read-data")
        #expect(newest["versions"] as? Int == 1 && (newest["sound"] as? [[String: Any]])?.count == 2 && newest["localMatches"] == nil)
        let all = try scene.json("check watch.db --all-versions --local")
        #expect(all["versions"] as? Int == 2 && all["newestVersion"] as? Int == 2 && all["localMatches"] as? Bool == true)
        #expect((all["sound"] as? [[String: Any]])?.map { $0["recordCount"] as? Int } == [5, 2500, 2500])
        #expect(try scene.succeed("check watch.db --local").hasSuffix("sound: the local tables are the applied version\nall is well\n"))
        try scene.refuse("check cloud --local", exit: 64, saying: ["--local needs a database", "give the database"], asJSONToo: true)
    }

    /// A local row differs from the version that was applied without being tracked. SnapshotInspectorTests has each way.
    @Test func verifyLocalFindsWhatWasChangedBesides() throws {
        let sql = "DELETE FROM notifications WHERE id = (SELECT max(id) FROM notifications)"
        let scene = try Scene.phoneAndWatch()
        let touched = try Scene.phoneAndWatch()
        // The same change as any program makes it is tracked, and no damage.
        try touched.database("watch.db").run(sql)
        try touched.succeed("check watch.db --local")
        // Made behind the tracking's back, it is.
        try scene.database("watch.db").run(SQLiteShell.untracked(sql))
        let run = try scene.run("check watch.db --local")
        #expect(run.status == 65, "\(run.text) \(run.errorText)")
        #expect((run.text + run.errorText).contains("watch.db, table notifications"), "\(run.text) \(run.errorText)")
        // The next import takes the whole version, whatever the row was.
        try scene.succeed("import watch.db")
        try scene.succeed("check watch.db --local")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
    }
}
