import Foundation
import TestSupport
import Testing

/// `watch` on both sides, hands free. Polls are an hour apart, so whatever comes through came by events.
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct WatchTests {
    private static let title = "SELECT count(*) FROM notifications WHERE title = "

    @Test func changeOfTheWriterReachesTheReaderHandsFree() async throws {
        let scene = try Scene.phoneAndWatch(notifications: 60, buckets: 4)
        let writer = try await scene.watch("phone.db --poll 1h"), reader = try await scene.watch("watch.db --poll 1h")
        for round in 1...5 {
            try scene.database("phone.db").run("UPDATE notifications SET title = 'round \(round)' WHERE id IN (SELECT id FROM notifications LIMIT \(round))")
            try await Eventually.holds("round \(round) is at the reader") {
                try scene.database("watch.db").run(Self.title + "'round \(round)'") == "\(round)\n"
            }
        }
        // Programs in Python write through another SQLite, in another way.
        try Python.run(
            "import sqlite3; c = sqlite3.connect('phone.db'); c.execute(\"DELETE FROM notifications WHERE title <> 'round 5' AND rowid % 4 = 0\"); c.commit()",
            in: scene.scratch.path)
        try await Eventually.holds("the deletions are at the reader") { try scene.contents("watch.db") == scene.contents("phone.db") }
        let left = try scene.database("watch.db").run("SELECT count(*) FROM notifications").trimmingCharacters(in: .newlines)
        #expect(Int(left).map { (40..<60).contains($0) } == true)

        let (published, imported) = (try writer.end(), try reader.end(SIGINT))
        #expect(published.errorText == "" && imported.errorText == "")
        // One line a version, with the number that history has; a burst may have become one version.
        let newest = try #require(try scene.json("log phone.db")["newestVersion"] as? Int)
        #expect(published.text.contains(" published version \(newest): notifications \(left) entities\n"))
        #expect(imported.text.contains(" imported version \(newest): notifications \(left) entities\n"))
        #expect(published.text.split(separator: "\n").count == newest)
    }

    /// With the longest debounce, a change that waited for it would take a minute, and a second change would be in the same version.
    @Test(arguments: ["wal", "delete"]) func firstChangeDoesNotWaitForTheDebounce(_ mode: String) async throws {
        let scene = try Scene.phoneAndWatch()
        try scene.database("phone.db").run("PRAGMA journal_mode = \(mode)")
        let writer = try await scene.watch("phone.db --poll 1h --debounce 60s")
        let begin = ContinuousClock.now
        try scene.database("phone.db").run("UPDATE buckets SET name = 'first'")
        try await writer.prints("published version 2: buckets 4 entities")
        #expect(ContinuousClock.now - begin < .seconds(60))
        try writer.end()
    }

    @Test func databaseInRollbackModeIsWatchedToo() async throws {
        let scene = try Scene.phoneAndWatch()
        for name in ["phone.db", "watch.db"] { try scene.database(name).run("PRAGMA journal_mode = delete") }
        let writer = try await scene.watch("phone.db --poll 1h"), reader = try await scene.watch("watch.db --poll 1h")
        try scene.database("phone.db").run("UPDATE buckets SET name = 'new name'")
        try await Eventually.holds("it is at the reader") { try scene.contents("watch.db") == scene.contents("phone.db") }
        try writer.end()
        try reader.end()
        #expect(try scene.database("watch.db").run("SELECT DISTINCT name FROM buckets") == "new name\n")
    }

    @Test func cloudThatVanishesAndComesBackIsToldOnceEach() async throws {
        let scene = try Scene.phoneAndWatch()
        let writer = try await scene.watch("phone.db --poll 1h")
        try FileManager.default.moveItem(atPath: scene.scratch.path("cloud"), toPath: scene.scratch.path("elsewhere"))
        try await writer.complains("the directory cannot be opened")
        try scene.database("phone.db").run("UPDATE buckets SET name = 'while it was away'")
        try FileManager.default.moveItem(atPath: scene.scratch.path("elsewhere"), toPath: scene.scratch.path("cloud"))
        try await writer.prints("all is well again")
        try await writer.prints("published version 2: buckets 4 entities")
        let run = try writer.end()
        #expect(run.errorText.components(separatedBy: "the directory cannot be opened").count == 2, "\(run.errorText)")
        #expect(run.text.components(separatedBy: "all is well again").count == 2, "\(run.text)")
        try scene.sync("watch")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
        #expect(try scene.json("status phone.db")["lastError"] == nil)
    }

    @Test func databaseThatIsReplacedIsWatchedOn() async throws {
        let scene = try Scene.phoneAndWatch()
        let writer = try await scene.watch("phone.db --poll 1h")
        // An application that saves by renaming puts a changed copy in the database's place.
        try scene.database("phone.db").run("VACUUM INTO 'copy.db'")
        try scene.database("copy.db").run("UPDATE buckets SET name = 'in the copy'")
        for ending in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: scene.scratch.path("phone.db" + ending)) }
        #expect(rename(scene.scratch.path("copy.db"), scene.scratch.path("phone.db")) == 0)
        try await writer.prints("published version 2: buckets 4 entities")
        try scene.database("phone.db").run("UPDATE buckets SET name = 'and later'")
        try await writer.prints("published version 3: buckets 4 entities")
        #expect(try writer.end().errorText == "")
        try scene.sync("watch")
        #expect(try scene.database("watch.db").run("SELECT DISTINCT name FROM buckets") == "and later\n")
    }

    @Test func anotherRunAtWorkIsWaitedFor() async throws {
        let scene = try Scene.phone()
        let holder = try LockHolder(of: "phone.db", in: scene)
        let run = try scene.run("sync phone.db")
        #expect(run.status == 75 && run.text == "" && run.errorText.contains("another run of snapsync works on this database"))

        let writer = try await scene.watch("phone.db --poll 1h")
        try scene.database("phone.db").run("UPDATE buckets SET name = 'meanwhile'")
        try holder.release()
        try await writer.prints("published version 2: buckets 4 entities")
        // Not worth a word, unless it lasts.
        let complaints = try writer.end().errorText
        #expect(complaints == "" || complaints.contains("another run of snapsync works on this database"), "\(complaints)")
    }

    @Test func permanentErrorIsToldOnceAndTheWatchGoesOn() async throws {
        let scene = try Scene.phone()
        let writer = try await scene.watch("phone.db --poll 200ms")
        try scene.database("phone.db").run("UPDATE buckets SET name = x'00' WHERE id = (SELECT min(id) FROM buckets)")
        try await writer.complains("column name")
        let told = try writer.program.errorsSoFar()
        try scene.database("phone.db").run("UPDATE buckets SET name = 'mended' WHERE typeof(name) = 'blob'")
        try await writer.prints("published version 2: buckets 4 entities")
        #expect(try writer.end().errorText == told)
        #expect(told.split(separator: "\n").count == 2, "\(told)")
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/strace"), "strace makes the system refuse"))
    func whereEventsTellNothingThePollDoes() async throws {
        let scene = try Scene.phoneAndWatch()
        // A user who may have no more watchers, as on a machine with many programs that watch.
        let reader = try RunningProgram(
            "strace",
            [
                "-D", "-f", "-qq", "-e", "trace=inotify_init1", "-e", "inject=inotify_init1:error=EMFILE", "-o", "/dev/null", BuiltCommand.path(), "watch",
                "watch.db", "--poll", "100ms",
            ], in: scene.scratch.path)
        do {
            try await Eventually.holds("polling is told", explain: { try reader.outputSoFar() + reader.errorsSoFar() }) {
                try reader.errorsSoFar().contains("the system's limit of watchers is reached")
            }
            try scene.markRead(3)
            try scene.succeed("export phone.db")
            try await Eventually.holds("it is at the reader") { try scene.contents("watch.db") == scene.contents("phone.db") }
        } catch {
            reader.kill()
            throw error
        }
        reader.terminate()
        let run = try reader.wait()
        #expect(run.status == 0)
        #expect(run.errorText.components(separatedBy: "\n").filter { $0.contains("limit of watchers") }.count == 1, "\(run.errorText)")
    }

    @Test func linesForProgramsAreObjects() async throws {
        let scene = try Scene.phoneAndWatch()
        let writer = try await scene.watch("phone.db --poll 1h --json"), reader = try await scene.watch("watch.db --poll 1h --json")
        // On a busy machine, the first change may still be that of the run with which a watch starts.
        for version in 2...3 {
            try scene.database("phone.db").run("UPDATE buckets SET name = 'name \(version)'")
            try await reader.prints("\"version\":\(version)")
        }
        let published = try Scene.lines(writer.end().text), imported = try Scene.lines(reader.end().text)
        #expect(published.map { $0["event"] as? String } == ["started", "exported", "exported"])
        #expect(imported.map { $0["event"] as? String } == ["started", "imported", "imported"])
        #expect(published.last?["cause"] as? String == "database" && imported.last?["cause"] as? String == "cloud")
        #expect(published.last?["version"] as? Int == 3 && imported.last?["datasets"] as? [String] == ["buckets"])
    }

    @Test func databaseThatWasNotSetUpEndsTheWatchAtOnce() throws {
        let scene = try Scene()
        try scene.succeed("generate any.db --notifications 1")
        Scene.checkRefusal(try scene.run("watch any.db"), exit: 66, saying: ["any.db", "not set up for syncing", "snapsync init"])
        Scene.checkRefusal(try scene.run("watch none.db"), exit: 66, saying: ["none.db", "there is no such database"])
    }
}

/// A process that holds the lock that runs on a database keep each other out with.
final class LockHolder {
    private let program: RunningProgram
    private let stop: String

    init(of database: String, in scene: Scene) throws {
        stop = scene.scratch.path("let-go")
        program = try RunningProgram(
            "python3",
            [
                "-c",
                """
                import fcntl, os, struct, sys, time
                lock = os.open(sys.argv[1] + '.snapsync-lock', os.O_RDWR | os.O_CREAT)
                fcntl.fcntl(lock, 37, struct.pack('hhqqi', fcntl.F_WRLCK, 0, 0, 0, 0))
                print('held', flush=True)
                while not os.path.exists(sys.argv[2]): time.sleep(0.01)
                """, database, stop,
            ], in: scene.scratch.path)
        while try program.outputSoFar() != "held\n" { usleep(10_000) }
    }

    func release() throws {
        try Data().write(to: URL(fileURLWithPath: stop))
        _ = try program.wait()
    }
}
