import Foundation
import TestSupport
import Testing

/// A sync with nothing to do writes no byte, lists no folder but the mailbox and reads no rows, seen from outside by `strace`.
@Suite(.runsPrograms, .enabled(if: TracedRun.isPossible, "strace is not installed, or may not trace here")) struct IdleSyncTests {
    private static let writing =
        "write,pwrite64,writev,pwritev,pwritev2,sendfile,copy_file_range,fallocate,ftruncate,truncate,fsync,fdatasync,sync_file_range,msync"
    private static let naming = "mkdir,mkdirat,link,linkat,symlink,symlinkat,rename,renameat,renameat2,unlink,unlinkat,rmdir"
    private static let calls = "\(writing),\(naming),open,openat,openat2,creat,getdents,getdents64,pread64,read"

    /// Syncs until there is nothing left to do, then once more under strace.
    private func idleSync(_ database: String, _ scene: Scene) throws -> TracedRun {
        for _ in 0..<2 { try scene.succeed("sync \(database)") }
        let traced = try TracedRun(BuiltCommand.path(), ["sync", database], calls: Self.calls, in: scene.scratch.path)
        try #require(traced.run.status == 0, "\(traced.run.errorText)")
        return traced
    }

    /// What a traced run did that changes anything, or lists anything but the mailbox. In WAL mode, where no other program has the database open,
    /// SQLite makes an empty log and a table of shared memory beside it, and takes both away again; neither is data.
    private func deeds(_ run: TracedRun, wal: Bool) -> [String] {
        let changing = Set((Self.writing + "," + Self.naming).split(separator: ",").map(String.init))
        let transient = ["-shm>", "-shm\"", "-wal\""]
        return run.calls.filter { call in
            if call.name.hasPrefix("getdents") { return !["</proc", "</sys", "/messages>", "/messages/"].contains(where: call.text.contains) }
            if wal, ["ftruncate", "pwrite64", "unlink"].contains(call.name), transient.contains(where: call.text.contains) { return false }
            if changing.contains(call.name) { return !call.text.hasPrefix("(1<") && !call.text.contains("anon_inode:") }
            guard call.name.hasPrefix("open"), call.text.contains("O_CREAT") || call.text.contains("O_WRONLY") || call.text.contains("O_TMPFILE") else {
                return false
            }
            // What is there already is opened by flags that would make it.
            return !call.text.contains(".db\"") && !call.text.contains(".snapsync-lock\"") && !(wal && transient.contains(where: call.text.contains))
        }.map { $0.name + $0.text }
    }

    /// Checks an idle sync of a database, whose mode is what it is.
    private func expectIdle(_ database: String, _ scene: Scene, wal: Bool) throws {
        let mode = try scene.database(database).run("PRAGMA journal_mode")
        try #require(mode == (wal ? "wal\n" : "delete\n"))
        // The log and the table of shared memory come and go in the folder itself.
        let before = try FileListing(of: scene.scratch.path, foldersToo: !wal)
        let run = try idleSync(database, scene)
        #expect(deeds(run, wal: wal) == [])
        let content = try scene.scratch.read(database)
        let after = try FileListing(of: scene.scratch.path, foldersToo: !wal)
        let last = try TracedRun(BuiltCommand.path(), ["sync", database], calls: Self.calls, in: scene.scratch.path)
        #expect(last.run.status == 0)
        #expect(try scene.scratch.read(database) == content)
        let end = try FileListing(of: scene.scratch.path, foldersToo: !wal)
        let lock = "\(database).snapsync-lock"
        #expect(end.entries.filter { $0.key != lock } == after.entries.filter { $0.key != lock })
        #expect(before.entries.keys.sorted() == end.entries.keys.sorted())
        #expect(end.entries[lock]?.contains("size 0 ") == true)
    }

    @Test func syncWithNewsIsSeenToWrite() throws {
        let scene = try Scene.phoneAndWatch()
        _ = try idleSync("phone.db", scene)
        try scene.database("phone.db").run("UPDATE buckets SET color = '#101010' WHERE id = (SELECT min(id) FROM buckets)")
        let run = try TracedRun(BuiltCommand.path(), ["sync", "phone.db"], calls: Self.calls, in: scene.scratch.path)
        let deeds = deeds(run, wal: false)
        for sign in ["pwrite64(", "fsync(", "phone.db-journal", "linkat(", "O_TMPFILE"] {
            #expect(deeds.contains { $0.contains(sign) }, "no \(sign) in \(deeds)")
        }
    }

    @Test func writerWithNothingNewWritesNothing() throws {
        let scene = try Scene.phoneAndWatch()
        try expectIdle("phone.db", scene, wal: false)
        try scene.database("phone.db").run("PRAGMA journal_mode = WAL")
        try expectIdle("phone.db", scene, wal: true)
    }

    @Test func readerWithNothingNewWritesNothing() throws {
        let scene = try Scene.phoneAndWatch()
        try expectIdle("watch.db", scene, wal: true)
        // Also one that has told something and was answered.
        try scene.database("watch.db").run("UPDATE notifications SET readAt = '2026-05-01T00:00:00Z' WHERE id = (SELECT min(id) FROM notifications)")
        try scene.sync("watch", "phone", "watch")
        try scene.database("watch.db").run("PRAGMA journal_mode = DELETE")
        try expectIdle("watch.db", scene, wal: false)
    }

    @Test func peerWithNothingNewWritesNothing() throws {
        let scene = try Scene()
        try scene.peersWithCopies()
        try expectIdle("desk.db", scene, wal: false)
        try expectIdle("laptop.db", scene, wal: true)
    }

    @Test func idleSyncReadsAsMuchOfALargeDatabase() throws {
        func bytesRead(_ notifications: Int) throws -> Int {
            let scene = try Scene.phoneAndWatch(notifications: notifications)
            return try ["phone.db", "watch.db"].reduce(0) { sum, database in
                try sum
                    + idleSync(database, scene).calls.filter { $0.name == "pread64" && $0.text.contains("/\(database)>") }.reduce(0) { $0 + ($1.result ?? 0) }
            }
        }
        let small = try bytesRead(30), large = try bytesRead(6000)
        #expect(small > 0)
        // A tree may be a level higher.
        #expect(large <= small + 8 * 4096, "\(small) bytes at 30 rows, \(large) at 6,000")
    }

    @Test func messageIsSeenAfterManyIdleSyncs() throws {
        let scene = try Scene.phoneAndWatch()
        _ = try idleSync("phone.db", scene)
        try scene.database("watch.db").run("UPDATE notifications SET readAt = '2026-05-01T00:00:00Z' WHERE id = (SELECT min(id) FROM notifications)")
        try scene.sync("watch")
        #expect(try scene.succeed("sync phone.db").contains("published version 2"))
        #expect(try scene.database("phone.db").run("SELECT count(*) FROM notifications WHERE readAt = '2026-05-01T00:00:00Z'") == "1\n")
    }

    @Test func statusTellsOfAnIdleSuccess() throws {
        let scene = try Scene.phoneAndWatch()
        for database in ["phone.db", "watch.db"] {
            let key = database == "phone.db" ? "lastExport" : "lastImport"
            // The last success in the database is two hours old, and the schedule wants one every 15 minutes.
            try scene.succeed("config set \(database) interval 15m")
            try scene.database(database).run(
                """
                UPDATE snapsync_state SET value = json_quote('2026-01-01T00:00:00Z') WHERE key = 'lastSuccess';
                UPDATE snapsync_state SET value = json_set(value, '$.at', '2026-01-01T00:00:00Z') WHERE key = '\(key)';
                """)
            #expect(try scene.run("status \(database) --strict").status == 75)
            try scene.succeed("sync \(database)")
            #expect(try scene.database(database).run("SELECT value FROM snapsync_state WHERE key = 'lastSuccess'") == "\"2026-01-01T00:00:00Z\"\n")
            try scene.succeed("status \(database) --strict")
            let status = try scene.json("status \(database)")
            #expect((status["lastSuccessAge"] as? Int).map { $0 < 60 } == true)
            #expect((status[key] as? [String: Any])?["at"] as? String == status["lastSuccess"] as? String)
        }
    }
}
