import Foundation
import TestSupport
import Testing

/// An asset that comes close to its limit is told, one beyond it is not published.
@Suite(.runsPrograms) struct AssetLimitTests {
    @Test func assetBeyondTheLimitIsNotPublished() throws {
        let scene = try Scene()
        try scene.succeed("generate phone.db --notifications 300 --buckets 4")
        try scene.succeed("init phone.db cloud --built-in --name phone --asset-limit 20kB")
        for line in ["export phone.db", "sync phone.db"] {
            let run = try scene.run(line)
            Scene.checkRefusal(
                run, exit: 78,
                saying: [
                    "refused: dataset notifications: its asset would be larger than the limit of 20000 bytes; nothing was published",
                    "delete what is no longer needed", "asset-limit",
                ])
        }
        #expect(try scene.json("status phone.db")["newestVersion"] == nil)
        #expect((try scene.json("status phone.db")["lastError"] as? [String: Any])?["place"] as? String == "dataset notifications")
        // Neither the asset nor that of the dataset before it is left behind.
        let left = try FileManager.default.subpathsOfDirectory(atPath: scene.scratch.path(Scene.zone)).filter {
            $0.contains(".gz") || $0.contains(".index") || $0.contains("tmp")
        }
        #expect(left == [])

        #expect(try scene.succeed("config set phone.db asset-limit 1MB") == "phone.db: asset-limit is 1000000\n")
        #expect(try scene.json("export phone.db")["version"] as? Int == 1)
        #expect(try scene.json("status phone.db")["assetLimit"] as? Int == 1_000_000)
    }

    @Test func assetThatGrowsBeyondTheLimitLeavesTheLastVersion() throws {
        let scene = try Scene.phoneAndWatch(notifications: 100, buckets: 4)
        let size = try scene.scratch.read(scene.asset("notifications")).count
        try scene.succeed("generate phone.db --notifications 100 --buckets 1 --seed 5")
        try scene.succeed("config set phone.db asset-limit \(size + 1000)")
        let run = try scene.run("export phone.db")
        #expect(run.status == 78, "\(run.errorText)")
        #expect(try scene.json("log phone.db")["newestVersion"] as? Int == 1)
        try scene.succeed("check watch.db --all-versions")
        // With room again, nothing is lost.
        try scene.succeed("config set phone.db asset-limit 250MB")
        try scene.succeed("export phone.db")
        try scene.sync("watch")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
    }

    @Test func warningComesAt80Percent() throws {
        let scene = try Scene.phone(notifications: 200, buckets: 4)
        let size = try scene.scratch.read(scene.asset("notifications")).count
        func warnings(limit: Int) throws -> [String] {
            try scene.succeed("config set phone.db asset-limit \(limit)")
            return try #require(try scene.json("export phone.db --full")["warnings"] as? [String])
        }
        #expect(try warnings(limit: size * 2) == [])
        let told = try warnings(limit: size * 10 / 9)
        #expect(told.count == 1 && told.first?.hasPrefix("the asset of notifications has ") == true, "\(told)")
        #expect(told.first?.contains(" % of the limit of \(size * 10 / 9); beyond that nothing is published: delete what is no longer needed") == true)
    }
}
