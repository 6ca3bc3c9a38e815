import Foundation
import TestSupport
import Testing

/// Turning sync on and off, and the entitlement, as an operator sees them.
@Suite(.runsPrograms) struct GateTests {
    private static let off = ["sync is turned off", "to turn it on: snapsync config set "]

    @Test func offMeansThatTheCloudIsNotTouched() throws {
        let scene = try Scene.phoneAndWatch()
        #expect(
            try scene.succeed("config set watch.db sync off")
                == "watch.db: sync is off; changes go on being noted, and nothing is read from or sent to the location\n")
        try scene.succeed("config set phone.db sync off")
        // A run that so much as opened the cloud would say that it is gone.
        try FileManager.default.moveItem(atPath: scene.scratch.path("cloud"), toPath: scene.scratch.path("away"))
        for line in [
            "sync phone.db", "sync watch.db", "export phone.db", "import watch.db",
            "log watch.db",
            "show watch.db buckets", "check watch.db --read-data", "check phone.db --local",
        ] { try scene.refuse(line, exit: 78, saying: Self.off, watching: ["phone.db", "watch.db"]) }
        let status = try scene.succeed("status watch.db")
        let off = "  not synced: sync is turned off\n    hint: to turn it on: snapsync config set watch.db sync on\n"
        #expect(status.contains("  version 1; the location was not looked at\n\(off)"), "\(status)")
        #expect(status.contains("notifications: 30 entities of "))
        let gate = try #require(try scene.json("status watch.db")["gate"] as? [String: Any])
        #expect(gate["isOpen"] as? Bool == false && gate["code"] as? String == "preferenceOff" && gate["isEnabled"] as? Bool == false)

