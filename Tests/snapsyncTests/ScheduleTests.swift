import Foundation
import TestSupport
import Testing

/// What `service` prints does what it says when cron and systemd read it.
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct ScheduleTests {
    /// A folder and a database whose names are hard to quote.
    private static let awkward = "100% o'clock $HOME \"x\" \\n", database = "\(awkward)/it's 5%.db"

    private func awkwardScene() throws -> Scene {
        let scene = try Scene.phone(notifications: 5, buckets: 2)
        try FileManager.default.createDirectory(atPath: scene.scratch.path(Self.awkward), withIntermediateDirectories: false)
        try scene.database("phone.db").run("PRAGMA wal_checkpoint(TRUNCATE)")
        try FileManager.default.moveItem(atPath: scene.scratch.path("phone.db"), toPath: scene.scratch.path(Self.database))
        return scene
    }

    private func schedule(_ scene: Scene, _ kind: String, _ arguments: String) throws -> ProgramRun {
        try BuiltCommand.run(["service", kind, Self.database] + arguments.split(separator: " ").map(String.init), in: scene.scratch.path)
    }

    /// What cron makes of a line: five fields, then a command in which a plain percent sign is a line feed.
    private func command(ofLine line: String) throws -> String {
        try Python.run(
            """
            import re, sys
            line = sys.stdin.read().rstrip('\\n')
            assert '\\n' not in line
            command = line.split(None, 5)[5]
            command = re.sub(r'(?<!\\\\)%', '\\n', command).replace('\\\\%', '%')
            sys.stdout.write(command)
            """, input: Data(line.utf8))
    }

    @Test func crontabLineSyncsAsCronRunsIt() throws {
        let scene = try awkwardScene()
        let printed = try schedule(scene, "cron", "--every 15m")
        #expect(printed.status == 0 && printed.errorText == "")
        try SQLiteShell(scene.scratch.path(Self.database), in: scene.scratch.path).run("UPDATE buckets SET name = 'by cron'")
        let command = try command(ofLine: printed.text)
        for _ in 0..<2 {
            let run = try ProgramRun("env", ["-i", "-C", "/", "HOME=/", "LOGNAME=nobody", "SHELL=/bin/sh", "PATH=/usr/bin:/bin", "/bin/sh", "-c", command])
            #expect(run.status == 0 && run.text == "" && run.errorText == "", "\(command)\n\(run.text)\(run.errorText)")
        }
        #expect(try scene.json("log cloud")["newestVersion"] as? Int == 2)
        // The same line every time: a device keeps its moment.
        #expect(try schedule(scene, "cron", "--every 15m").text == printed.text)

        // Where something is wrong, cron has a mail to send.
        try FileManager.default.moveItem(atPath: scene.scratch.path("cloud"), toPath: scene.scratch.path("away"))
        let run = try ProgramRun("env", ["-i", "PATH=/usr/bin:/bin", "/bin/sh", "-c", command])
        #expect(run.status == 69 && run.text == "" && run.errorText.contains("the directory cannot be opened"))
    }

    @Test func lineBeginsWithATimeThatCronTakes() throws {
        let scene = try Scene.phone(notifications: 1, buckets: 1)
        for (interval, pattern) in [
            ("1m", #"^\* \* \* \* \* (sleep [1-9][0-9]?; )?/"#), ("15m", #"^(\*|[0-9]{1,2}-59)/15 \* \* \* \* /"#), ("1h", #"^[0-9]{1,2} \* \* \* \* /"#),
            ("6h", #"^[0-9]{1,2} (\*|[1-5]-23)/6 \* \* \* /"#), ("1d", #"^[0-9]{1,2} [0-9]{1,2} \* \* \* /"#),
        ] {
            let line = try scene.succeed("service cron phone.db --every \(interval)")
            #expect(line.range(of: pattern, options: .regularExpression) != nil, "\(line)")
        }
    }

    @Test func weeklyCheckRunsAsCronAndSystemdRunIt() throws {
        let scene = try awkwardScene()
        let lines = try schedule(scene, "cron", "--every 15m --check-restore --on-failure ./told").text.split(separator: "\n").map(String.init)
        #expect(lines.count == 2 && lines[0].contains(" sync -q "))
        #expect(lines[1].range(of: #"^[0-9]{1,2} [0-9]{1,2} \* \* [0-6] /"#, options: .regularExpression) != nil, "\(lines[1])")
        let command = try command(ofLine: lines[1])
        let run = try ProgramRun("env", ["-i", "-C", "/", "HOME=/", "PATH=/usr/bin:/bin", "/bin/sh", "-c", command])
        #expect(run.status == 0 && run.text == "" && run.errorText == "", "\(command)\n\(run.text)\(run.errorText)")
        let status = try BuiltCommand.run(["status", Self.database], in: scene.scratch.path)
        #expect(status.text.contains("last trial restore: version 1 at "), "\(status.text)")
        // A watch gets the check beside it, and a monitor of syncs hears nothing of the check.
        let text = try schedule(scene, "systemd", "--watch --check-restore --heartbeat https://monitor.example/sync").text
        for line in ["OnCalendar=weekly", "Persistent=true", "Restart=on-failure"] { #expect(text.contains("\n\(line)\n"), "\(line)") }
        #expect(text.contains(" check --restore -q ") && text.components(separatedBy: "monitor.example").count == 2)
        #expect(text.contains("# /etc/systemd/system/snapsync-check-phone.timer, then: "))
    }

    @Test func unevenIntervalIsRefusedWithTheNearestEvenOnes() throws {
        let scene = try Scene.phone(notifications: 1, buckets: 1)
        try scene.refuse(
            "service cron phone.db --every 7m", exit: 78, saying: ["every 7 min", "cron cannot keep that interval evenly", "6m and 10m", "watch"],
            watching: ["phone.db"])
        #expect(try scene.json("status phone.db")["interval"] == nil)
        #expect(try scene.json("service systemd phone.db --every 7m")["interval"] as? Int == 420)
        // A command that prints stores no setting.
        #expect(try scene.json("status phone.db")["interval"] == nil)
        try scene.succeed("config set phone.db interval 7m")
        #expect(try scene.json("status phone.db")["interval"] as? Int == 420)
    }

    private static let analyzer = "/usr/bin/systemd-analyze"

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: analyzer), "systemd-analyze reads the units"))
    func unitsAreWhatSystemdTakes() throws {
        let scene = try awkwardScene()
        let object = try #require(
            try JSONSerialization.jsonObject(with: schedule(scene, "systemd", "--every 10m --check-restore --json").output) as? [String: Any])
        let units = try #require(object["units"] as? [[String: String]])
        #expect(units.map { $0["name"] } == ["snapsync-phone.service", "snapsync-phone.timer", "snapsync-check-phone.service", "snapsync-check-phone.timer"])
        for unit in units { try scene.scratch.write(try #require(unit["text"]), to: "units/\(try #require(unit["name"]))") }
        let run = try ProgramRun(
            Self.analyzer, ["verify", "--man=no", "--recursive-errors=no"] + units.compactMap { $0["name"] }.map { scene.scratch.path("units/\($0)") })
        #expect(run.status == 0, "\(run.text)\(run.errorText)")
        #expect(!(run.text + run.errorText).contains("snapsync-phone"), "\(run.text)\(run.errorText)")
    }

    @Test func serviceRunsTheSyncThatItsCommandLineSays() throws {
        let scene = try awkwardScene()
        let text = try schedule(scene, "systemd", "--every 10m").text
        for line in ["Type=oneshot", "SuccessExitStatus=75", "OnUnitActiveSec=600s", "RandomizedDelaySec=60s", "WantedBy=timers.target"] {
            #expect(text.contains("\n\(line)\n"), "\(line)")
        }
        try SQLiteShell(scene.scratch.path(Self.database), in: scene.scratch.path).run("UPDATE buckets SET name = 'by systemd'")
        // systemd.service(5): words in double quotes, C's escapes, %% and $$ for a plain sign.
        let words = try Python.run(
            """
            import json, re, sys
            line = re.search(r'^ExecStart=(.*)$', sys.stdin.read(), re.M).group(1)
            words = [a if a else b for a, b in re.findall(r'"((?:[^"\\\\]|\\\\.)*)"|(\\S+)', line)]
            plain = [re.sub(r'\\\\(.)', r'\\1', word).replace('%%', '%') for word in words]
            print(json.dumps(plain[:1] + [word.replace('$$', '$') for word in plain[1:]]))
            """, input: Data(text.utf8))
        let command = try JSONDecoder().decode([String].self, from: Data(words.utf8))
        let run = try ProgramRun(command[0], Array(command.dropFirst()), in: "/")
        #expect(run.status == 0 && run.text == "" && run.errorText == "", "\(command) \(run.errorText)")
        #expect(try scene.json("log cloud")["newestVersion"] as? Int == 2)
    }

    @Test func runsThatOverlapDoNoHarm() throws {
        let scene = try Scene.phoneAndWatch(notifications: 2000, buckets: 5)
        try scene.markRead(200)
        let syncs = try (0..<6).map { _ in try BuiltCommand.start(["sync", "phone.db", "--quiet"], in: scene.scratch.path) }.map { try $0.wait() }
        #expect(syncs.allSatisfy { [0, 75].contains($0.status) && $0.text == "" })
        #expect(syncs.contains { $0.status == 0 })
        // Whoever was kept out has said so, and has left no trouble behind.
        for run in syncs where run.status == 75 { #expect(run.errorText.contains("another run of snapsync works on this database")) }
        #expect(try scene.json("status phone.db")["lastError"] == nil)
        #expect(try scene.json("log phone.db")["newestVersion"] as? Int == 2)
        try scene.sync("watch")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
        try scene.succeed("check phone.db --all-versions --local")
    }

    /// A number closed twice may be another thread's file by then.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/strace"), "strace shows the calls"), arguments: [false, true])
    func noRunClosesADescriptorTwice(isKeptOut: Bool) throws {
        let scene = try Scene.phone()
        try scene.markRead(2)
        let status = try Python.run(
            """
            import fcntl, os, struct, subprocess, sys
            if sys.argv[2] == 'true':
                lock = os.open('phone.db.snapsync-lock', os.O_RDWR | os.O_CREAT)
                fcntl.fcntl(lock, 37, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 0, 0))  # F_OFD_SETLK, for Python's lockf is another lock
            run = ['strace', '-f', '-qq', '-e', 'trace=close', '-o', 'calls.txt', sys.argv[1], 'sync', 'phone.db']
            print(subprocess.run(run, capture_output=True).returncode, end='')
            """, [BuiltCommand.path(), String(isKeptOut)], in: scene.scratch.path)
        #expect(status == (isKeptOut ? "75" : "0"))
        let calls = String(decoding: try scene.scratch.read("calls.txt"), as: UTF8.self).split(separator: "\n")
        #expect(calls.count > 10)
        #expect(calls.filter { $0.contains("EBADF") } == [])
    }
}
