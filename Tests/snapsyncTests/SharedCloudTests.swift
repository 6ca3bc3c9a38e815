import Foundation
import TestSupport
import Testing

/// Which rights files have, and how a directory is shared between users.
@Suite(.runsPrograms) struct SharedCloudTests {
    private func mode(_ name: String, in scene: Scene) throws -> String {
        let run = try ProgramRun("stat", ["-c", "%a", scene.scratch.path(name)])
        try #require(run.status == 0, "\(run.errorText)")
        return run.text.trimmingCharacters(in: .newlines)
    }

    private func modes(in scene: Scene, _ type: String) throws -> Set<String> {
        let run = try ProgramRun("find", [scene.scratch.path("cloud"), "-type", type, "-printf", "%m\n"])
        try #require(run.status == 0, "\(run.errorText)")
        return Set(run.text.split(separator: "\n").map(String.init))
    }

    @Test func whatIsMadeIsItsOwnersAlone() throws {
        let scene = try Scene.phoneAndWatch(notifications: 3, buckets: 1)
        #expect(try modes(in: scene, "f") == ["600"] && modes(in: scene, "d") == ["700"])
        for name in ["phone.db", "watch.db", "phone.db.snapsync-lock"] { #expect(try mode(name, in: scene) == "600", "\(name)") }
        // What SQLite keeps beside a database has its mode, even while a program has it open.
        try Python.run(
            "import os, sqlite3, sys\ndb = sqlite3.connect('watch.db')\ndb.execute('BEGIN IMMEDIATE'); db.execute('UPDATE buckets SET name = 1')\nassert [os.stat('watch.db' + e).st_mode & 0o777 for e in ('-wal', '-shm')] == [0o600] * 2",
            in: scene.scratch.path)
        // A kept copy, too.
        try scene.succeed("pin phone.db 1")
        try scene.markRead(1)
        try scene.sync("phone", "watch")
        try scene.succeed("restore phone.db 1")
        let beside = try FileManager.default.contentsOfDirectory(atPath: scene.scratch.path).filter { $0.contains(".snapsync-") }
        for name in beside { #expect(["600", "700"].contains(try mode(name, in: scene)), "\(name)") }
        // A database that was there keeps the mode that its owner gave it.
        #expect(try ProgramRun("chmod", ["640", scene.scratch.path("phone.db")]).status == 0)
        try scene.sync("phone")
        #expect(try mode("phone.db", in: scene) == "640")
    }

    @Test(arguments: [("2770", "640"), ("2775", "644")]) func groupOrEverybodyMayReadWhereTheFoldersModeSaysSo(folders: String, files: String) throws {
        let scene = try Scene()
        try scene.succeed("generate phone.db --notifications 3 --buckets 1")
        #expect(try ProgramRun("sh", ["-c", "mkdir cloud && chmod \(folders) cloud"], in: scene.scratch.path).status == 0)
        try scene.succeed("init phone.db cloud --built-in --name phone")
        try scene.succeed("export phone.db")
        #expect(try modes(in: scene, "f") == [files] && modes(in: scene, "d") == [folders])
    }

    /// Another user, of the directory's group, reads what the writer shares and sends it a message.
    @Test(.enabled(if: geteuid() == 0 && BuiltCommand.isForNobody, "nobody may not run the built command"))
    func anotherUserOfTheGroupReadsAndAnswers() throws {
        let scene = try Scene()
        #expect(try ProgramRun("chmod", ["755", scene.scratch.path]).status == 0)
        try scene.succeed("generate phone.db --notifications 3 --buckets 1")
        #expect(
            try ProgramRun("sh", ["-c", "mkdir cloud theirs && chgrp 65534 cloud && chmod 2770 cloud && chown 65534 theirs"], in: scene.scratch.path).status
                == 0)
        try scene.succeed("init phone.db cloud --built-in --name phone")
        try scene.succeed("export phone.db")
        func asOther(_ line: String) throws -> ProgramRun { try BuiltCommand.runAsNobody(line.split(separator: " ").map(String.init), in: scene.scratch.path) }
        for line in ["join theirs/watch.db cloud --name watch", "sync theirs/watch.db"] {
            let run = try asOther(line)
            #expect(run.status == 0 && run.errorText == "", "\(line): \(run.errorText)")
        }
        try scene.database("theirs/watch.db").run("UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = (SELECT max(id) FROM notifications)")
        let sent = try asOther("sync theirs/watch.db")
        #expect(sent.status == 0 && sent.text.contains("sent 1 edit"), "\(sent.text)\(sent.errorText)")
        #expect(try scene.succeed("sync phone.db").contains("edits of readers: 1 applied"))
        #expect(try asOther("sync theirs/watch.db").text.contains("imported version 2"))
    }
}