        try FileManager.default.moveItem(atPath: scene.scratch.path("away"), toPath: scene.scratch.path("cloud"))
        #expect(try scene.succeed("config set watch.db sync on --yes") == "watch.db: sync is on\n")
        #expect(try scene.succeed("config set watch.db sync on --yes") == "watch.db: sync is on, as it was\n")
        try scene.sync("watch")
    }

    @Test func cronIsNotToldWhatTheUserDecided() throws {
        let scene = try Scene.phone()
        try scene.succeed("config set phone.db sync off")
        #expect(try scene.succeed("sync phone.db --quiet") == "")
        try scene.refuse("sync phone.db", exit: 78, saying: Self.off)
        // What somebody has to see to is told.
        try scene.scratch.write(#"{"isEntitled":false}"#, to: "licence.json")
        #expect(try scene.succeed("config set phone.db entitlement licence.json").hasPrefix("phone.db: entitlement is "))
        try scene.succeed("config set phone.db sync on --yes")
        try scene.refuse("sync phone.db --quiet", exit: 78, saying: ["this user is not entitled to sync", "get the entitlement"])
    }

    @Test func nothingThatWasDoneWhileItWasOffIsLost() throws {
        let scene = try Scene.phoneAndWatch(notifications: 6, buckets: 2)
        let keys = try scene.database("phone.db").run("SELECT id FROM notifications ORDER BY id").split(separator: "\n")
        func set(_ database: String, _ key: Substring, _ title: String, _ second: Int) throws {
            try scene.database(database).run(
                "UPDATE notifications SET title = '\(title)', updatedAt = strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-60 seconds', '+\(second) seconds') WHERE id = '\(key)'"
            )
        }
        for name in ["phone.db", "watch.db"] { try scene.succeed("config set \(name) sync off") }
        // Both sides edit: each something of its own, and one entity each way round.
        try set("phone.db", keys[0], "phone alone", 1)
        try set("watch.db", keys[1], "watch alone", 1)
        try set("phone.db", keys[2], "phone first", 1)
        try set("watch.db", keys[2], "watch later", 9)
        try set("watch.db", keys[3], "watch first", 1)
        try set("phone.db", keys[3], "phone later", 9)
        try scene.database("phone.db").run("DELETE FROM notifications WHERE id = '\(keys[4])'")
        try scene.refuse("sync phone.db", exit: 78, saying: Self.off, watching: ["phone.db", "watch.db"])
        try scene.refuse("sync watch.db", exit: 78, saying: Self.off, watching: ["phone.db", "watch.db"])

        for name in ["phone.db", "watch.db"] { try scene.succeed("config set \(name) sync on --yes") }
        try scene.sync("phone", "watch")
        let titles = try scene.database("watch.db").run(
            "SELECT title FROM notifications WHERE id IN ('\(keys[0])', '\(keys[1])', '\(keys[2])', '\(keys[3])') ORDER BY id")
        #expect(titles == "phone alone\nwatch alone\nwatch later\nphone later\n")
        #expect(try scene.database("watch.db").run("SELECT count(*) FROM notifications WHERE id = '\(keys[4])'") == "0\n")
        #expect(
            try scene.database("phone.db").run("SELECT title FROM notifications WHERE id IN ('\(keys[0])', '\(keys[3])') ORDER BY id")
                == "phone alone\nphone later\n")
    }

    @Test func initLeavesItOffWhereAsked() throws {
        let scene = try Scene.phone()
        let made = try scene.succeed("join watch.db cloud --name watch --disabled")
        #expect(made.contains("  sync is off; to turn it on: snapsync config set watch.db sync on\n"))
        try scene.refuse("sync watch.db", exit: 78, saying: Self.off, watching: ["watch.db"])
        #expect(try scene.json("config set watch.db sync on --yes")["wasEnabled"] as? Bool == false)
        try scene.sync("watch")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
        // Taken out, nothing of it stays.
        try scene.succeed("config set watch.db sync off")
        try scene.succeed("detach watch.db")
        #expect(try scene.database("watch.db").run("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'snapsync%'") == "0\n")
        try scene.refuse("config set watch.db sync on --yes", exit: 66, saying: ["not set up for syncing", "snapsync init"])
    }

    @Test func choiceCanBeLeftToTheUser() throws {
        let scene = try Scene.phone()
        let line = "join watch.db cloud --name watch --undecided"
        #expect(try scene.succeed(line).contains("  sync is neither on nor off yet; to turn it on: snapsync config set watch.db sync on\n"))
        try scene.refuse(
            "sync watch.db", exit: 78,
            saying: ["sync is neither on nor off yet", "decide with: snapsync config set ", "watch.db sync on, or: snapsync config set ", "watch.db sync off"])
        #expect(try scene.succeed("sync watch.db --quiet") == "")
        let gate = try #require(try scene.json("status watch.db")["gate"] as? [String: Any])
        #expect(gate["preference"] as? String == "undecided" && gate["code"] as? String == "preferenceUndecided" && gate["isEnabled"] as? Bool == false)
        try scene.succeed("config set watch.db sync on --yes")
        try scene.sync("watch")
        #expect((try scene.json("status watch.db")["gate"] as? [String: Any])?["preference"] as? String == "on")
    }

    /// Scripts that turned sync on before there was a question are told what to write.
    @Test func withoutATerminalTurningOnNeedsAYes() throws {
        let scene = try Scene.phoneAndWatch()
        // One that is synced already is asked nothing.
        #expect(try scene.succeed("config set watch.db sync on") == "watch.db: sync is on, as it was\n")
        try scene.succeed("config set watch.db sync off")
        let run = try scene.run("config set watch.db sync on --json")
        #expect(run.status == 64 && run.text == "", "\(run.text)")
        let says = "Standard input is not a terminal. Pass --yes to confirm. To see what a sync would do: snapsync sync watch.db -n"
        #expect(run.errorText.contains(says), "\(run.errorText)")
        try scene.refuse("sync watch.db", exit: 78, saying: Self.off)
        try scene.succeed("config set watch.db sync on --yes")
        try scene.sync("watch")
    }

    /// Types an answer to the question on a terminal. Returns the exit code, what stood there, and what came out on standard output.
    private func answer(_ word: String, _ arguments: [String], in scene: Scene) throws -> (status: Int, asked: String, output: String) {
        let text = try Python.run(
            """
            import json, os, pty, subprocess, sys
            main, side = pty.openpty()
            run = subprocess.Popen(sys.argv[2:], stdin=side, stdout=subprocess.PIPE, stderr=side)
            os.close(side)
            asked = b''
            while b'Type yes: ' not in asked: asked += os.read(main, 65536)
            os.write(main, sys.argv[1].encode() + b'\\n')
            output = run.stdout.read().decode()
            print(json.dumps({'status': run.wait(), 'asked': asked.decode(), 'output': output}))
            """, [word, BuiltCommand.path()] + arguments, in: scene.scratch.path)
        let answer = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        return (try #require(answer["status"] as? Int), try #require(answer["asked"] as? String), try #require(answer["output"] as? String))
    }

    @Test func onATerminalItShowsWhatASyncWouldDoAndAsks() throws {
        let scene = try Scene.phone(notifications: 12, buckets: 2)
        try scene.succeed("join watch.db cloud --name watch --disabled")
        let before = try scene.database("watch.db").dump()
        let no = try answer("no", ["config", "set", "watch.db", "sync", "on"], in: scene)
        #expect(no.status == 0 && no.output == "")
        #expect(no.asked.contains("watch.db: reader watch, here is no version yet, the location has version 1"), "\(no.asked)")
        #expect(no.asked.contains("here: 12 added, 0 changed, 0 removed; in the location: nothing"), "\(no.asked)")
        #expect(!no.asked.contains("would stop"), "\(no.asked)")
        #expect(try scene.database("watch.db").dump() == before)
        let yes = try answer("yes", ["config", "set", "watch.db", "sync", "on", "--json"], in: scene)
        #expect(yes.status == 0 && yes.asked.contains("Turn sync on?"))
        let report = try #require(try JSONSerialization.jsonObject(with: Data(yes.output.utf8)) as? [String: Any])
        #expect(report["isEnabled"] as? Bool == true && report["wasEnabled"] as? Bool == false)
        // A cloud that is away is no reason not to decide.
        try scene.succeed("config set watch.db sync off")
        try FileManager.default.moveItem(atPath: scene.scratch.path("cloud"), toPath: scene.scratch.path("away"))
        let blind = try answer("yes", ["config", "set", "watch.db", "sync", "on"], in: scene)
        #expect(blind.asked.contains("what a sync would do is not known: ") && blind.output == "watch.db: sync is on\n", "\(blind)")
    }

    @Test func entitlementEndsAndComesBack() throws {
        let scene = try Scene.phone()
        func licence(_ text: String) throws { try scene.scratch.write(text, to: "licence.json") }
        try licence(#"{"holder":"A. User","validUntil":"2999-01-01T00:00:00Z"}"#)
        try scene.succeed("join watch.db cloud --name watch --entitlement licence.json")
        try scene.sync("watch")
        #expect(try scene.succeed("status watch.db").contains("  entitled until 2999-01-01T00:00:00.000Z\n"))

        try licence(#"{"validUntil":"2026-01-01T00:00:00Z"}"#)
        try scene.refuse(
            "sync watch.db", exit: 78,
            saying: ["watch.db: the entitlement ended at 2026-01-01T00:00:00.000Z", "renew the entitlement; what was changed here is kept"])
        let status = try scene.succeed("status watch.db")
        #expect(status.contains("not synced: the entitlement ended at") && status.contains("version 1; the location was not looked at"))
        // An end that was seen is not undone by taking the file away.
        try FileManager.default.removeItem(atPath: scene.scratch.path("licence.json"))
        try scene.refuse("sync watch.db", exit: 78, saying: ["the entitlement ended at", "licence.json: the entitlement file cannot be read"])

        try licence(#"{"validUntil":"2999-01-01T00:00:00Z"}"#)
        try scene.sync("watch")
        // One that cannot be read just now is no end: the last answer holds.
        for text in ["", "{}", #"{"validUntil":"2026-02-30T00:00:00Z"}"#] {
            try licence(text)
            try scene.sync("watch")
            #expect(
                try scene.succeed("status watch.db").contains(
                    "by the last answer, for the entitlement cannot be asked for: \(scene.scratch.path("licence.json")): the entitlement file is not understood\n"
                ))
        }
        try licence(#"{"isEntitled":false}"#)
        try scene.refuse("sync watch.db", exit: 78, saying: ["this user is not entitled to sync"])
    }

    @Test func entitlementThatWasNeverSeenIsNone() throws {
        let scene = try Scene.phone()
        try scene.succeed("join watch.db cloud --name watch --entitlement licence.json")
        try scene.refuse(
            "sync watch.db", exit: 78, saying: ["whether this user may sync is not known", "licence.json: the entitlement file cannot be read"])
        #expect(try scene.database("watch.db").run("SELECT count(*) FROM buckets") == "0\n")
    }
}
