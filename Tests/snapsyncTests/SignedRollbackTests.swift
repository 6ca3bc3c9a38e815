import Foundation
import TestSupport
import Testing

/// The history of a signed zone is replaced by another one, in which the list of members is another one, too.
@Suite(.runsPrograms, .enabled(if: SignedScene.isAvailable)) struct SignedRollbackTests {
    private static let conflict = "sync-conflict-20260301-081500-7KQ2M4A"

    /// The peers desk, laptop and tablet and two readers, all members; the folders `one` and `two` are the same.
    private func peers(_ kind: String) throws -> SignedScene {
        let scene = try SignedScene()
        try scene.succeed("generate desk.db --notifications 12 --buckets 2")
        try scene.succeed("init desk.db one --peers --built-in --name desk --\(kind == "sealed" ? "encrypt" : "sign")")
        try scene.succeed("sync desk.db")
        for (name, role) in [("laptop", "peer"), ("tablet", "peer"), ("watch", "reader"), ("tv", "reader")] {
            let line = Scene.join("\(name).db", at: "one", as: role, "--name \(name)")
            let asked = try scene.run(line)
            #expect(asked.status == (kind == "sealed" ? 75 : 0), "\(asked.errorText)")
            try scene.succeed("zone approve desk.db \(name) --yes")
            if kind == "sealed" { try scene.succeed(line) }
            try scene.succeed("sync \(name).db")
        }
        for name in ["desk", "laptop", "tablet"] { try scene.succeed("sync \(name).db") }
        try scene.scene.scratch.copy(scene.scene.scratch.path("one"), to: "two")
        return scene
    }

    private func members(_ scene: SignedScene, _ line: String) throws -> [String] {
        let report = try scene.json("zone members \(line)")
        return try #require(report["members"] as? [[String: Any]]).compactMap { $0["device"] as? String }.sorted()
    }

    /// A person who accepts the other history gets its members, and is told who is one again.
    @Test(arguments: ["signed", "sealed"]) func membersOfTheAcceptedVersionCount(kind: String) throws {
        let scene = try peers(kind)
        for (name, cloud, removed, row) in [("desk", "one", "watch", "min"), ("laptop", "two", "tv", "max")] {
            try scene.succeed("zone revoke \(name).db \(removed) --location \(cloud)")
            try scene.scene.database("\(name).db").run(
                "UPDATE notifications SET title = 'CANARY by \(name)' WHERE id = (SELECT \(row)(id) FROM notifications)")
            try scene.succeed("sync \(name).db --location \(cloud)")
        }
        let number = try #require(scene.json("status desk.db --location one")["newestVersion"] as? Int)
        try scene.scene.replicate("one", "two", conflict: Self.conflict)
        try scene.refuse(
            "sync laptop.db --location two", exit: 65, saying: ["the commit there is not the one that this device has read"], watching: ["laptop.db"])
        try scene.refuse(
            "import laptop.db --accept-rollback \(number + 1) --location two", exit: 64, saying: ["nothing was changed"], watching: ["laptop.db"])
        let report = try scene.succeed("import laptop.db --accept-rollback \(number) --location two")
        #expect(report.contains("tv is a member with the role reader again") && !report.contains("watch is"), "\(report)")
        try scene.succeed("zone revoke laptop.db tv --location two")
        try scene.succeed("sync laptop.db --location two")
        try scene.scene.replicate("one", "two", conflict: Self.conflict)
        for (name, cloud) in [("desk", "one"), ("tablet", "two"), ("laptop", "two")] {
            try scene.succeed("sync \(name).db --location \(cloud)")
            #expect(try members(scene, "\(name).db --location \(cloud)") == ["desk", "laptop", "tablet"], "\(name)")
        }
        for name in ["laptop", "tablet"] { try #expect(scene.scene.contents("\(name).db") == scene.scene.contents("desk.db"), "\(name)") }
        try scene.succeed("undo laptop.db --location two")
        #expect(try scene.scene.contents("laptop.db").contains("CANARY by laptop"))
        if kind == "sealed" { try scene.expectNowhere(["CANARY"], in: ["one", "two"]) }
        #expect(try scene.verifyIndependently(scene.words("desk"), zone: "one/private/ZentikSyncZone").status == 0)
    }

    /// A member that a device has seen removed puts a version in the place of the one that removed it.
    @Test func aRemovedMemberDoesNotComeBackByItself() throws {
        let scene = try peers("signed")
        try scene.succeed("zone revoke desk.db laptop --location one")
        try scene.succeed("sync tablet.db --location one")
        // In the laptop's own copy of the folder nobody has removed it.
        try scene.scene.database("laptop.db").run("UPDATE buckets SET name = 'CANARY'")
        for _ in 0..<2 {
            try scene.scene.database("laptop.db").run("UPDATE buckets SET description = description || '.'")
            try scene.succeed("sync laptop.db --location two")
        }
        // A device that has not seen the removal believes it.
        try scene.succeed("sync watch.db --location two")
        #expect(try scene.scene.contents("watch.db").contains("CANARY"))
        try scene.scene.replicate("two", "one", conflict: Self.conflict)
        for name in ["tablet", "desk"] {
            try scene.refuse("sync \(name).db --location one", exit: 65, saying: ["is not the one that this device has read"], watching: ["\(name).db"])
        }
    }

    /// Whoever has the store shows each device a history of its own; their reports meet.
    @Test func differentHistoriesAreToldWhenReportsMeet() throws {
        let scene = try peers("signed")
        for (name, cloud) in [("desk", "one"), ("laptop", "two")] {
            try scene.scene.database("\(name).db").run("UPDATE buckets SET name = 'by \(name)'")
            try scene.succeed("sync \(name).db --location \(cloud)")
        }
        #expect(try !scene.succeed("check desk.db --location one").contains("has another version"))
        let devices = "private/ZentikSyncZone/devices/laptop"
        try FileManager.default.removeItem(atPath: scene.scene.scratch.path("one/\(devices)"))
        try scene.scene.scratch.copy(scene.scene.scratch.path("two/\(devices)"), to: "one/\(devices)")
        let doctor = try scene.run("check desk.db --location one")
        #expect(doctor.text.contains("laptop has another version 6 than the one that is here"), "\(doctor.text)")
        // Versions that are kept back show, too.
        try scene.scene.database("laptop.db").run("UPDATE buckets SET name = 'by laptop again'")
        try scene.succeed("sync laptop.db --location two")
        try FileManager.default.removeItem(atPath: scene.scene.scratch.path("one/\(devices)"))
        try scene.scene.scratch.copy(scene.scene.scratch.path("two/\(devices)"), to: "one/\(devices)")
        let behind = try scene.run("check desk.db -v --location one")
        #expect(behind.text.contains("laptop has version 7, and the zone here ends with version 6"), "\(behind.text)")
    }
}
