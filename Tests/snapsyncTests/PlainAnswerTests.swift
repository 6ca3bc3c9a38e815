import Foundation
import TestSupport
import Testing

/// What a run says, and what it ends with, in cases that are easily answered with something else.
@Suite(.runsPrograms) struct PlainAnswerTests {
    /// A writer with one table, which has published version 1.
    private static func writer(_ sql: String = "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES('1', 'a'), ('2', 'b')") throws -> Scene {
        let scene = try Scene()
        try scene.database("a.db").run(sql)
        try scene.succeed("init a.db cloud --name a")
        try scene.sync("a")
        return scene
    }

    @Test(arguments: [
        "sync --bogus --json", "--json", "bogus --json", "sync --json", "prune a.db --json --keep-last x",
        "import a.db --json --accept-rollback 1 --file b",
    ])
    func mistakeOnTheCommandLineIsAnObject(line: String) throws {
        let scene = try Scene()
        let run = try scene.run(line)
        #expect(run.status == 64 && run.text.isEmpty)
        let error = try #require(try JSONSerialization.jsonObject(with: run.errors) as? [String: [String: Any]])["error"]
        #expect(error?["code"] as? String == "usage" && error?["exitCode"] as? Int == 64 && (error?["reason"] as? String)?.isEmpty == false)
        let plain = try scene.run(line.replacing("--json", with: "").isEmpty ? "bogus" : line.replacing(" --json", with: "").replacing("--json", with: "bogus"))
        #expect(plain.status == 64 && plain.errorText.hasPrefix("Error: "), "\(plain.errorText)")
    }

