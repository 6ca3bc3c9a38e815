import Foundation
import TestSupport
import Testing

/// What is said without the right to write, or without room. Root may do everything, so root's tests run as nobody.
@Suite(.runsPrograms) struct PermissionTests {
    /// Runs the command as a user who owns nothing here.
    private func runUnprivileged(_ line: String, in scene: Scene) throws -> ProgramRun {
        try BuiltCommand.runAsNobody(line.split(separator: " ").map(String.init), in: scene.scratch.path)
    }

    private func chmod(_ mode: String, _ name: String, in scene: Scene) throws {
        #expect(try ProgramRun("chmod", ["-R", mode, scene.scratch.path(name)]).status == 0)
    }

    /// A synced scene where everybody may do everything until something is taken away.
    private func openScene() throws -> Scene {
        let scene = try Scene.copy(of: "what nobody may write", from: .phoneAndWatch()) { scene in
            try scene.markRead(2)
            try scene.succeed("export phone.db")
            try scene.markRead(1, from: 8)
            // Out of WAL mode, for a WAL database is written even when it is read.
            try scene.database("watch.db").run("PRAGMA journal_mode = DELETE")
        }
        try chmod("a+rwX", "", in: scene)
        return scene
    }

    @Test(.enabled(if: BuiltCommand.isForNobody, "nobody may not run the built command"))
    func databaseThatMayNotBeUsedIsNamed() throws {
        let scene = try openScene()
        for (name, line) in [("watch.db", "import watch.db"), ("phone.db", "export phone.db"), ("watch.db", "detach watch.db")] {
            try chmod("a-w", name, in: scene)
            let before = try scene.database(name).dump()
            let run = try runUnprivileged(line, in: scene)
            Scene.checkRefusal(run, exit: 77, saying: [name, "the database cannot be written", "check the owner and mode"])
            #expect(try scene.database(name).dump() == before)
        }
        #expect(try runUnprivileged("status watch.db", in: scene).status == 0)
        #expect(try runUnprivileged("check watch.db --read-data", in: scene).status == 0)
        // One that cannot be read is not called missing, and a folder that may not be written has no room for a lock.
        try scene.scratch.write(scene.scratch.read("watch.db"), to: "locked/watch.db")
        try chmod("000", "watch.db", in: scene)
        Scene.checkRefusal(try runUnprivileged("import watch.db", in: scene), exit: 77, saying: ["watch.db", "check the owner and mode"])
        try chmod("a-w", "locked", in: scene)
        Scene.checkRefusal(try runUnprivileged("import locked/watch.db", in: scene), exit: 77, saying: ["locked/watch.db", "check"])
    }

    @Test(.enabled(if: BuiltCommand.isForNobody, "nobody may not run the built command"))
    func doctorNamesWhatAPublisherMayNotWrite() throws {
        let scene = try openScene()
        try chmod("a-w", "cloud", in: scene)
        let cloud = try scene.cloudListing()
        let run = try runUnprivileged("check phone.db", in: scene)
        #expect(run.status == 77 && run.text.contains("error: permission: this user may not write in private/ZentikSyncZone"), "\(run.text)\(run.errorText)")
        // A reader imports all the same, and nobody is told of what is changed there.
        let reader = try runUnprivileged("check watch.db", in: scene)
        #expect(reader.status == 77 && reader.text.contains("warning: permission: this user may not write in private/ZentikSyncZone"), "\(reader.text)")
        #expect(reader.text.contains("the publisher is not told what is changed here") && !reader.text.contains("error: "), "\(reader.text)")
        #expect(try scene.cloudListing() == cloud)
    }

    @Test(.enabled(if: BuiltCommand.isForNobody, "nobody may not run the built command"))
    func cloudThatMayNotBeWrittenIsReadAndNotPublishedTo() throws {
        let scene = try openScene()
        try chmod("a-w", "cloud", in: scene)
        let cloud = try scene.cloudListing()
        let before = try scene.database("phone.db").dump()
        Scene.checkRefusal(try runUnprivileged("export phone.db", in: scene), exit: 77, saying: ["assets/", "ermission"])
        #expect(try scene.cloudListing() == cloud)
        #expect(try scene.database("phone.db").dump() == before)
        // A reader needs no more than reading; that it cannot report what it has is a notice.
        let run = try runUnprivileged("import watch.db", in: scene)
        #expect(run.status == 0 && run.text.hasPrefix("imported version 2\n"), "\(run.errorText)")
        #expect(run.errorText.hasPrefix("snapsync: warning: the device's report was not written"), "\(run.errorText)")
        #expect(try scene.cloudListing() == cloud)
    }

    @Test(.enabled(if: BuiltCommand.isForNobody, "nobody may not run the built command"))
    func cloudThatMayNotBeReadIsNotCalledDamaged() throws {
        let scene = try openScene()
        for name in ["cloud/cloud.json", try scene.newest("commits"), try scene.asset("notifications")] {
            try chmod("000", name, in: scene)
            let run = try runUnprivileged("import watch.db", in: scene)
            Scene.checkRefusal(run, exit: 77, saying: [URL(fileURLWithPath: name).lastPathComponent, "ermission"])
            try chmod("666", name, in: scene)
        }
    }

    /// Whether a small file system can be mounted: by root, and not in every container.
    private static let canMount: Bool = {
        guard geteuid() == 0, let scratch = try? ScratchDirectory() else { return false }
        guard (try? ProgramRun("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", scratch.path]))?.status == 0 else { return false }
        return (try? ProgramRun("umount", [scratch.path]))?.status == 0
    }()

    @Test(.enabled(if: canMount, "no small file system can be mounted"))
    func exportThatFindsNoRoomLeavesNothing() throws {
        let scene = try Scene()
        try scene.succeed("generate phone.db --notifications 100 --buckets 3")
        try FileManager.default.createDirectory(atPath: scene.scratch.path("cloud"), withIntermediateDirectories: false)
        try #require(try ProgramRun("mount", ["-t", "tmpfs", "-o", "size=200k", "tmpfs", scene.scratch.path("cloud")]).status == 0)
        defer { _ = try? ProgramRun("umount", ["--lazy", scene.scratch.path("cloud")]) }
        try scene.succeed("init phone.db cloud --built-in --name phone")
        try scene.succeed("export phone.db")

        try scene.succeed("generate phone.db --notifications 2000 --buckets 3 --seed 2")
        let (before, rows) = (try FileListing(of: scene.scratch.path("cloud"), foldersToo: false), try scene.contents("phone.db"))
        let run = try scene.run("export phone.db")
        Scene.checkRefusal(run, exit: 74, saying: ["assets/notifications_data/", "No space left on device"])
        #expect(try FileListing(of: scene.scratch.path("cloud"), foldersToo: false) == before)
        #expect(try scene.contents("phone.db") == rows)
        #expect(try ProgramRun("mount", ["-o", "remount,size=4m", scene.scratch.path("cloud")]).status == 0)
        #expect(try scene.json("export phone.db")["version"] as? Int == 2)
    }
}
