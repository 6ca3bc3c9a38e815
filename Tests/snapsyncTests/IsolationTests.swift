import Foundation
import TestSupport
import Testing

/// What other programs see of a database while an import runs, and what two runs do to each other.
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct IsolationTests {
    /// Reads the whole database again and again while the command runs; prints how often, and each state that was seen once.
    private static let watch = """
        import hashlib, sqlite3, subprocess, sys
        path, command = sys.argv[1], sys.argv[2:]
        def look():
            db = sqlite3.connect(path, timeout=60)
            db.execute('BEGIN')
            rows = [db.execute(f'SELECT * FROM {t} ORDER BY id').fetchall() for t in ('buckets', 'notifications')]
            db.execute('COMMIT'); db.close()
            return hashlib.sha256(repr(rows).encode()).hexdigest()
        old = look()
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        seen, count = [old], 0
        while run.poll() is None:
            state = look()
            count += 1
            if state != seen[-1]: seen.append(state)
        new = look()
        if new != seen[-1]: seen.append(new)
        print(run.returncode, len(seen), seen[0] == old, seen[-1] == new, old != new, count > 0)
        """

    @Test(arguments: ["wal", "delete"])
    func readersSeeTheOldDataOrTheNewAndNothingElse(journalMode: String) throws {
        let scene = try Scene.phoneAndWatch(notifications: 4000, buckets: 20)
        try scene.database("watch.db").run("PRAGMA journal_mode=\(journalMode)")
        try scene.database("phone.db").run("UPDATE notifications SET title = title || ' again'; UPDATE buckets SET name = name || ' again'")
        try scene.succeed("export phone.db")
        let seen = try Python.run(Self.watch, ["watch.db", BuiltCommand.path(), "import", "watch.db"], in: scene.scratch.path)
        #expect(seen == "0 2 True True True True\n")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
        #expect(try scene.json("status watch.db")["journalMode"] as? String == journalMode)
    }

    @Test func halfAnImportIsInvisibleAndKeepsOtherRunsOut() throws {
        let scene = try Scene.phoneAndWatch()
        let old = try scene.contents("phone.db")
        let container = try Gzip.decompress(scene.scratch.path(scene.asset("notifications")))
        let entity = String(decoding: container, as: UTF8.self).split(separator: "\n")[1].dropLast()
        let pipe = scene.scratch.path("slow.json")
        #expect(mkfifo(pipe, 0o600) == 0)

        let slow = try BuiltCommand.start(["import", "phone.db", "--file", "slow.json"], in: scene.scratch.path)
        // Opening returns when the other side has opened too: from here on that run holds its lock.
        let feed = try #require(FileHandle(forWritingAtPath: pipe))
        for line in ["import phone.db", "sync phone.db", "detach phone.db", "import phone.db --file slow.json"] {
            let run = try scene.run(line)
            Scene.checkRefusal(run, exit: 75, saying: ["phone.db", "another run of snapsync works on this database", "let it finish"])
        }
        // Looking needs no lock.
        try scene.succeed("status phone.db")
        try scene.succeed("show phone.db buckets")

        // More than a pipe and a block hold, so that rows have been deleted and inserted when the last of it is taken.
        try feed.write(contentsOf: Data(#"{"syncTimestamp":"2099-01-01T00:00:00Z","notifications":["#.utf8))
        for number in 0..<3000 {
            let text = entity.replacing(/"id":"[^"]*"/, with: #""id":"fed-\#(number)""#)
            try feed.write(contentsOf: Data(((number == 0 ? "" : ",") + text).utf8))
        }
        #expect(try scene.contents("phone.db") == old)
        try feed.write(contentsOf: Data("]}".utf8))
        try feed.close()
        let run = try slow.wait()
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try scene.database("phone.db").run("SELECT count(*) FROM notifications WHERE id LIKE 'fed-%'") == "3000\n")
    }

    @Test func importThatIsKilledChangesNothing() throws {
        let scene = try Scene.phoneAndWatch()
        let (rows, dump) = (try scene.contents("watch.db"), try scene.database("watch.db").dump())
        let pipe = scene.scratch.path("slow.json")
        #expect(mkfifo(pipe, 0o600) == 0)
        let slow = try BuiltCommand.start(["import", "watch.db", "--add", "--file", "slow.json"], in: scene.scratch.path)
        let feed = try #require(FileHandle(forWritingAtPath: pipe))
        let entity = #"{"id":"x0","name":"n","createdAt":"2026-01-01T00:00:00Z","updatedAt":"2026-01-01T00:00:00Z"}"#
        try feed.write(contentsOf: Data(#"{"syncTimestamp":"2099-01-01T00:00:00Z","buckets":["#.utf8))
        try feed.write(contentsOf: Data((0..<6000).map { entity.replacing("x0", with: "x\($0)") }.joined(separator: ",").utf8))
        slow.kill()
        #expect(try slow.wait().status == -SIGKILL)
        try? feed.close()
        #expect(try scene.contents("watch.db") == rows)
        #expect(try scene.database("watch.db").dump() == dump)
        // It left no lock behind.
        try scene.sync("watch")
        try scene.succeed("check watch.db --local")
    }

    @Test func databaseThatIsLockedByAnotherProgramAsksToTryAgain() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.markRead(2)
        try scene.succeed("export phone.db")
        let before = try scene.contents("watch.db")
        // The other program holds its transaction for as long as the command runs.
        let outcome = try Python.run(
            """
            import sqlite3, subprocess, sys
            db = sqlite3.connect('watch.db', isolation_level=None)
            db.execute('BEGIN IMMEDIATE')
            run = subprocess.run([sys.argv[1], 'import', 'watch.db'], capture_output=True, text=True)
            print(run.returncode, run.stdout, run.stderr)
            """, [BuiltCommand.path()], in: scene.scratch.path)
        #expect(outcome.hasPrefix("75  snapsync: notice: another program holds the lock of watch.db"), "\(outcome)")
        #expect(outcome.contains("watch.db: another program holds the database's lock\n  hint: try again when it is done"))
        #expect(try scene.contents("watch.db") == before)
        try scene.succeed("import watch.db")
    }
}
