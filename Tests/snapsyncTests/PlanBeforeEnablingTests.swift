import Foundation
import SnapshotModel
import TestSupport
import Testing

/// `sync -n` where sync is off, and of datasets that meet for the first time: what the first sync would do.
@Suite(.runsPrograms) struct PlanBeforeEnablingTests {
    @Test func planLooksWhereTheUserKeepsSyncOff() throws {
        let scene = try Scene.phone(notifications: 12, buckets: 2)
        try scene.succeed("join watch.db cloud --name watch --disabled")
        let before = try scene.database("watch.db").dump(), cloud = try scene.cloudListing()
        let plan = try scene.json("sync watch.db -n --out first.plan")
        #expect(try scene.database("watch.db").dump() == before && scene.cloudListing() == cloud)
        #expect(try PlannedCounts(plan, "notifications").local == [12, 0, 0] && PlannedCounts(plan, "buckets").local == [2, 0, 0])
        let refusals = try #require(plan["refusals"] as? [String])
        #expect(refusals == ["sync is turned off; to turn it on: snapsync config set watch.db sync on"])
        // A look is no yes.
        try scene.refuse("sync watch.db --plan first.plan", exit: 78, saying: ["sync is turned off"], watching: ["watch.db"])
        try scene.succeed("config set watch.db sync on --yes")
        #expect(try scene.succeed("sync watch.db --plan first.plan").hasPrefix("imported version 1\n"))
        #expect(try scene.json("sync watch.db -n")["refusals"] as? [String] == [])
    }

    @Test(arguments: [#"{"isEntitled":false}"#, #"{"validUntil":"2020-01-01T00:00:00Z"}"#, "{"])
    func planDoesNotLookForWhoMayNotSync(entitlement: String) throws {
        let scene = try Scene.phone()
        try scene.scratch.write(entitlement, to: "licence.json")
        try scene.succeed("join watch.db cloud --name watch --disabled --entitlement licence.json")
        try scene.refuse("sync watch.db -n", exit: 78, saying: ["watch.db: ", "hint: "])
        try scene.scratch.write(#"{"isEntitled":true}"#, to: "licence.json")
        #expect(try PlannedCounts(scene.json("sync watch.db -n"), "notifications").local == [30, 0, 0])
    }

    /// Two devices with a few profiles each, some of the same keys: the plan counts what the sync then does, on every side.
    @Test(arguments: Sample.of(UInt64(1)...4, oneIn: 2), ["single", "merge"])
    func planOfTheFirstMeetingCountsWhatTheSyncDoes(seed: UInt64, policy: String) throws {
        var random = SeededGenerator(seed: seed)
        for role in ["peer", "reader"] {
            let scene = try Scene()
            try scene.scratch.write(Self.datasets(policy), to: "profiles.json")
            for device in ["phone", "tablet"] {
                try scene.database("\(device).db").run("CREATE TABLE profiles(id TEXT PRIMARY KEY NOT NULL, name TEXT, colour TEXT, updatedAt TEXT NOT NULL)")
                for key in ["a", "b", "c", "d"].shuffled(using: &random).prefix(1 + random.below(3)) {
                    let name = ["NULL", "'Ada'", "'Bo'"][random.below(3)], colour = ["NULL", "'red'"][random.below(2)]
                    try scene.database("\(device).db").run(
                        "INSERT INTO profiles VALUES('\(key)', \(name), \(colour), '202\(1 + random.below(3))-05-01T00:00:00Z')")
                }
            }
            try scene.succeed("init phone.db cloud --peers --name phone --datasets profiles.json")
            try scene.sync("phone")
            try scene.succeed(Scene.setUp("tablet.db", as: role, "--name tablet --datasets profiles.json --disabled"))
            let rows = try Self.rows(scene), version = try Self.version(scene)
            let plan = try PlannedCounts(scene.json("sync tablet.db -n --all"), "profiles")
            try scene.succeed("config set tablet.db sync on --yes")
            try scene.sync("tablet")
            let after = try Self.rows(scene), published = try Self.version(scene)
            let place: Comment = "seed \(seed), \(policy), \(role): \(rows) and \(version) became \(after) and \(published)"
            #expect(plan.local == Self.changes(from: rows, to: after), place)
            #expect(plan.cloud == Self.changes(from: version, to: published), place)
            #expect(plan.kept == Self.changes(from: published, to: after), place)
            #expect(plan.itemCount == (plan.local + plan.cloud + plan.kept).reduce(0, +), place)
            if policy == "single" { #expect(after.count == 1, place) }
        }
    }

    private static func datasets(_ policy: String) -> String {
        """
        {"formatVersion": 1, "datasets": [{"name": "profiles", "key": "id", "timestamp": "updatedAt", "merge": "\(policy)", "columns": [
          {"name": "id", "type": "text"}, {"name": "name", "type": "text", "optional": true}, {"name": "colour", "type": "text", "optional": true},
          {"name": "updatedAt", "type": "text"}]}]}
        """
    }

    /// What the tablet has: each row's values by its key.
    private static func rows(_ scene: Scene) throws -> [String: [String]] {
        let lines = try scene.database("tablet.db").run("SELECT id, name, colour, updatedAt FROM profiles").split(separator: "\n")
        return Dictionary(
            uniqueKeysWithValues: lines.map { line in
                let values = line.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
                return (values[0], Array(values[1...]))
            })
    }

    /// The same of the newest version in the cloud.
    private static func version(_ scene: Scene) throws -> [String: [String]] {
        let text = try scene.succeed("show cloud profiles")
        let container = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let entities = try #require(container["profiles"] as? [[String: String]])
        return Dictionary(uniqueKeysWithValues: entities.map { entity in (entity["id"] ?? "", ["name", "colour", "updatedAt"].map { entity[$0] ?? "" }) })
    }

    private static func changes(from before: [String: [String]], to after: [String: [String]]) -> [Int] {
        let added = after.keys.count { before[$0] == nil }, removed = before.keys.count { after[$0] == nil }
        return [added, before.count { key, value in after[key].map { $0 != value } ?? false }, removed]
    }
}

/// The counts of one dataset in a plan's JSON: added, changed and removed on each side.
private struct PlannedCounts {
    let local: [Int]
    let cloud: [Int]
    let kept: [Int]
    let itemCount: Int

    init(_ plan: [String: Any], _ name: String) throws {
        let dataset = try #require((plan["datasets"] as? [[String: Any]])?.first { $0["name"] as? String == name })
        func counts(_ side: String) throws -> [Int] {
            let counts = try #require(dataset[side] as? [String: Int])
            return try ["added", "changed", "removed"].map { try #require(counts[$0]) }
        }
        (local, cloud, kept) = (try counts("local"), try counts("cloud"), try counts("kept"))
        itemCount = (dataset["items"] as? [Any])?.count ?? 0
    }
}
