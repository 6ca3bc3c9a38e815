import Foundation
import TestSupport
import Testing

/// `changes`, the feed of all changes, and `--on-import`.
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct ChangesTests {
    /// A writer with five versions: of a table above 1 MiB, and of one below it.
    private static func made() throws -> Scene {
        try Scene.copy(of: "ChangesTests") { scene in
            try scene.database("a.db").run(
                """
                CREATE TABLE large(id INTEGER PRIMARY KEY, title TEXT, n INTEGER);
                CREATE TABLE pairs(a TEXT NOT NULL, b INTEGER NOT NULL, v, PRIMARY KEY(a, b));
                INSERT INTO pairs VALUES('x', 1, NULL), ('x', 2, 'v');
                WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 12000) INSERT INTO large SELECT n, hex(randomblob(100)), n FROM c;
                """)
            try scene.succeed("init a.db cloud --name a")
            try scene.succeed("sync a.db")
            for sql in [
                "UPDATE large SET title = 'two', n = NULL WHERE id = 7; INSERT INTO large VALUES(20000, 'new', 1); DELETE FROM large WHERE id = 5",
                "UPDATE pairs SET v = x'00' WHERE b = 1; DELETE FROM pairs WHERE b = 2; INSERT INTO pairs VALUES('y', 3, 1)",
                "DELETE FROM large WHERE id = 20000",
                "UPDATE large SET n = n + 1 WHERE id < 4",
            ] {
                try scene.database("a.db").run(sql)
                try scene.succeed("sync a.db")
            }
        }
    }

    private func lines(_ text: String) throws -> [[String: Any]] {
        try text.split(separator: "\n").map { try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
    }

    /// A line without its times: `2 large changed "7" title n`, or `2: 3` for a version.
    private func short(_ line: [String: Any]) throws -> String {
        guard let table = line["table"] as? String else { return "\(line["version"] ?? ""): \(line["changes"] ?? "")" }
        #expect(line["device"] as? String == "a" && (line["instant"] as? String)?.hasSuffix("Z") == true)
        let key = String(decoding: try JSONSerialization.data(withJSONObject: line["key"] ?? "", options: .fragmentsAllowed), as: UTF8.self)
        return (["\(line["version"] ?? "")", table, line["change"] as? String ?? "", key] + (line["columns"] as? [String] ?? [])).joined(separator: " ")
    }

    @Test func everyChangeComesOnceAndInOrder() throws {
        let scene = try Self.made()
        let expected = [
            ["2 large removed \"5\"", "2 large changed \"7\" title n", "2 large added \"20000\"", "2: 3"],
            ["3 pairs changed [\"x\",1] v", "3 pairs removed [\"x\",2]", "3 pairs added [\"y\",3]", "3: 3"], ["4 large removed \"20000\"", "4: 1"],
            ["5 large changed \"1\" n", "5 large changed \"2\" n", "5 large changed \"3\" n", "5: 3"],
        ]
        for since in 1...5 {
            for location in ["cloud", "a.db"] {
                let found = try lines(scene.succeed("changes \(location) --since \(since) --ndjson"))
                #expect(try found.map(short) == expected.dropFirst(since - 1).flatMap(\.self), "\(location) since \(since)")
            }
        }
        // Applied to nothing, all changes give the table.
        var rows: Set<String> = []
        for line in try lines(scene.succeed("changes cloud --since 0 --ndjson")) where line["table"] as? String == "large" {
            let key = try #require(line["key"] as? String)
            switch line["change"] as? String {
            case "added": #expect(rows.insert(key).inserted)
            case "removed": #expect(rows.remove(key) != nil)
            default: #expect(rows.contains(key))
            }
        }
        #expect(try Set(scene.database("a.db").run("SELECT id FROM large").split(separator: "\n").map(String.init)) == rows)
        #expect(try scene.succeed("changes cloud --since 4").hasPrefix("  changed large \"1\": n\n"))
        try scene.refuse("changes cloud --since 9", exit: 66, saying: ["version 9", "the newest is 5"])
        #expect(try scene.run("changes cloud --since -1").status == 64)
    }

    @Test func prunedStartIsRefusedWithAWayToStartAgain() throws {
        let scene = try Self.made()
        for number in 6...40 {
            try scene.database("a.db").run("UPDATE pairs SET v = \(number) WHERE b = 1")
            try scene.succeed("sync a.db --quiet")
        }
        try scene.age()
        try scene.succeed("prune a.db --keep-last 3")
        for since in [0, 5] {
            try scene.refuse("changes cloud --since \(since)", exit: 66, saying: ["version \(since)", "was pruned", "changes", "--since 41"])
        }
        #expect(try lines(scene.succeed("changes cloud --since 39 --ndjson")).map(short) == ["40 pairs changed [\"x\",1] v", "40: 1", "41: 0"])
    }

    @Test func damageEndsTheFeedBeforeTheVersion() throws {
        let scene = try Self.made()
        try scene.scratch.edit(scene.newest("assets/large_data", ".changes.json.gz")) { $0[$0.count / 2] ^= 1 }
        let run = try scene.run("changes cloud --since 2 --ndjson")
        #expect(run.status == 65 && run.errorText.contains("large, changes 5"), "\(run.errorText)")
        #expect(try lines(run.text).map(short).last == "4: 1")
    }

    @Test func followingGoesOnWithNewVersions() throws {
        let scene = try Self.made()
        let feed = try RunningProgram(
            BuiltCommand.path(), ["changes", "cloud", "--since", "4", "--follow", "--poll", "200ms", "--ndjson"], in: scene.scratch.path)
        defer { feed.kill() }
        func wait(for ending: String) throws -> Bool {
            let end = Date.now.addingTimeInterval(60)
            while try !feed.outputSoFar().contains(ending), Date.now < end { usleep(20_000) }
            return try feed.outputSoFar().contains(ending)
        }
        #expect(try wait(for: "\"version\":5}\n") || wait(for: "\"changes\":3"))
        try scene.database("a.db").run("UPDATE pairs SET v = 7 WHERE b = 3")
        try scene.succeed("sync a.db")
        #expect(try wait(for: "[\"y\",3]"))
        let found = try lines(feed.outputSoFar()).map(short)
        #expect(found.filter { $0.hasPrefix("5") }.count == 4 && found.contains("6 pairs changed [\"y\",3] v"))
    }

    @Test(.enabled(if: SignedScene.isAvailable)) func sealedZoneIsReadWithTheKeysOfADevice() throws {
        let scene = try SignedScene()
        try scene.succeed("generate phone.db --notifications 30 --buckets 3")
        _ = try scene.initSealed("init phone.db cloud --built-in --name phone --encrypt")
        try scene.succeed("sync phone.db")
        #expect(try scene.run("changes phone.db --since 0 --ndjson").text.split(separator: "\n").count == 34)
        #expect(try scene.run("changes cloud --since 0 --ndjson").status == 78)
    }

    @Test func commandForImportsGetsTheChanges() throws {
        let scene = try Self.made()
        try scene.succeed("join b.db cloud --name b")
        let command =
            "printf '%s|%s|%s|%s|%s\\n' \"$SNAPSYNC_VERSION_BEFORE\" $SNAPSYNC_VERSION \"$SNAPSYNC_TABLES\" \"$SNAPSYNC_ADDED\" \"$SNAPSYNC_CHANGED\" >> told.txt; cat > lines.txt"
        func sync() throws {
            let run = try BuiltCommand.run(["sync", "b.db", "--on-import", command], in: scene.scratch.path)
            #expect(run.status == 0 && run.errorText == "", "\(run.errorText)")
        }
        try sync()
        try sync()
        #expect(try scene.scratch.read("lines.txt").isEmpty)
        try scene.database("a.db").run("INSERT INTO pairs VALUES('z', 4, 4); UPDATE large SET n = 1 WHERE id = 9")
        try scene.succeed("sync a.db")
        try sync()
        #expect(String(decoding: try scene.scratch.read("told.txt"), as: UTF8.self) == "|5|large pairs||\n5|6|large pairs|1|1\n")
        #expect(String(decoding: try scene.scratch.read("lines.txt"), as: UTF8.self) == (try scene.succeed("changes cloud --since 5 --ndjson")))
        #expect(
            try BuiltCommand.run(["service", "cron", "b.db", "--every", "5m", "--on-import", "./feed"], in: scene.scratch.path).text.contains(
                "--on-import ./feed"))
    }
}
