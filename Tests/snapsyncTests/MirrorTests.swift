import Foundation
import TestSupport
import Testing

/// `snapsync copy`: a second place for a cloud, by the built command, judged by the files themselves.
@Suite(.runsPrograms) struct MirrorTests {
    /// The files of a cloud but for the devices' own: reports, messages and the queue.
    private func files(_ folder: String, in scene: Scene) throws -> [String: Data] {
        let root = scene.scratch.path(folder)
        let paths = try FileManager.default.subpathsOfDirectory(atPath: root).filter { path in
            var isFolder: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: "\(root)/\(path)", isDirectory: &isFolder)
            return !isFolder.boolValue && !["devices", "messages"].contains { path.contains("/\($0)/") }
        }
        return try Dictionary(uniqueKeysWithValues: paths.map { ($0, try Data(contentsOf: URL(fileURLWithPath: "\(root)/\($0)"))) })
    }

    @Test func copyHasTheSameFilesAndFollows() throws {
        let scene = try Scene.phoneAndWatch(notifications: 300)
        let first = try scene.json("copy cloud copy")
        #expect(first["isNew"] as? Bool == true)
        #expect(try files("copy", in: scene) == files("cloud", in: scene))
        #expect(try scene.succeed("copy cloud copy").contains("nothing was missing"))
        try scene.publishMore(3)
        let second = try #require((try scene.json("copy cloud copy")["zones"] as? [[String: Any]])?.first)
        #expect(second["versions"] as? Int == 3 && second["newestVersion"] as? Int == 4)
        #expect(try files("copy", in: scene) == files("cloud", in: scene))
        #expect(try scene.succeed("check copy --all-versions").contains("all is well"))
        // A reader of the copy has what a reader of the location has.
        for line in ["join desk.db copy --name desk", "sync desk.db", "sync watch.db"] { try scene.succeed(line) }
        #expect(try scene.contents("desk.db") == scene.contents("watch.db"))
    }

    @Test func moveKeepsPinsAndPrunedHistories() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.succeed("pin phone.db 1 --name first")
        try scene.publishMore(40)
        try scene.succeed("sync watch.db")
        try scene.succeed("prune phone.db --keep-last 2")
        let pinned = try scene.succeed("show phone.db buckets --at 1")
        try scene.succeed("copy cloud new")
        try FileManager.default.moveItem(atPath: scene.scratch.path("cloud"), toPath: scene.scratch.path("old"))
        for name in ["phone", "watch"] { try scene.succeed("device move \(name).db new") }
        #expect(try scene.succeed("show phone.db buckets --at 1") == pinned)
        try scene.publishMore(2)
        try scene.succeed("sync watch.db")
        #expect(try scene.contents("phone.db") == scene.contents("watch.db"))
        #expect(try scene.succeed("check new --all-versions").contains("all is well"))
        // What was published in the copy is not mixed with the old place, and can be brought back to it.
        try scene.refuse("copy old new", exit: 78, saying: ["it has version", "ends at version"])
        try scene.succeed("copy new old")
        #expect(try files("old", in: scene).keys.contains { $0.hasSuffix("commits/00000000000000000044.json") })
    }

    /// The versions of a zone that was signed since are removed, and a copy has some of them: it keeps these, and gets the next zone.
    @Test func aZoneThatGoesOnElsewhereKeepsWhatTheCopyHas() throws {
        let scene = try SignedScene()
        try scene.succeed("generate phone.db --notifications 20 --buckets 3")
        for line in ["init phone.db cloud --built-in --name phone", "sync phone.db", "copy cloud copy"] { try scene.succeed(line) }
        for line in ["generate phone.db --mark-read 3", "sync phone.db", "zone sign phone.db --prune-old"] { try scene.succeed(line) }
        for _ in 0..<2 {
            let report = try scene.json("copy cloud copy")
            let zones = try #require(report["zones"] as? [[String: Any]])
            #expect(zones.map { $0["zone"] as? String } == ["private/ZentikSyncZone", "private/ZentikSyncZone-signed"])
            #expect(zones[0]["successor"] as? String == "ZentikSyncZone-signed" && zones[0]["newestVersion"] as? Int == 1)
            #expect(zones[1]["successor"] == nil && zones[1]["newestVersion"] as? Int == 1)
        }
        #expect(try scene.succeed("copy cloud copy").contains("the copy keeps those that it has, newest version 1"))
        #expect(try scene.succeed("show copy buckets --at 1 --zone ZentikSyncZone").contains("buckets"))
        try scene.succeed("copy cloud fresh")
        let words = try #require(try scene.json("zone members phone.db")["creator"] as? String)
        for place in ["copy", "fresh"] {
            try scene.succeed("join \(place).db \(place) --name \(place) --zone ZentikSyncZone-signed --trust \(words)")
            try scene.succeed("sync \(place).db")
            try #expect(scene.scene.contents("\(place).db") == scene.scene.contents("phone.db"))
        }
    }

    @Test func interruptedCopyIsAnEarlierVersionAndGoesOn() throws {
        let scene = try Scene.phone(notifications: 200)
        try scene.publishMore(3)
        let whole = try files("cloud", in: scene)
        var ends: Set<Int> = []
        // Each file gets its name by a link: the copy is killed at every third of them.
        for number in stride(from: 1, through: 2 * whole.count, by: 3) {
            let killed = try TracedRun.injecting("signal=KILL:when=\(number)", at: "linkat", ["copy", "cloud", "copy"], in: scene.scratch.path)
            let copied = FileManager.default.fileExists(atPath: scene.scratch.path("copy")) ? try files("copy", in: scene) : [:]
            for (path, bytes) in copied where !path.contains(".snapsync-") { #expect(whole[path] == bytes, "\(path)") }
            // Commits come last and in their order; each has its assets.
            let commits = copied.keys.filter { $0.contains("/commits/") && $0.hasSuffix(".json") }.sorted()
            #expect(commits == whole.keys.filter { $0.contains("/commits/") }.sorted().prefix(commits.count).map(\.self))
            if !commits.isEmpty, ends.insert(commits.count).inserted { #expect(try scene.succeed("check copy --all-versions").contains("all is well")) }
            if killed.status == 0 { break }
            try scene.succeed("copy cloud copy")
            #expect(try files("copy", in: scene).filter { !$0.key.contains(".snapsync-") } == whole)
            try FileManager.default.removeItem(atPath: scene.scratch.path("copy"))
        }
        #expect(ends.contains { $0 < 4 }, "the kills met no copy with some of the versions")
    }

    @Test func whatIsDamagedIsNotCopied() throws {
        let scene = try Scene.phone(notifications: 300)
        let asset = scene.scratch.path(try scene.asset("notifications"))
        var bytes = try Data(contentsOf: URL(fileURLWithPath: asset))
        bytes[bytes.count / 2] ^= 4
        try bytes.write(to: URL(fileURLWithPath: asset))
        try scene.refuse("copy cloud copy", exit: 65, saying: ["do not match the commit's hash", "snapsync repair"])
        #expect(try files("copy", in: scene).keys.allSatisfy { !$0.contains("/commits/") && !$0.contains("notifications_data") })
    }

    @Test func otherPlacesAreRefused() throws {
        let scene = try Scene.phone()
        try scene.succeed("init other.db elsewhere --built-in --name other")
        try scene.refuse("copy cloud elsewhere", exit: 78, saying: ["not a copy of"])
        for inner in ["cloud", "cloud/inner"] { try scene.refuse("copy cloud \(inner)", exit: 78, saying: ["not copied into itself"]) }
        try scene.refuse("copy missing copy", exit: 69, saying: ["missing"])
        try FileManager.default.createDirectory(atPath: scene.scratch.path("full"), withIntermediateDirectories: false)
        try scene.scratch.write("mine", to: "full/letter.txt")
        try scene.refuse("copy cloud full", exit: 66, saying: ["holds other files"], asJSONToo: true)
        #expect(!FileManager.default.fileExists(atPath: scene.scratch.path("copy")))
    }
}
