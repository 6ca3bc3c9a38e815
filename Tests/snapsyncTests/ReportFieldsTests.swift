import Foundation
import TestSupport
import Testing

/// The JSON reports of the built command have exactly the fields that docs/json.md lists.
@Suite(.runsPrograms) struct ReportFieldsTests {
    @Test func reportsHaveExactlyTheFieldsOfThePage() async throws {
        let page = try CommandPage()
        var seen: [String: Set<String>] = [:]
        func check(_ object: [String: Any], _ heading: String, at location: SourceLocation = #_sourceLocation) {
            #expect(page.differences(of: object, from: heading, seen: &seen[heading, default: []]) == [], "\(heading)", sourceLocation: location)
        }
        let scene = try Scene()
        check(try scene.json("generate phone.db --notifications 20 --buckets 2"), "generate --json")
        try scene.database("phone.db").run("CREATE TRIGGER hash AFTER INSERT ON buckets BEGIN DELETE FROM notifications WHERE id = app_hash(NEW.id); END")
        check(try scene.json("init phone.db cloud --built-in --name phone"), "init --json")
        try scene.database("phone.db").run("DROP TRIGGER hash")
        check(try scene.json("status phone.db"), "status --json")
        check(try scene.json("log cloud"), "log --json")
        check(try scene.json("export phone.db"), "export --json")
        check(try scene.json("export phone.db"), "export --json")
        check(try scene.json("join watch.db cloud --name watch"), "init --json")
        check(try scene.json("status watch.db"), "status --json")
        check(try scene.json("import watch.db"), "import --json")
        check(try scene.json("import watch.db"), "import --json")
        check(try scene.json("generate phone.db --mark-read 1"), "generate --mark-read --json")
        for (line, part) in [("sync phone.db", "exported"), ("sync watch.db", "imported")] {
            var report = try scene.json(line)
            check(try #require(report[part] as? [String: Any]), part == "exported" ? "export --json" : "import --json")
            // The part's own fields stand under the command that it is of.
            report[part] = [String: Any]()
            check(report, "sync --json")
        }
        try scene.database("phone.db").run(
            "CREATE TRIGGER closed BEFORE DELETE ON buckets BEGIN SELECT RAISE(ABORT, 'it is closed'); END"
        )
        try scene.database("watch.db").run(
            """
            UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = (SELECT min(id) FROM notifications);
            UPDATE notifications SET title = 'mine' WHERE id = (SELECT max(id) FROM notifications);
            DELETE FROM buckets WHERE id = (SELECT bucketId FROM notifications LIMIT 1);
            """)
        check(try scene.json("pending cloud"), "pending --json")
        try scene.scratch.write("{}", to: "\(Scene.zone)/messages/watch/note.txt")
        for line in ["sync watch.db", "sync phone.db"] {
            var report = try scene.json(line)
            for part in ["exported", "imported"] where report[part] != nil { report[part] = [String: Any]() }
            check(report, "sync --json")
            for database in ["watch.db", "phone.db"] { check(try scene.json("pending \(database)"), "pending --json") }
        }
        check(try scene.json("conflicts phone.db"), "conflicts --json")
        try scene.succeed("sync watch.db")
        check(try scene.json("pending watch.db"), "pending --json")
        check(try scene.json("status watch.db"), "status --json")
        let tables = try Scene.pair("CREATE TABLE t(id TEXT PRIMARY KEY); INSERT INTO t VALUES('1')", roles: ("writer", "reader"))
        try tables.database("b.db").run("INSERT INTO t VALUES('2')")
        var kept = try tables.json("sync b.db")
        kept["imported"] = [String: Any]()
        check(kept, "sync --json")
        let shops = try AudienceTests.shops()
        try shops.database("app.db").run("DELETE FROM orders WHERE id = 'o1'")
        check(try shops.json("sync shop7.db -n"), "sync -n --json")
        var audiences = try shops.json("sync app.db")
        audiences["exported"] = [String: Any]()
        audiences["audiences"] = (audiences["audiences"] as? [[String: Any]])?.map { $0.merging(["exported": [String: Any]()]) { $1 } }
        check(audiences, "sync --json")
        let large = try Scene.phone(notifications: 8000)
        try large.succeed("generate phone.db --mark-read 3")
        check(try large.json("export phone.db"), "export --json")
        try scene.succeed("generate any.db --notifications 1 --buckets 1")
        check(try scene.json("import any.db --file \(scene.asset("buckets"))"), "import --json")
        check(try scene.json("status watch.db"), "status --json")
        check(try scene.json("log watch.db"), "log --json")
        let row = try scene.database("phone.db").run("SELECT id FROM notifications LIMIT 1").trimmingCharacters(in: .newlines)
        check(try scene.json("log cloud notifications \(row)"), "log table key --json")
        check(try scene.json("get phone.db notifications \(row)"), "query --json and get --json")
        for line in try scene.succeed("changes cloud --since 0 --ndjson").split(separator: "\n") {
            check(try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]), "changes --ndjson")
        }
        check(try scene.json("check cloud --all-versions"), "check --read-data --json")
        check(try scene.json("check cloud"), "check --json")
        let ill = try scene.run("check phone.db --json --location none")
        check(try #require(try JSONSerialization.jsonObject(with: ill.output) as? [String: Any]), "check --json")
        for (report, heading) in try Scene.repairReports() { check(report, heading) }
        var accepted = try putBack().json("import watch.db --accept-rollback 1")
        check(try #require(accepted["imported"] as? [String: Any]), "import --json")
        accepted["imported"] = [String: Any]()
        check(accepted, "import --accept-rollback --json")
        check(try scene.json("check phone.db --local"), "check --read-data --json")
        try checkVersions(scene) { check($0, $1) }
        check(try scene.json("service cron phone.db --every 15m"), "service --json")
        check(try scene.json("service systemd phone.db --every 15m"), "service --json")
        try scene.succeed("config set phone.db interval 15m")
        for line in try await scene.linesOfAWatch() { check(line, "watch --json") }
        try scene.database("phone.db").run("UPDATE buckets SET name = x'00'")
        #expect(try scene.run("sync phone.db").status == 65)
        check(try scene.json("status phone.db"), "status --json")
        for report in try scene.sharingReports() { check(report.object, report.heading) }
        try scene.scratch.write(#"{"validUntil":"2999-01-01T00:00:00Z"}"#, to: "licence.json")
        check(try scene.json("config set watch.db entitlement licence.json"), "config list --json")
        check(try scene.json("config set watch.db sync on --yes"), "config set sync --json")
        check(try scene.json("config get watch.db entitlement"), "config get --json")
        check(try scene.json("status watch.db"), "status --json")
        try FileManager.default.removeItem(atPath: scene.scratch.path("licence.json"))
        check(try scene.json("status watch.db"), "status --json")
        check(try scene.json("config set watch.db sync off"), "config set sync --json")
        check(try scene.json("status watch.db"), "status --json")
        check(try scene.json("check phone.db --restore"), "check --restore --json")
        check(try scene.json("status phone.db"), "status --json")
        check(try scene.json("service systemd phone.db --watch"), "service --json")
        check(try scene.json("status phone.db --html page.html --also cloud"), "status --html --json")
        let bad = try scene.run("status cloud --html page.html --json --also none")
        check(try #require(try JSONSerialization.jsonObject(with: bad.output) as? [String: Any]), "status --html --json")
        check(try scene.json("detach watch.db"), "detach --json")
        let away = try scene.run("status phone.db --json --location none")
        #expect(away.status == 69)
        check(try #require(try JSONSerialization.jsonObject(with: away.output) as? [String: Any]), "status --json")
        let refused = try scene.run("export watch.db --json")
        check(try #require(try JSONSerialization.jsonObject(with: refused.errors) as? [String: Any]), "errors")

        try scene.database("own.db").run(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, updated_at TEXT, modified INTEGER, n INTEGER AS (id)); CREATE TABLE v(id TEXT PRIMARY KEY NOT NULL, mtime INTEGER); INSERT INTO v VALUES('a', 1700000000); CREATE TABLE u(x TEXT PRIMARY KEY); INSERT INTO u VALUES(NULL)"
        )
        var described = try scene.json("tables describe own.db")
        described["file"] = [String: Any]()
        check(described, "tables describe --json")
        check(try scene.json("tables own.db"), "tables list --json")
        try scene.database("changed.db").run("CREATE TABLE own(id TEXT PRIMARY KEY NOT NULL)")
        try scene.succeed("init changed.db cloud --zone Changed --name changed")
        try scene.database("changed.db").run("ALTER TABLE own ADD COLUMN more TEXT")
        check(try scene.json("tables adopt changed.db"), "tables adopt --json")
        try scene.database("changed.db").run("CREATE VIEW absent AS SELECT * FROM elsewhere")
        try scene.succeed("sync changed.db")
        check(try scene.json("tables sql changed.db"), "tables sql --json")
        try scene.database("numbered.db").run("CREATE TABLE todo(id INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT)")
        check(try scene.json("init numbered.db team --peers --key-range"), "init --json")
        let unfit = try scene.run("init own.db cloud --zone Own --json")
        check(try #require(try JSONSerialization.jsonObject(with: unfit.errors) as? [String: Any]), "errors")

        let mute = try Scene.phoneAndWatch()
        try mute.succeed("sync watch.db")
        try mute.blockMailbox(of: "watch")
        try mute.database("watch.db").run("UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = (SELECT min(id) FROM notifications)")
        #expect(try mute.run("sync watch.db").status != 0)
        check(try mute.json("status watch.db"), "status --json")

        let contested = try Scene.phoneAndWatch()
        try contested.database("watch.db").run("UPDATE buckets SET name = 'by watch' WHERE id = (SELECT min(id) FROM buckets)")
        try contested.database("phone.db").run("UPDATE buckets SET name = 'by phone' WHERE id = (SELECT min(id) FROM buckets)")
        for name in ["phone", "watch", "phone"] { try contested.succeed("sync \(name).db") }
        for name in ["phone", "watch"] { check(try contested.json("conflicts \(name).db"), "conflicts --json") }
        check(try contested.json("device move watch.db cloud"), "device move --json")
        check(try contested.json("copy cloud copy"), "copy --json")
        check(try contested.json("device rename watch.db kitchen"), "device rename --json")
        let zones = try contested.succeed("zone list cloud --json")
        for zone in try #require(try JSONSerialization.jsonObject(with: Data(zones.utf8)) as? [[String: Any]]) { check(zone, "zone list --json") }
        check(try contested.json("device forget phone.db kitchen"), "device forget --json")

        let signed = try SignedScene()
        check(try signed.json("init phone.db cloud --built-in --name phone --sign"), "init --json")
        try signed.succeed("generate phone.db --notifications 5")
        try signed.succeed("sync phone.db")
        try signed.succeed("join watch.db cloud --name watch")
        check(try signed.json("zone members phone.db"), "zone members --json")
        check(try signed.json("zone approve phone.db watch --yes"), "zone approve --json")
        check(try signed.json("zone role phone.db watch observer"), "zone role --json")
        check(try signed.json("status phone.db"), "status --json")
        check(try signed.json("log phone.db"), "log --json")
        check(try signed.json("zone members phone.db"), "zone members --json")
        check(try signed.json("zone revoke phone.db watch"), "zone revoke --json")
        let sealed = try SignedScene()
        check(try sealed.json("init phone.db cloud --built-in --name phone --encrypt"), "init --json")
        try sealed.succeed("sync phone.db")
        try sealed.join("watch")
        try sealed.join("late") { check($0, "zone approve --json") }
        check(try sealed.json("status phone.db"), "status --json")
        check(try sealed.json("zone revoke phone.db watch"), "zone revoke --json")
        check(try sealed.json("zone rotate-keys phone.db --reseal --new-recovery-code"), "zone rotate-keys --json")
        check(try sealed.json("zone passphrase phone.db --remove"), "zone passphrase --json")
        try checkTurnOver { check($0, $1) }
        try checkHeldRow { check($0, $1) }
        try contested.database("phone.db").run("UPDATE notifications SET bucketId = 'gone' WHERE id = (SELECT min(id) FROM notifications)")
        check(try contested.json("check phone.db --local"), "check --read-data --json")
        check(try contested.json("explain 14"), "explain --json")
        check(try contested.json("explain 78"), "explain --json")
        let entry = try contested.json("conflicts show watch.db 1")
        let shown: [String: Any] = ["conflicts": [entry], "database": "", "held": [Any](), "open": 1, "removed": 0]
        check(shown, "conflicts --json")
        check(try contested.json("conflicts take watch.db 1"), "conflicts take --json")
        check(try contested.json("conflicts clear phone.db"), "conflicts clear --json")

        for (heading, fields) in page.fields {
            // Only a bucket has requests: BucketTests looks at them.
            let unseen = Set(fields.map(\.path).filter { $0.split(separator: ".").first != "requests" }).subtracting(seen[heading] ?? [])
            #expect(unseen.isEmpty, "no report showed \(unseen.sorted()) of \(heading)")
        }
    }

    /// The reports of a row that is held.
    private func checkHeldRow(_ check: ([String: Any], String) throws -> Void) throws {
        let scene = try Scene.pair("CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE)")
        for name in ["a", "b"] {
            try scene.database("\(name).db").run("INSERT INTO t VALUES('\(name)', 'one')")
            try scene.succeed("sync \(name).db")
        }
        try check(scene.json("conflicts b.db"), "conflicts --json")
        try check(scene.json("conflicts edit b.db t b name=two"), "conflicts edit --json, conflicts drop --json")

        // At a reader that may not edit.
        let other = try Scene.pair(
            "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE); INSERT INTO t VALUES('x', 'first')", roles: ("writer", "reader"))
        try other.database("b.db").run("UPDATE t SET name = 'mine' WHERE id = 'x'; INSERT INTO t VALUES('b', 'one')")
        try other.database("a.db").run("UPDATE t SET name = 'theirs' WHERE id = 'x'; INSERT INTO t VALUES('a', 'one')")
        for name in ["a", "b"] { try other.succeed("sync \(name).db") }
        try check(other.json("conflicts take b.db 1"), "conflicts take --json")
        try check(other.json("conflicts edit b.db t b name=two"), "conflicts edit --json, conflicts drop --json")
    }

    /// The reports of a zone that is sealed later, and of its freshness.
    private func checkTurnOver(_ check: ([String: Any], String) throws -> Void) throws {
        let scene = try SignedScene()
        try scene.succeed("init phone.db cloud --built-in --name phone --replicated")
        try scene.succeed("generate phone.db --notifications 5")
        for line in ["sync phone.db", "join watch.db cloud --name watch", "sync watch.db"] { try scene.succeed(line) }
        try check(scene.json("zone encrypt phone.db -n"), "zone sign --json")
        try scene.succeed("copy cloud copy")
        try scene.succeed("generate phone.db --mark-read 1")
        try check(scene.json("zone sign phone.db"), "zone sign --json")
        try scene.succeed("zone sign phone.db --prune-old")
        try check(scene.json("copy cloud copy"), "copy --json")
        try check(scene.json("zone freshness phone.db on"), "zone freshness --json")
        try check(scene.json("status phone.db"), "status --json")
        try check(scene.json("zone encrypt phone.db --prune-old"), "zone sign --json")
        #expect(try scene.run("sync watch.db").status == 75)
        let waiting = try scene.run("status watch.db --json")
        try check(#require(try JSONSerialization.jsonObject(with: waiting.output) as? [String: Any]), "status --json")
    }

    /// A reader that has seen version 2 of a zone that was put back to version 1.
    private func putBack() throws -> Scene {
        let scene = try Scene.phoneAndWatch()
        try scene.scratch.copy(scene.scratch.path("cloud"), to: "backup")
        try scene.database("phone.db").run("UPDATE buckets SET name = 'two'")
        for line in ["sync phone.db", "sync watch.db"] { try scene.succeed(line) }
        try FileManager.default.removeItem(atPath: scene.scratch.path("cloud"))
        try scene.scratch.copy(scene.scratch.path("backup"), to: "cloud")
        return scene
    }

    /// The reports of the commands that keep, compare and bring back versions.
    private func checkVersions(_ scene: Scene, _ check: ([String: Any], String) throws -> Void) throws {
        try scene.succeed("import watch.db")
        try check(try scene.json("pin phone.db 1 --name first"), "pin --json")
        try scene.database("phone.db").run("UPDATE buckets SET name = 'other'")
        try check(try scene.json("sync phone.db -n"), "sync -n --json")
        for line in try scene.succeed("diff phone.db 1 local --values --json").split(separator: "\n") {
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            // The values are named by the dataset's own columns.
            try check(object.mapValues { $0 is [String: Any] ? [String: Any]() : $0 }, object["datasets"] == nil ? "diff --json" : "diff counts --json")
        }
        try check(try scene.json("restore phone.db 1"), "restore --json")
        try check(try scene.json("status phone.db"), "status --json")
        try check(try scene.json("undo phone.db"), "restore --json")
        try check(try scene.json("log phone.db"), "log --json")
        var replaced = try scene.json("export phone.db --replace --yes")
        try check(try #require(replaced["replaced"] as? [String: Any]), "restore --json")
        try check(try #require(replaced["exported"] as? [String: Any]), "export --json")
        for part in ["replaced", "exported"] { replaced[part] = [String: Any]() }
        try check(replaced, "export --replace --json")
        try scene.database("watch.db").run("UPDATE buckets SET name = 'mine'")
        var local = try scene.json("import watch.db --replace --yes")
        try check(try #require(local["imported"] as? [String: Any]), "import --json")
        local["imported"] = [String: Any]()
        try check(local, "import --replace --json")
        try scene.age()
        try check(try scene.json("prune phone.db --keep-last 1"), "prune --json")
        let row = try scene.database("phone.db").run("SELECT id FROM buckets LIMIT 1").trimmingCharacters(in: .newlines)
        try check(try scene.json("log phone.db buckets \(row)"), "log table key --json")
        try check(try scene.json("prune phone.db --keep-last 100 --keep-within 1s"), "prune --json")
        try scene.succeed("config set phone.db keep 1s")
        try check(try scene.json("status phone.db"), "status --json")
        try scene.succeed("config set phone.db keep none")
        try scene.succeed("config set phone.db keep-last 1")
        try scene.age()
        try scene.succeed("generate phone.db --mark-read 2 --seed 4")
        try check(try scene.json("export phone.db"), "export --json")
        try check(try scene.json("status phone.db"), "status --json")
        try check(try scene.json("config set phone.db keep none"), "config list --json")
        try check(try scene.json("config phone.db"), "config list --json")
    }
}
