import Foundation
import TestSupport
import Testing

/// What `sync` and `watch` do after a run: a heartbeat when it went well, a command when it failed, a page.
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct OutcomeTests {
    /// A monitor on this machine that notes what it is asked for: `/slow` never answers, `/no` answers 500, everything else 200.
    final class Monitor {
        let port: Int
        private let program: RunningProgram
        private let log: String

        init(in scene: Scene) throws {
            log = scene.scratch.path("monitor.log")
            program = try RunningProgram(
                "python3",
                [
                    "-c",
                    """
                    import http.server, sys, time
                    class Monitor(http.server.BaseHTTPRequestHandler):
                        def do_GET(self):
                            open(sys.argv[1], 'a').write(self.path + '\\n')
                            if self.path == '/slow': time.sleep(3600)
                            self.send_response(500 if self.path == '/no' else 200)
                            self.send_header('Content-Length', '0')
                            self.end_headers()
                        def log_message(self, *words): pass
                    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Monitor)
                    print(server.server_port, flush=True)
                    server.serve_forever()
                    """, log,
                ])
            let end = Date.now.addingTimeInterval(60)
            while try !program.outputSoFar().hasSuffix("\n"), Date.now < end { usleep(20_000) }
            port = try #require(Int(try program.outputSoFar().trimmingCharacters(in: .newlines)))
        }

        deinit {
            program.kill()
            _ = try? program.wait()
        }

        var requests: [String] { ((try? String(contentsOfFile: log, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init) }
    }

    @Test func heartbeatFollowsASuccessAndNeverAFailure() throws {
        let scene = try Scene.phone(notifications: 3, buckets: 1)
        let monitor = try Monitor(in: scene), host = "http://127.0.0.1:\(monitor.port)"
        try scene.succeed("sync phone.db --quiet --heartbeat \(host)/ping/secret?rid=1")
        #expect(monitor.requests == ["/ping/secret?rid=1"])
        // What goes wrong with it is a warning without the path, and the sync has ended well.
        for (path, reason) in [("\(host)/no/../no", "the answer is 500"), ("http://127.0.0.1:1/secret", "onnect")] {
            let run = try scene.run("sync phone.db --quiet --heartbeat \(path)")
            #expect(run.status == 0 && run.text == "" && run.errorText.hasPrefix("snapsync: warning: the heartbeat to http://127.0.0.1:"), "\(run.errorText)")
            #expect(run.errorText.contains(reason) && !run.errorText.contains("secret") && !run.errorText.contains("/no"), "\(run.errorText)")
        }
        // It does not wait for an answer that never comes.
        let slow = try scene.run("sync phone.db --quiet --heartbeat \(host)/slow")
        #expect(slow.status == 0 && slow.errorText.contains("was not taken"), "\(slow.errorText)")
        let count = monitor.requests.count
        #expect(try scene.run("sync phone.db --heartbeat \(host)/never --location none").status == 69)
        try scene.succeed("config set phone.db sync off")
        try scene.succeed("sync phone.db --quiet --heartbeat \(host)/never")
        #expect(monitor.requests.count == count)
        let contents = try scene.database("phone.db").run(".dump")
        #expect(!contents.contains("secret") && !contents.contains("127.0.0.1"))
    }

    @Test func commandForFailuresGetsCodeAndError() throws {
        let scene = try Scene.phone(notifications: 3, buckets: 1)
        let command = "printf '%s|%s|%s' \"$SNAPSYNC_EXIT_CODE\" \"$SNAPSYNC_ERROR\" \"$SNAPSYNC_DATABASE\" > failed.txt; echo said"
        func sync(_ words: String...) throws -> ProgramRun {
            try BuiltCommand.run(["sync", "phone.db", "--on-failure", command] + words, in: scene.scratch.path)
        }
        #expect(try sync().status == 0 && !scene.scratch.exists("failed.txt"))
        let run = try sync("--location", "none", "--json")
        #expect(run.status == 69 && run.text == "" && run.errorText.contains("\"exitCode\"") && run.errorText.hasSuffix("said\n"), "\(run.errorText)")
        let told = String(decoding: try scene.scratch.read("failed.txt"), as: UTF8.self).split(separator: "|").map(String.init)
        #expect(told == ["69", "open failed: none: the directory cannot be opened: No such file or directory", scene.scratch.path("phone.db")])
        // A command that fails changes nothing about the sync's own end.
        let failing = try BuiltCommand.run(["sync", "phone.db", "--on-failure", "exit 3", "--location", "none"], in: scene.scratch.path)
        #expect(failing.status == 69 && failing.errorText.contains("warning: the command for failures ended with 3"), "\(failing.errorText)")
        #expect(try scene.run("sync missing.db --on-failure false").status == 66)
    }

    @Test func verifyTellsTheMonitorOrRunsTheCommand() throws {
        let scene = try Scene.phone(notifications: 30, buckets: 1)
        let monitor = try Monitor(in: scene)
        func verify(_ words: [String]) throws -> ProgramRun {
            let command = "echo \"$SNAPSYNC_EXIT_CODE $SNAPSYNC_ERROR\" > failed.txt"
            let options = ["--heartbeat", "http://127.0.0.1:\(monitor.port)/check", "--on-failure", command]
            return try BuiltCommand.run(["check", "phone.db"] + words + options, in: scene.scratch.path)
        }
        let sound = try verify(["--restore", "--quiet"])
        #expect(sound.status == 0 && sound.text == "" && sound.errorText == "" && monitor.requests == ["/check"])
        let asset = try scene.asset("notifications"), whole = try scene.scratch.read(asset)
        func expectFailure(_ words: String..., exit: Int32) throws {
            try? FileManager.default.removeItem(atPath: scene.scratch.path("failed.txt"))
            let run = try verify(words)
            #expect(run.status == exit && run.text == "" && run.errorText.contains("notifications"), "\(run.status) \(run.errorText)")
            let told = String(decoding: try scene.scratch.read("failed.txt"), as: UTF8.self)
            #expect(told.hasPrefix("\(exit) ") && told.contains("notifications"), "\(told)")
        }
        // A part of the file: it may be arriving. Another byte: it is damaged.
        try scene.scratch.write(whole.prefix(100), to: asset)
        try expectFailure("--read-data", "--quiet", exit: 75)
        try scene.scratch.write(whole.prefix(100) + [whole[100] ^ 1] + whole.dropFirst(101), to: asset)
        try expectFailure("--read-data", "--quiet", exit: 65)
        try expectFailure("--restore", "--quiet", exit: 65)
        #expect(monitor.requests == ["/check"])
    }

    @Test func watchTellsTheMonitorAndRunsTheCommand() async throws {
        let scene = try Scene.phone(notifications: 5, buckets: 1)
        let monitor = try Monitor(in: scene), begun = ContinuousClock.now
        let watch = try await scene.watch(
            "phone.db --poll 200ms --heartbeat http://127.0.0.1:\(monitor.port)/watch --on-failure touch\u{A0}failed".replacing(
                "touch\u{A0}failed", with: "./failed.sh"))
        try scene.scratch.write("#!/bin/sh\necho $SNAPSYNC_EXIT_CODE >> failed.txt\n", to: "failed.sh")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: scene.scratch.path("failed.sh"))
        // A look may come so late that a minute has passed, and with it a second heartbeat.
        try await Eventually.holds(
            "the heartbeat is there", explain: { try "\(monitor.requests) \(watch.program.outputSoFar())\(watch.program.errorsSoFar())" }
        ) {
            !monitor.requests.isEmpty
        }
        try scene.database("phone.db").run("UPDATE buckets SET name = 'new'")
        try await watch.prints("published version 2")
        try FileManager.default.moveItem(atPath: scene.scratch.path("cloud"), toPath: scene.scratch.path("away"))
        try await Eventually.holds("the failure is told") { scene.scratch.exists("failed.txt") }
        try FileManager.default.moveItem(atPath: scene.scratch.path("away"), toPath: scene.scratch.path("cloud"))
        try await watch.prints("all is well again")
        try watch.end()
        // Once a minute at most.
        let minutes = Int((ContinuousClock.now - begun) / .seconds(60))
        #expect(monitor.requests.allSatisfy { $0 == "/watch" } && (1...1 + minutes).contains(monitor.requests.count))
        #expect(String(decoding: try scene.scratch.read("failed.txt"), as: UTF8.self) == "69\n")
        #expect(try scene.versions().count == 2)
    }

    @Test func scheduleCarriesWhatFollowsASync() throws {
        let scene = try Scene.phone(notifications: 3, buckets: 1)
        let options = ["--heartbeat", "https://monitor.example/a%20b", "--on-failure", "echo \"$SNAPSYNC_ERROR\" | mail 'me'"]
        func schedule(_ kind: String, _ words: [String]) throws -> ProgramRun {
            let run = try BuiltCommand.run(["service", kind, "phone.db"] + words + options, in: scene.scratch.path)
            #expect(run.status == 0 && run.errorText == "", "\(run.errorText)")
            return run
        }
        let cron = try schedule("cron", ["--every", "15m"]).text
        #expect(
            cron.hasSuffix(
                " --heartbeat 'https://monitor.example/a\\%20b' --on-failure 'echo \"$SNAPSYNC_ERROR\" | mail '\\''me'\\'''\n"), "\(cron)")
        let timer = try schedule("systemd", ["--every", "10m"]).text
        let words = " \"--heartbeat\" \"https://monitor.example/a%%20b\" \"--on-failure\" \"echo \\\"$$SNAPSYNC_ERROR\\\" | mail 'me'\"\n"
        #expect(timer.contains(words), "\(timer)")
        let watch = try schedule("systemd", ["--watch"]).text
        #expect(watch.contains(" watch \"\(scene.scratch.path("phone.db"))\"\(words)"), "\(watch)")
        #expect(watch.contains("\nRestart=on-failure\n") && watch.contains("\nWantedBy=default.target\n") && !watch.contains("[Timer]"))
        #expect(try scene.json("service systemd phone.db --watch")["interval"] == nil)
    }
}

/// What takes a minute, beside all other tests.
@Suite(.timeLimit(.minutes(60))) struct LongOutcomeTests {
    /// A command that never ends, with a child of its own that would not end by SIGTERM, keeps no sync waiting for ever.
    @Test func commandForFailuresIsEndedWhenItTakesTooLong() async throws {
        let scene = try Scene.phone(notifications: 1, buckets: 1)
        let command = "trap '' TERM; sleep 86399 & echo $! > child.txt; wait; sleep 86399"
        let run = try await ProgramRun.long(
            BuiltCommand.path(), ["sync", "phone.db", "--on-failure", command, "--location", "none"], in: scene.scratch.path)
        #expect(run.status == 69 && run.errorText.contains("warning: the command for failures took more than 60 seconds and was ended"), "\(run.errorText)")
        let child = String(decoding: try scene.scratch.read("child.txt"), as: UTF8.self).trimmingCharacters(in: .newlines)
        // Whether somebody has buried it is the system's matter.
        #expect(try ["", "Z"].contains(ProgramRun("ps", ["-o", "stat=", "-p", child]).text.trimmingCharacters(in: .whitespacesAndNewlines).prefix(1)))
    }
}
