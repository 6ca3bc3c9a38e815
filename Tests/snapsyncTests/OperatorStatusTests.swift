import Foundation
import TestSupport
import Testing

/// What an operator sees of a database that nobody looks at: ages, errors, lags, sizes, and the file for Prometheus.
@Suite(.runsPrograms) struct OperatorStatusTests {
    /// Sets the last success back, as if so many minutes had passed since.
    private func age(_ database: String, _ scene: Scene, minutes: Int) throws {
        try scene.database(database).run(
            """
            UPDATE snapsync_state SET value = json_quote(strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-\(minutes) minutes')) WHERE key = 'lastSuccess'
            """)
    }

    @Test func lastErrorIsKeptUntilARunEndsWell() throws {
        let scene = try Scene.phoneAndWatch()
        #expect(try scene.json("status watch.db")["lastError"] == nil)
        func fail(_ line: String) throws {
            try FileManager.default.moveItem(atPath: scene.scratch.path("cloud"), toPath: scene.scratch.path("away"))
            #expect(try scene.run(line).status == 69)
            try FileManager.default.moveItem(atPath: scene.scratch.path("away"), toPath: scene.scratch.path("cloud"))
        }
        try fail("sync watch.db --quiet")
        let status = try scene.json("status watch.db"), error = try #require(status["lastError"] as? [String: Any])
        #expect(error["code"] as? String == "cloudUnavailable" && error["step"] as? String == "open")
        #expect((error["reason"] as? String)?.contains("the directory cannot be opened") == true)
        let at = try #require(status["lastErrorAt"] as? String)
        #expect(
            try scene.succeed("status watch.db").contains(
                "\n  last error, at \(at): open failed: \(scene.scratch.path("cloud")): the directory cannot be opened"))
        try scene.succeed("sync watch.db --quiet")
        #expect(try scene.json("status watch.db")["lastError"] == nil)