    @Test func nestedJSONIsUnfoldedForPeople() throws {
        let values = [
            #"{"a": [1, "x\"y", {"b": null}]}"#: #"{"a": [1, "x\"y", {"b": null}]}"#, "[]": "[]", "[1,\n2]": "[1, 2]", #"{"a":}"#: #""{\"a\":}""#,
            "[1] and more": #""[1] and more""#, "plain: \"{}\"": #""plain: \"{}\"""#, #""text""#: #""\"text\"""#, "[\u{1}]": #""[\u0001]""#,
        ]
        let scene = try Self.writer(
            "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT);" + values.keys.map { "INSERT INTO t VALUES('{\"\(abs($0.hashValue))\"}', '\($0)');" }.joined())
        let text = try scene.succeed("show a.db t --nested")
        for value in values.values { #expect(text.contains(#","v":\#(value)}"#), "\(value)\n\(text)") }
        let entities = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])["t"] as? [[String: Any]]
        #expect(entities?.count == values.count)
        #expect(try scene.succeed("show a.db t").contains(#""v":"{\"a\": [1, \"x\\\"y\", {\"b\": null}]}""#))
    }

    @Test func encryptedDatabaseIsNamed() throws {
        let scene = try Scene()
        try Data((0..<8192).map { _ in UInt8.random(in: 0...255) }).write(to: URL(fileURLWithPath: scene.scratch.path("sealed.db")))
        try scene.scratch.write("a text\n", to: "text.db")
        try scene.refuse("sync sealed.db", exit: 65, saying: ["sealed.db: the file is an encrypted database, or none at all"])
        try scene.refuse("sync text.db", exit: 65, saying: ["text.db: the file is not a SQLite database"])
    }

    @Test(arguments: ["s3:bucket", "s3:/bucket/prefix", "s3:"]) func mistypedBucketIsNoDirectory(cloud: String) throws {
        let scene = try Scene()
        try scene.database("a.db").run("CREATE TABLE t(id TEXT PRIMARY KEY)")
        try scene.refuse(
            "init a.db \(cloud)", exit: 78, saying: ["does not begin with s3://", "s3://BUCKET/PREFIX"],
            watching: ["a.db"])
        #expect(!scene.scratch.exists(cloud))
    }

    @Test(arguments: ["sync", "export"]) func fullDiskOnStandardOutputFailsNothingThatIsDone(command: String) throws {
        let scene = try Self.writer()
        for options in ["", "--json"] {
            try scene.database("a.db").run("UPDATE t SET v = v || 'x'")
            let run = try ProgramRun("bash", ["-c", "\"$0\" \(command) a.db \(options) > /dev/full", BuiltCommand.path()], in: scene.scratch.path)
            #expect(run.status == 0 && run.errorText.contains("what was to be done is done"), "\(run.errorText)")
        }
        #expect(try (scene.json("log a.db")["versions"] as? [Any])?.count == 3)
    }

    @Test func fullDiskOnStandardOutputIsAFailureOnlyIfNothingElseWasDone() throws {
        let scene = try Self.writer()
        try scene.database("a.db").run("UPDATE t SET v = v || 'x'")
        try scene.sync("a")
        for (command, status) in [
            ("pin a.db 1", 0), ("pin a.db 1 --remove", 0), ("prune a.db --keep-last 1 -n", 74), ("prune a.db --keep-last 1", 0), ("repair a.db -n", 74),
            ("repair a.db", 0), ("log a.db", 74), ("config set a.db sync off", 0), ("detach a.db", 0), ("join a.db cloud --keep-local", 0),
        ] {
            let run = try ProgramRun("bash", ["-c", "\"$0\" \(command) > /dev/full", BuiltCommand.path()], in: scene.scratch.path)
            #expect(run.status == status && run.errorText.contains("standard output: it cannot be written"), "\(command): \(run.errorText)")
        }
    }

    /// Files of another user beside the database, as sudo leaves them. Needs the right to give files away.
    @Test(.enabled(if: getuid() == 0), arguments: ["-wal", "-shm", ".snapsync-lock"]) func fileOfAnotherUserIsNamed(ending: String) throws {
        let scene = try Self.writer()
        let run = try ProgramRun(
            "python3",
            [
                "-c",
                """
                import os, shutil, sqlite3, subprocess, sys
                shutil.copy(sys.argv[1], 'snapsync')
                db = sqlite3.connect('a.db'); db.execute('PRAGMA journal_mode = WAL'); db.execute("UPDATE t SET v = 'x'"); db.commit()
                open('a.db.snapsync-lock', 'a').close()
                for folder, _, files in os.walk('.'):
                    for one in [folder] + [os.path.join(folder, f) for f in files]: os.chown(one, 12345, 12345)
                os.chown('a.db' + sys.argv[2], 0, 0); os.chmod('a.db' + sys.argv[2], 0o600)
                def other(): os.setgroups([]); os.setgid(12345); os.setuid(12345)
                done = subprocess.run(['./snapsync', 'check', 'a.db'], preexec_fn=other, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                print(done.stdout.decode()); sys.exit(done.returncode)
                """, BuiltCommand.path(), ending,
            ], in: scene.scratch.path)
        #expect(run.status == 77 && run.text.contains("a.db\(ending): this file beside the database cannot be written"), "\(run.text)\(run.errorText)")
    }

    @Test func keysOfDeletedRowsAreNotGivenAgainAfterTakeOver() throws {
        let scene = try Self.writer("CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, v TEXT); INSERT INTO t(v) VALUES('a'), ('b'), ('c')")
        try scene.database("a.db").run("DELETE FROM t WHERE id = 3")
        try scene.sync("a")
        try scene.succeed("join b.db cloud --writer --name a --take-over")
        try scene.succeed("import b.db")
        #expect(try scene.database("b.db").run("INSERT INTO t(v) VALUES('new'); SELECT id FROM t") == "1\n2\n4\n")
    }

    @Test(arguments: ["sync", "sync --quiet"]) func logStaysShortWhileSyncIsOff(line: String) throws {
        let scene = try Self.writer()
        try scene.succeed("config set a.db sync off")
        for _ in 0..<2 {
            try scene.database("a.db").run(String(repeating: "UPDATE t SET v = v || 'x';", count: 100))
            #expect(try scene.run("\(line) a.db").status == (line == "sync" ? 78 : 0))
            #expect(try scene.database("a.db").run("SELECT count(*) FROM snapsync_log WHERE dataset > 0") == "0\n")
        }
        try scene.succeed("config set a.db sync on --yes")
        #expect(try (scene.json("sync a.db")["exported"] as? [String: Any])?["version"] as? Int == 2)
    }

    @Test func readersOwnChangesAreCounted() throws {
        let scene = try Self.writer()
        try scene.succeed("join b.db cloud --name b")
        #expect(try !scene.succeed("sync b.db").contains("here: readers"))
        try scene.database("b.db").run("UPDATE t SET v = 'mine' WHERE id = '1'; INSERT INTO t VALUES('3', 'mine')")
        #expect(try scene.succeed("sync b.db").contains("  t: 2 changes stay here: readers may not edit the table\n"))
        #expect(try (scene.json("sync b.db")["kept"] as? [[String: Any]])?.first?["changes"] as? Int == 2)
        let verify = try scene.succeed("check b.db --local")
        #expect(verify.contains("sound: the local tables are the applied version, and 2 entities changed here since\nall is well\n"), "\(verify)")
        #expect(try scene.json("check b.db --local")["localChanges"] as? Int == 2)
    }

    @Test func timestampThatIsNoTimeIsTold() throws {
        let scene = try Scene.phone()
        try scene.database("phone.db").run("UPDATE notifications SET updatedAt = 'yesterday' WHERE rowid < 3")
        let said = try scene.succeed("sync phone.db")
        #expect(said.contains("  warning: notifications: 2 changed rows have a updatedAt that is no time (key "), "\(said)")
        try scene.markRead(5, from: 9)
        try scene.sync("phone")
    }

    @Test func filesThatAnotherUserLeftAreNamed() throws {
        guard geteuid() == 0 else { return }
        let scene = try Self.writer()
        try #require(try ProgramRun("chown", ["-R", "65534:65534", "."], in: scene.scratch.path).status == 0)
        // As root, with sudo.
        try scene.database("a.db").run("INSERT INTO t VALUES('3', 'c')")
        try FileManager.default.removeItem(atPath: scene.scratch.path("a.db.snapsync-lock"))
        try scene.sync("a")
        let sync = try BuiltCommand.runAsNobody(["sync", "a.db"], in: scene.scratch.path)
        Scene.checkRefusal(sync, exit: 77, saying: ["a.db.snapsync-lock", "another user's run has left it"])
        let doctor = try BuiltCommand.runAsNobody(["check", "a.db"], in: scene.scratch.path).text
        #expect(doctor.contains("error: foreignFiles: 4 files that this user cannot read: ") && doctor.contains("a.db.snapsync-lock"), "\(doctor)")
    }

    @Test func peerIsToldOfEveryTableAtOnce() throws {
        let scene = try Scene()
        try scene.database("a.db").run("CREATE TABLE bare(a); CREATE TABLE counted(id INTEGER PRIMARY KEY); CREATE TABLE fine(id TEXT PRIMARY KEY)")
        let run = try scene.run("init a.db cloud --peers")
        #expect(run.status == 78 && !scene.scratch.exists("cloud"))
        for fragment in ["bare: it has no key besides the rowid", "give one key to two rows: counted", "--exclude bare", "--shared-keys"] {
            #expect(run.errorText.contains(fragment), "\(run.errorText)")
        }
        try scene.succeed("init a.db cloud --peers --exclude bare --shared-keys")
    }

    @Test func restoredPeerTakesOneName() throws {
        let scene = try Scene.deskAndLaptop()
        try scene.scratch.copy(scene.scratch.path("laptop.db"), to: "backup.db")
        try scene.database("laptop.db").run("UPDATE notifications SET title = 'lost'")
        try scene.sync("laptop")
        try scene.database("backup.db").run("UPDATE buckets SET name = 'after the restore'")
        let said = try scene.succeed("sync backup.db")
        #expect(said.components(separatedBy: "it is the device laptop-").count == 2, "\(said)")
        try scene.sync("desk")
        #expect(try scene.contents("desk.db") == scene.contents("backup.db"))
    }
}
