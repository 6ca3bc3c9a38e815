import Foundation
import TestSupport
import Testing

/// `snapsync report` writes one page that says how databases and clouds are.
@Suite(.runsPrograms) struct PageTests {
    @Test func pageSaysHowADatabaseIs() throws {
        let scene = try Scene.phoneAndWatch(notifications: 30, buckets: 4)
        try scene.publishMore(3)
        try scene.database("phone.db").run("UPDATE notifications SET title = 'new' WHERE id IN (SELECT id FROM notifications LIMIT 2)")
        try scene.database("watch.db").run("UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = (SELECT min(id) FROM notifications)")
        try scene.succeed("pin 2 --name first --db phone.db")
        let words = try scene.page("--db phone.db").words()
        for part in [
            "Sync report: phone.db", "Newest version 5", "Devices that have it 1 of 2", "Rows 34 in 2 datasets", "watch (reader) is 3 versions behind",
            "Device phone, a writer", "Changed since notifications: 2 rows", "watch 3 behind 1", "4 versions by 1 publisher", "notifications 30",
            "From version 3 to version 4", "notifications 0 1 0 29", "phone publishes, and so can whoever may write the cloud",
            "too little history for one", "pinned: first",
        ] {
            #expect(words.contains(part), "\(part): \(words)")
        }
        let verdict = try scene.json("report --html page.html --db phone.db")
        #expect(verdict["severity"] as? String == "notice")
        #expect(verdict["verdict"] as? String == "All is well: version 5 is the newest, and 1 of 2 devices gets it at the next sync.")
        #expect(verdict["size"] as? Int == (try scene.scratch.read("page.html").count))
        let reader = try scene.page("--db watch.db").words()
        #expect(reader.contains("Version here 1, 3 behind the newest") && reader.contains("Device watch, a reader"), "\(reader)")
        // To look changes nothing, in the cloud or in the database.
        let before = try scene.cloudListing(), rows = try scene.database("phone.db").run(".dump")
        _ = try scene.page("--db phone.db --cloud cloud --values")
        #expect(try scene.cloudListing() == before && scene.database("phone.db").run(".dump") == rows)
    }

    @Test func changedRowsAreThoseThatDiffCounts() throws {
        let scene = try Scene.phone(notifications: 40, buckets: 3)
        for count in [1, 5, 2] {
            try scene.database("phone.db").run(
                "UPDATE notifications SET title = title || '\(count)', updatedAt = '2099-01-0\(count)T00:00:00Z' WHERE id IN (SELECT id FROM notifications LIMIT \(count))"
            )
            try scene.succeed("sync --db phone.db")
        }
        try scene.database("phone.db").run("DELETE FROM notifications WHERE id = (SELECT min(id) FROM notifications)")
        try scene.succeed("sync --db phone.db")
        let words = try scene.page("--cloud cloud").words()
        var changed: [Int] = []
        for version in 2...5 {
            let lines = try scene.succeed("diff \(version - 1) \(version) --cloud cloud --json").split(separator: "\n")
            let last = Data(try #require(lines.last).utf8)
            let counts = try #require(try JSONSerialization.jsonObject(with: last) as? [String: Any])
            var count = 0
            for one in try #require(counts["datasets"] as? [[String: Any]]) {
                for kind in ["added", "changed", "removed"] { count += try #require(one[kind] as? Int) }
            }
            changed.append(count)
        }
        #expect(changed == [1, 5, 2, 1])
        for (version, count) in zip(2...5, changed) {
            #expect(words.range(of: "\(version) 20[0-9-]+ [0-9:]+ phone notifications: \(count) ", options: .regularExpression) != nil, "\(version): \(words)")
        }
        #expect(words.range(of: "1 20[0-9-]+ [0-9:]+ phone buckets: 3, notifications: 40 ", options: .regularExpression) != nil)
    }

    @Test func valuesAreShownOnlyWhenAskedFor() throws {
        let scene = try Scene.phone(notifications: 5, buckets: 1)
        try scene.database("phone.db").run("UPDATE buckets SET name = 'a very secret name', updatedAt = '2099-01-01T00:00:00Z'")
        try scene.succeed("sync --db phone.db")
        let key = try scene.value("SELECT id FROM buckets", in: "phone.db")
        let page = try scene.page("--db phone.db")
        #expect(!page.text.contains("secret") && page.text.contains(key))
        #expect(try scene.page("--db phone.db --values").words().contains("→ \"a very secret name\""))
    }

    @Test func severalCloudsStandOnOnePage() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.succeed("mirror cloud other")
        let page = try scene.page("--db watch.db --cloud cloud --cloud other --cloud nowhere", exit: 69)
        let words = try page.words()
        #expect(words.contains("Sync report: 4 zones") && words.contains("nowhere needs attention; all is well in the others."), "\(words)")
        #expect(words.contains("Syncing fails: nowhere: the directory cannot be opened: No such file or directory."), "\(words)")
        #expect(page.text.components(separatedBy: "<h2").count == 5)
        let report = try scene.run("report --html page.html --cloud cloud --cloud nowhere --json")
        let json = try #require(try JSONSerialization.jsonObject(with: report.output) as? [String: Any])
        #expect(report.status == 69 && json["severity"] as? String == "error" && (json["zones"] as? [Any])?.count == 2)
        // The environment names what no flag does.
        let run = try scene.run("report --html page.html", environment: ["SNAPSYNC_CLOUD": "other"])
        #expect(run.status == 0 && run.text.contains("All is well"), "\(run.errorText)")
    }