        // The writer's own: a row that cannot travel.
        try scene.database("phone.db").run("UPDATE buckets SET name = x'00' WHERE id = (SELECT min(id) FROM buckets)")
        #expect(try scene.run("export phone.db").status == 65)
        #expect((try scene.json("status phone.db")["lastError"] as? [String: Any])?["code"] as? String == "dataRefused")
        try scene.database("phone.db").run("UPDATE buckets SET name = 'mended'")
        try scene.succeed("export phone.db")
        // Rows that were read, and are the version's.
        try fail("export phone.db")
        try scene.database("phone.db").run("DROP TRIGGER snapsync_buckets_insert")
        #expect(try scene.succeed("export phone.db").hasPrefix("nothing new"))
        #expect(try scene.json("status phone.db")["lastError"] == nil)
    }

    @Test func databaseThatCannotBeWrittenKeepsNoErrorAndTheErrorIsStillTold() throws {
        let scene = try Scene.phoneAndWatch()
        try FileManager.default.moveItem(atPath: scene.scratch.path("cloud"), toPath: scene.scratch.path("away"))
        // Another program is in the middle of a transaction for as long as the run takes.
        let text = try Python.run(
            """
            import sqlite3, subprocess, sys
            c = sqlite3.connect('watch.db', isolation_level=None); c.execute('BEGIN IMMEDIATE')
            run = subprocess.run([sys.argv[1], 'sync', 'watch.db'], capture_output=True, text=True)
            c.execute('ROLLBACK'); print(run.returncode, run.stderr)
            """, [BuiltCommand.path()], in: scene.scratch.path)
        #expect(text.hasPrefix("69 snapsync sync: ") && text.contains("the directory cannot be opened"), "\(text)")
        #expect(try scene.database("watch.db").run("SELECT count(*) FROM snapsync_state WHERE key = 'lastFailure'") == "0\n")
    }

    @Test func strictEndsWith75WhenTheLastSuccessIsTooOld() throws {
        let scene = try Scene.phoneAndWatch()
        let unknown = try scene.run("status watch.db --strict")
        #expect(
            unknown.status == 78 && unknown.errorText.contains("the greatest age of the last success is not set") && unknown.errorText.contains("--max-age 45m")
        )
        try scene.succeed("config set watch.db interval 15m")
        try scene.succeed("status watch.db --strict")
        try age("watch.db", scene, minutes: 44)
        try scene.succeed("status watch.db --strict")
        try age("watch.db", scene, minutes: 52)
        let stale = try scene.run("status watch.db --strict")
        #expect(stale.status == 75)
        #expect(stale.text.contains(", 52 min ago; journal mode wal\n"))
        #expect(
            stale.errorText.hasPrefix(
                "snapsync status: watch.db: the last success is 52 min old, more than three intervals of 15 min\n  hint: see that snapsync sync watch.db runs"))
        #expect(try scene.run("status watch.db --strict --max-age 51m").status == 75)
        for line in ["status watch.db --strict --max-age 1h", "sync watch.db --quiet", "status watch.db --strict"] { try scene.succeed(line) }

        try scene.succeed("join new.db cloud --name new")
        let never = try scene.run("status new.db --strict --max-age 1d")
        #expect(never.status == 75 && never.errorText.contains("it was never synced"))
    }

    @Test func devicesLagAndPendingChangesAreTold() throws {
        let scene = try Scene.phoneAndWatch(notifications: 40, buckets: 4)
        for seed in 1...2 {
            try scene.markRead(2, from: seed)
            try scene.sync("phone")
        }
        try scene.markRead(3, from: 3)
        let status = try scene.json("status phone.db")
        let devices = try #require(status["devices"] as? [[String: Any]])
        #expect(devices.map { $0["device"] as? String } == ["phone", "watch"])
        #expect(devices.map { $0["behind"] as? Int } == [0, 2])
        #expect(devices.allSatisfy { ($0["reportAge"] as? Int).map { (0..<3600).contains($0) } == true })
        let datasets = try #require(status["datasets"] as? [[String: Any]])
        #expect(datasets.map { $0["changes"] as? Int } == [0, 3])
        let size = try scene.scratch.read(scene.asset("notifications")).count
        #expect(datasets.last?["assetSize"] as? Int == size)
        #expect(try scene.succeed("status phone.db").contains("\n  device watch (reader): version 1, 2 behind, as of "))
    }

    /// Reads a Prometheus text file as the format says, and prints each sample as JSON.
    private static let parser = #"""
        import json, re, sys
        types, helps, seen = {}, {}, set()
        for line in open(sys.argv[1], newline='').read().split('\n')[:-1]:
            if line.startswith('# HELP '): name, helps_text = line[7:].split(' ', 1); assert name not in helps; helps[name] = helps_text; continue
            if line.startswith('# TYPE '): name, kind = line[7:].split(' '); assert name in helps and name not in types and kind == 'gauge'; types[name] = kind; continue
            name, rest = re.match(r'([a-zA-Z_:][a-zA-Z0-9_:]*)\{(.*)$', line).groups()
            labels, at = {}, 0
            pattern = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|\} )')
            while True:
                found = pattern.match(rest, at)
                assert found, (line, at)
                assert found[1] not in labels
                labels[found[1]] = re.sub(r'\\(.)', lambda m: '\n' if m[1] == 'n' else m[1], found[2])
                at = found.end()
                if found[3] != ',': break
            assert name in types, name
            key = (name, tuple(sorted(labels.items()))); assert key not in seen; seen.add(key)
            print(json.dumps({'name': name, 'labels': labels, 'value': float(rest[at:])}))
        """#

    private struct Sample: Decodable {
        let name: String
        let labels: [String: String]
        let value: Double
    }

    private func samples(_ file: String, _ scene: Scene) throws -> [Sample] {
        try Python.run(Self.parser, [file], in: scene.scratch.path).split(separator: "\n").map { try JSONDecoder().decode(Sample.self, from: Data($0.utf8)) }
    }

    @Test func prometheusFileHasTheFactsOfTheStatus() throws {
        let scene = try Scene.phoneAndWatch(notifications: 40, buckets: 4)
        try scene.succeed("config set phone.db interval 15m")
        try scene.markRead(3)
        #expect(try scene.succeed("status phone.db --prometheus phone.prom") == "")
        let status = try scene.json("status phone.db")
        let samples = try samples("phone.prom", scene)
        func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
            samples.first { sample in sample.name == "snapsync_" + name && labels.allSatisfy { sample.labels[$0] == $1 } }?.value
        }
        #expect(samples.allSatisfy { $0.labels["database"] == scene.scratch.path("phone.db") })
        #expect(value("info", ["zone": "ZentikSyncZone", "role": "writer", "device": "phone"]) == 1 && value("cloud_up") == 1)
        #expect(value("version") == 1 && value("newest_version") == 1 && value("interval_seconds") == 900)
        #expect(value("pending_changes", ["dataset": "notifications"]) == 3 && value("entities", ["dataset": "buckets"]) == 4)
        #expect(value("asset_bytes", ["dataset": "notifications"]) == Double(try scene.scratch.read(scene.asset("notifications")).count))
        #expect(value("asset_limit_bytes") == 250_000_000)
        #expect(value("device_lag_versions", ["device": "watch", "role": "reader"]) == 0)
        #expect(value("device_report_age_seconds", ["device": "watch"]).map { $0 < 3600 } == true)
        #expect(value("last_run_duration_seconds", ["direction": "export"]).map { $0 > 0 && $0 < 600 } == true)
        #expect(value("last_run_duration_seconds", ["direction": "import"]) == nil && value("last_error_timestamp_seconds") == nil)
        let success = try #require(status["lastSuccess"] as? String)
        let seconds = try Python.run("import datetime, sys; print(datetime.datetime.fromisoformat(sys.argv[1].replace('Z', '+00:00')).timestamp())", [success])
        #expect(value("last_success_timestamp_seconds").map { abs($0 - (Double(seconds.dropLast()) ?? 0)) < 0.001 } == true)
        // Nothing but the file, and readable by the program that collects it.
        #expect(try FileManager.default.contentsOfDirectory(atPath: scene.scratch.path).filter { $0.contains(".prom") } == ["phone.prom"])
        let mode = try FileManager.default.attributesOfItem(atPath: scene.scratch.path("phone.prom"))[.posixPermissions] as? Int
        #expect(mode.map { $0 & 0o444 } == 0o444)
    }

    @Test func prometheusFileIsWrittenEvenIfTheCloudIsAway() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.scratch.write("old", to: "watch.prom")
        try FileManager.default.moveItem(atPath: scene.scratch.path("cloud"), toPath: scene.scratch.path("away"))
        #expect(try scene.run("sync watch.db").status == 69)
        let run = try scene.run("status watch.db --prometheus watch.prom")
        #expect(run.status == 69 && run.text == "" && run.errorText.contains("the directory cannot be opened"))
        let samples = try samples("watch.prom", scene)
        #expect(samples.first { $0.name == "snapsync_cloud_up" }?.value == 0)
        #expect(samples.first { $0.name == "snapsync_last_error_timestamp_seconds" }?.labels["code"] == "cloudUnavailable")
        #expect(samples.contains { $0.name == "snapsync_last_success_timestamp_seconds" } && !samples.contains { $0.name == "snapsync_newest_version" })
        // A file that cannot be written is an error of its own, and nothing stays behind.
        let refused = try scene.run("status watch.db --prometheus none/watch.prom")
        #expect(refused.status == 74 && refused.errorText.contains("none/watch.prom: the file cannot be made"))
    }

    @Test func labelsAreEscaped() throws {
        let scene = try Scene.phone(notifications: 1, buckets: 1)
        let folder = "a \"quoted\\\" name\nof two lines"
        try FileManager.default.createDirectory(atPath: scene.scratch.path(folder), withIntermediateDirectories: false)
        try scene.database("phone.db").run("PRAGMA wal_checkpoint(TRUNCATE)")
        try FileManager.default.moveItem(atPath: scene.scratch.path("phone.db"), toPath: scene.scratch.path(folder + "/phone.db"))
        let run = try BuiltCommand.run(["status", folder + "/phone.db", "--prometheus", "phone.prom"], in: scene.scratch.path)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try samples("phone.prom", scene).allSatisfy { $0.labels["database"] == scene.scratch.path(folder + "/phone.db") })
    }
}
