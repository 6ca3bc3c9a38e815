import Foundation
import TestSupport
import Testing

/// Where the cloud lies and what the devices are called, changed after `init`, by the built command.
@Suite(.runsPrograms) struct HousekeepingTests {
    @Test(arguments: [false, true]) func aMovedCloudIsFoundAgain(byTakeOver: Bool) throws {
        let scene = try Scene.phoneAndWatch()
        try FileManager.default.createDirectory(atPath: scene.scratch.path("new"), withIntermediateDirectories: true)
        try FileManager.default.moveItem(atPath: scene.scratch.path("cloud"), toPath: scene.scratch.path("new/cloud"))
        #expect(try scene.run("sync watch.db").status == 69)
        if byTakeOver {
            #expect(try scene.succeed("device claim watch.db --location new/cloud").contains("new/cloud"))
        } else {
            let report = try scene.json("device move watch.db new/cloud")
            #expect(report["cloud"] as? String == scene.scratch.path("new/cloud") && report["previousCloud"] as? String == scene.scratch.path("cloud"))
        }
        try scene.succeed("device move phone.db new/cloud")
        try scene.database("phone.db").run("UPDATE buckets SET name = 'moved'")
        try scene.sync("phone")
        #expect(try scene.succeed("sync watch.db").contains("imported version 2"))
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
    }

    /// Another cloud, an older copy of this one, a directory without a cloud, and one that a tool replicates, at a peer: the stored path stays.
    @Test func aDirectoryThatIsNotTheCloudIsRefused() throws {
        let scene = try Scene.phoneAndWatch()
        try FileManager.default.copyItem(atPath: scene.scratch.path("cloud"), toPath: scene.scratch.path("older"))
        try scene.database("phone.db").run("UPDATE buckets SET name = 'newer'")
        try scene.sync("phone", "watch")
        try scene.succeed("init other.db other --built-in --name other")
        try scene.scratch.write("", to: "empty/file")
        let stored = try scene.database("watch.db").run("SELECT value FROM snapsync_settings WHERE key = 'cloud'")
        for (path, code) in [("other", 78), ("older", 65), ("empty", 69), ("none", 69)] as [(String, Int32)] {
            let run = try scene.run("device move watch.db \(path)")
            #expect(run.status == code && run.errorText.contains("hint: "), "\(path): \(run.status) \(run.errorText)")
            #expect(try scene.run("device claim watch.db --location \(path)").status == code)
        }
        #expect(try scene.database("watch.db").run("SELECT value FROM snapsync_settings WHERE key = 'cloud'") == stored)
        try scene.succeed("init desk.db team --peers --built-in --name desk")
        try scene.scratch.write("", to: "share/.dropbox")
        try FileManager.default.moveItem(atPath: scene.scratch.path("team"), toPath: scene.scratch.path("share/team"))
        let refused = try scene.run("device move desk.db share/team")
        #expect(refused.status == 78 && refused.errorText.contains("Dropbox"))
    }

    /// A reader with a mark that is not answered and an edit that is not sent takes another name; both arrive, and the old name is free.
    @Test func aReaderTakesAnotherNameAndLosesNothing() throws {
        let scene = try Scene.phoneAndWatch()
        let mark = "UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = "
        try scene.database("watch.db").run(mark + "(SELECT min(id) FROM notifications)")
        try scene.sync("watch")
        try scene.database("watch.db").run(mark + "(SELECT max(id) FROM notifications)")
        try scene.succeed("device rename watch.db kitchen")
        try scene.sync("watch", "phone", "watch")
        #expect(try scene.database("phone.db").run("SELECT count(*) FROM notifications WHERE readAt = '2026-11-20T10:00:00Z'") == "2\n")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
        let status = try scene.succeed("status phone.db --all")
        #expect(status.contains("device kitchen (reader)") && !status.contains("device watch "))
        #expect(try scene.database("watch.db").run("SELECT count(*) FROM snapsync_changes") == "0\n")
        try scene.succeed("join third.db cloud --name watch")
        try scene.sync("third")
        // Names that are taken, impossible, or of the zone's one publisher.
        for (line, code) in [
            ("device rename watch.db watch", 78), ("device rename watch.db kitchen", 78), ("device rename watch.db .x", 78),
            ("device rename phone.db other", 78),
        ] as [(String, Int32)] {
            #expect(try scene.run(line).status == code, "\(line)")
        }
    }

    @Test func aPeerThatWasRenamedPublishes() throws {
        let scene = try Scene()
        for name in ["a", "b"] {
            try scene.succeed(name == "a" ? "init a.db cloud --peers --built-in --name a" : "join b.db cloud --peer --name b")
            try scene.succeed("sync \(name).db")
        }
        try scene.database("b.db").run(
            "INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('x', 'by b', '2026-11-20T10:00:00Z', '2026-11-20T10:00:00Z')")
        try scene.succeed("device rename b.db bee")
        try scene.sync("b", "a", "b")
        #expect(try scene.contents("a.db") == scene.contents("b.db"))
        #expect(try scene.succeed("log a.db").contains("bee"))
    }

    @Test func aDeviceThatIsGoneIsForgotten() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.succeed("device forget phone.db watch")
        #expect(try !scene.succeed("status phone.db --all").contains("device watch"))
        // It was not gone after all.
        try scene.sync("phone")
        try scene.database("phone.db").run("UPDATE buckets SET name = 'newer'")
        try scene.sync("phone", "watch")
        #expect(try scene.succeed("status phone.db --all").contains("device watch (reader): version 2"))
        for (line, code) in [
            ("device forget phone.db nobody", 66), ("device forget phone.db phone", 78), ("device forget watch.db phone", 78),
        ] as [(String, Int32)] {
            let run = try scene.run(line)
            #expect(run.status == code && run.errorText.contains("hint: "), "\(line): \(run.errorText)")
        }
    }
}