    @Test func zoneThatIsDamagedReplacedOrOffIsTold() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.publishMore(1)
        try scene.succeed("disable --db watch.db")
        let off = try scene.page("--db watch.db").words()
        #expect(off.contains("this database is not synced"), "\(off)")
        let asset = try scene.asset("notifications")
        try scene.scratch.write(Data(try scene.scratch.read(asset).dropLast(3)), to: asset)
        try scene.age()
        let words = try scene.page("--db phone.db").words()
        #expect(words.contains("Syncing fails: 1 file of version 2 has another size than its commit says"), "\(words)")
        #expect(words.contains("The last two versions cannot be compared"), "\(words)")

        let replaced = try Scene()
        try replaced.versionsOfOneNumber()
        let other = try replaced.page("--db laptop.db").words()
        #expect(other.contains("the commit there is not the one that this device has read"), "\(other)")
    }

    @Test func signedZoneSaysWhoSignsAndWhoAsks() throws {
        try #require(SignedScene.isAvailable)
        let scene = try SignedScene.phoneAndWatch()
        let run = try scene.run("report --html page.html --db phone.db --cloud cloud")
        try #require(run.status == 0, "\(run.errorText)")
        let page = try PageFile(scene.scene.scratch.path("page.html"))
        #expect(try page.faults() == "")
        let words = try page.words(), asks = try scene.words("watch")
        #expect(words.contains("phone made the zone. Its words: \(try scene.words("phone"))."), "\(words)")
        #expect(words.contains("phone (this device) writer") && words.contains("watch reader \(asks)"), "\(words)")
        #expect(words.contains("Compare the words with those on the device before you approve."))
        // The command asks for the comparison; a page from a cloud must not make it for anybody.
        let commands = try page.commands().filter { $0.contains("approve") }
        #expect(commands == ["snapsync member approve watch --db \(scene.scene.scratch.path("phone.db"))", "snapsync member approve watch --db FILE"])
        try scene.succeed("member approve watch --yes --db phone.db")
        _ = try scene.run("report --html page.html --db phone.db")
        #expect(try PageFile(scene.scene.scratch.path("page.html")).words().contains("watch reader \(asks) phone"))
    }

    @Test func commandsOfThePageCanBeRun() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.publishMore(2)
        let all = try scene.page("--db phone.db").commands() + scene.page("--cloud cloud").commands()
        #expect(all.count >= 15 && all.contains("snapsync restore --version 2 --db \(scene.scratch.path("phone.db"))"), "\(all)")
        let path = "\(URL(fileURLWithPath: try BuiltCommand.path()).deletingLastPathComponent().path):/usr/bin:/bin"
        for line in all {
            // FILE stands for a database.
            let line = line.replacing("FILE", with: "phone.db")
            let run = try ProgramRun("/bin/sh", ["-c", line], in: scene.scratch.path, environment: ["PATH": path])
            #expect(run.status == 0, "\(line): \(run.errorText)")
        }
        #expect(try scene.succeed("diff 2 local --db phone.db").contains("notifications: 0 added, 0 changed, 0 removed, 30 unchanged"))
    }

    @Test func pageIsReplacedWholeAndKeepsItsPermissions() throws {
        let scene = try Scene.phone()
        _ = try scene.page("--db phone.db")
        func mode() throws -> Int? { try FileManager.default.attributesOfItem(atPath: scene.scratch.path("page.html"))[.posixPermissions] as? Int }
        #expect(try mode() == 0o600)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: scene.scratch.path("page.html"))
        if TracedRun.isPossible {
            let run = try TracedRun(
                BuiltCommand.path(), ["report", "--html", "page.html", "--db", "phone.db"], calls: "fsync,rename,renameat,renameat2", in: scene.scratch.path)
            #expect(run.run.status == 0, "\(run.run.errorText)")
            let calls = run.calls.filter { $0.text.contains("page.html") || $0.text.contains("\(scene.scratch.path)>") }
            #expect(calls.map { $0.name.prefix(6) } == ["fsync", "rename", "fsync"], "\(calls)")
        }
        #expect(try scene.run("report --html page.html --db phone.db").status == 0 && mode() == 0o644)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scene.scratch.path).allSatisfy { !$0.hasSuffix(".tmp") })
        // Where it cannot be written, the old page stays.
        let before = try scene.scratch.read("page.html")
        try FileManager.default.createDirectory(atPath: scene.scratch.path("folder/page.html"), withIntermediateDirectories: true)
        let refused = try scene.run("report --html folder/page.html --db phone.db")
        #expect(refused.status == 74 && refused.errorText.contains("cannot be put in place"), "\(refused.errorText)")
        #expect(try scene.run("report --html gone/page.html --db phone.db").status == 74)
        #expect(try scene.scratch.read("page.html") == before)
    }

    @Test func forecastIsTheLineThroughTheSizes() throws {
        let scene = try Scene()
        try scene.database("shop.db").run("CREATE TABLE t(id INTEGER PRIMARY KEY, text TEXT)")
        try scene.succeed("init --db shop.db --cloud cloud --role writer --device shop --tables all")
        for _ in 1...6 {
            try scene.database("shop.db").run(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) INSERT INTO t(text) SELECT hex(randomblob(40)) FROM n")
            try scene.succeed("sync --db shop.db --quiet")
        }
        try scene.lengthenHistory(days: 10, versions: 6, devices: 0)
        let words = try scene.page("--cloud cloud").words()
        let found = try #require(words.firstMatch(of: #/ t \d+ [0-9.]+ k?B .* grows by ([0-9.]+) (k?B) a day/#), "\(words)")
        // The same line, computed from the commits by another program.
        let slope = try Python.run(
            """
            import json, os, sys, datetime
            points, known = [], None
            for name in sorted(os.listdir(sys.argv[1])):
                commit = json.load(open(sys.argv[1] + '/' + name))['commit']
                for record in commit['saved']:
                    if record['name'] == 't_data':
                        at = datetime.datetime.fromisoformat(commit['timestamp'].replace('Z', '+00:00')).timestamp() / 86400
                        points.append((at, record['fields']['dataFile']['value']['size']))
            mx, my = sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points)
            print(sum((x - mx) * (y - my) for x, y in points) / sum((x - mx) ** 2 for x, _ in points))
            """, [scene.scratch.path("\(Scene.zone)/commits")])
        let expected = try #require(Double(slope.trimmingCharacters(in: .whitespacesAndNewlines)))
        let shown = try #require(Double(found.1)) * (found.2 == "kB" ? 1000 : 1)
        #expect(abs(shown - expected) / expected < 0.06, "\(shown), not \(expected)")
    }

    @Test func pageOfALongHistoryStaysSmall() throws {
        let scene = try Scene.phone(notifications: 200, buckets: 3)
        try scene.publishMore(4)
        try scene.lengthenHistory(days: 200, versions: 10_000, devices: 500)
        let report = try scene.json("report --html page.html --cloud cloud")
        let page = try PageFile(scene.scratch.path("page.html"))
        #expect(try page.faults() == "")
        let size = try #require(report["size"] as? Int), milliseconds = try #require(report["milliseconds"] as? Int)
        print("a page of 10,000 versions and 500 devices: \(size) bytes, \(milliseconds) ms without optimisation")
        #expect(size < 2_000_000)
        let points = page.text.components(separatedBy: "<g class=\"point\"").count - 1
        #expect(points == (try PageTests.spans(of: scene, seconds: 3 * 86_400)) && points <= 96 && points > 60, "\(points)")
        #expect(try page.words().contains("Each bar stands for 3 d, which is up to 15"))
    }

    /// How many spans of time have versions, counted from the commits by another program.
    static func spans(of scene: Scene, seconds: Int) throws -> Int {
        let text = try Python.run(
            """
            import json, os, sys, datetime
            def slot(name):
                at = json.load(open(sys.argv[1] + '/' + name))['commit']['timestamp']
                return int(datetime.datetime.fromisoformat(at.replace('Z', '+00:00')).timestamp()) // int(sys.argv[2])
            print(len({slot(name) for name in os.listdir(sys.argv[1])}))
            """, [scene.scratch.path("\(Scene.zone)/commits"), "\(seconds)"])
        return try #require(Int(text.trimmingCharacters(in: .whitespacesAndNewlines)))
    }
}
