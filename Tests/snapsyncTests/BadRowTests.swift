import Foundation
import TestSupport
import Testing

/// Rows that cannot travel: an export says which and why, and publishes nothing.
@Suite(.runsPrograms) struct BadRowTests {
    /// How a row of a built-in table is spoilt, and what the refusal says.
    private static let rows: [(sql: String, says: [String])] = [
        ("UPDATE notifications SET attachments = '[1,' WHERE id = 'n'", ["key \"n\"", "column attachments", "not one JSON value"]),
        ("UPDATE notifications SET attachments = '' WHERE id = 'n'", ["key \"n\"", "column attachments", "not one JSON value"]),
        ("UPDATE notifications SET actions = '[] []' WHERE id = 'n'", ["column actions", "text after the end"]),
        ("UPDATE notifications SET actions = '{''a'':1}' WHERE id = 'n'", ["column actions", "not one JSON value"]),
        ("UPDATE notifications SET tapAction = '\"' || CAST(x'C328' AS TEXT) || '\"' WHERE id = 'n'", ["column tapAction", "not UTF-8"]),
        ("UPDATE notifications SET title = CAST(x'61FF62' AS TEXT) WHERE id = 'n'", ["key \"n\"", "column title", "not UTF-8"]),
        ("UPDATE notifications SET title = CAST(x'EDA080' AS TEXT) WHERE id = 'n'", ["column title", "not UTF-8"]),
        ("UPDATE notifications SET title = NULL WHERE id = 'n'", ["column title", "it is NULL, and the column is required", "optional"]),
        ("UPDATE notifications SET body = x'00' WHERE id = 'n'", ["column body", "holds a blob, and the column is of type text"]),
        ("UPDATE buckets SET isOrphan = 2", ["column isOrphan", "a boolean must be 0 or 1"]),
        ("UPDATE buckets SET isOrphan = 'yes'", ["column isOrphan", "holds text, and the column is of type boolean"]),
        ("UPDATE notifications SET id = NULL WHERE id = 'n'", ["the key is NULL"]),
        ("UPDATE notifications SET id = x'6E' WHERE id = 'n'", ["column id", "holds a blob, and the column is of type text"]),
        ("UPDATE notifications SET id = CAST(x'6EFF' AS TEXT) WHERE id = 'n'", ["column id", "not UTF-8"]),
        ("UPDATE notifications SET id = printf('%.1025c', 'k') WHERE id = 'n'", ["longer than 1024 bytes", "use a shorter key"]),
    ]

    /// The built-in tables as a program without much care would make them: nothing is NOT NULL.
    private static let schema = """
        CREATE TABLE buckets(id TEXT PRIMARY KEY, name, description, color, iconUrl, createdAt, updatedAt, isOrphan);
        CREATE TABLE notifications(id TEXT PRIMARY KEY, title, subtitle, body, readAt, sentAt, createdAt, updatedAt, bucketId, attachments, actions, tapAction);
        INSERT INTO buckets VALUES('b', 'B', NULL, NULL, NULL, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 0);
        """

    // One reader takes a small table, several take a large one; both must find the row.
    @Test(arguments: [3, 6000])
    func rowThatCannotTravelStopsTheExport(count: Int) throws {
        let scene = try Scene()
        try scene.database("phone.db").run("PRAGMA journal_mode = WAL;" + Self.schema)
        try scene.database("phone.db").run(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
            INSERT INTO notifications SELECT CASE i WHEN 3 THEN 'n' ELSE printf('m%05d', i) END, 'T', NULL, NULL, NULL, NULL,
                '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 'b', '[]', '[]', NULL FROM n
            """)
        try scene.succeed("init phone.db cloud --built-in --name phone")
        try scene.succeed("export phone.db")
        try scene.scratch.copy(scene.scratch.path("phone.db"), to: "good.db")
        for (sql, says) in Self.rows {
            try FileManager.default.removeItem(atPath: scene.scratch.path("phone.db"))
            try scene.scratch.copy(scene.scratch.path("good.db"), to: "phone.db")
            try scene.database("phone.db").run(sql)
            try scene.refuse(
                "export phone.db", exit: 65, saying: [sql.contains("buckets") ? "buckets" : "notifications"] + says, watching: ["phone.db"])
        }
        // Nothing lies about, and the next good export is version 2.
        try FileManager.default.removeItem(atPath: scene.scratch.path("phone.db"))
        try scene.scratch.copy(scene.scratch.path("good.db"), to: "phone.db")
        try scene.database("phone.db").run("UPDATE notifications SET title = 'good' WHERE id = 'n'")
        #expect(try scene.json("export phone.db")["version"] as? Int == 2)
        try scene.succeed("check phone.db --all-versions --local")
    }

    @Test func badRowOfTheFirstExportLeavesNothingBehind() throws {
        let scene = try Scene()
        try scene.database("phone.db").run(Self.schema + "INSERT INTO notifications(id, title) VALUES('n', 'T')")
        try scene.succeed("init phone.db cloud --built-in --name phone")
        let run = try scene.run("export phone.db")
        Scene.checkRefusal(run, exit: 65, saying: ["notifications", "it is NULL, and the column is required"])
        // The other dataset of the same export was good; its file is gone all the same.
        let files = try FileListing(of: scene.scratch.path(Scene.zone)).entries.filter {
            $0.key.hasSuffix(".gz") || $0.key.hasSuffix(".tmp") || $0.key.contains("commits/")
        }
        #expect(files.isEmpty, "\(files)")
    }

    /// One run names the bad rows of all datasets: the first twenty, and how many there are.
    @Test(arguments: [30, 6000])
    func oneRunNamesAllBadRows(count: Int) throws {
        let scene = try Scene()
        try scene.database("phone.db").run("PRAGMA journal_mode = WAL;" + Self.schema)
        try scene.database("phone.db").run(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
            INSERT INTO notifications SELECT printf('m%05d', i), 'T', NULL, NULL, NULL, NULL,
                '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 'b', '[]', '[]', NULL FROM n
            """)
        try scene.succeed("init phone.db cloud --built-in --name phone")
        try scene.succeed("export phone.db")
        try scene.scratch.copy(scene.scratch.path("phone.db"), to: "good.db")
        try scene.database("phone.db").run(
            """
            UPDATE notifications SET title = NULL WHERE id IN ('m00002', 'm00029');
            UPDATE notifications SET title = CAST(x'61FF62' AS TEXT) WHERE id = 'm00003';
            UPDATE notifications SET attachments = '[1,' WHERE id = 'm00004';
            UPDATE notifications SET body = x'00' WHERE id = 'm00005';
            INSERT INTO notifications SELECT NULL, title, subtitle, body, readAt, sentAt, createdAt, updatedAt, bucketId, attachments, actions, tapAction
                FROM notifications WHERE id = 'm00001';
            UPDATE buckets SET isOrphan = 2;
            """)
        let cloud = try scene.cloudListing()
        let refused = try scene.run("export phone.db")
        #expect(refused.status == 65)
        #expect(refused.output.isEmpty)
        #expect(refused.errorText.split(separator: "\n").count == 9)
        for part in [
            "7 rows cannot be synced; nothing was published", "\n  buckets, key \"b\", column isOrphan: a boolean must be 0 or 1",
            "a row without a usable key",
            "\n  notifications, key \"m00002\", column title: it is NULL", "key \"m00003\", column title: the text is not UTF-8",
            "key \"m00004\", column attachments: it is not one JSON value", "key \"m00005\", column body: it holds a blob", "key \"m00029\"", "\n  hint: ",
        ] { #expect(refused.errorText.contains(part), "\(part) in \(refused.errorText)") }
        #expect(try scene.cloudListing() == cloud)
        let json = try scene.run("export phone.db --json")
        let body = try #require(try JSONSerialization.jsonObject(with: json.errors) as? [String: [String: Any]])
        #expect((body["error"]?["details"] as? [String])?.count == 7)
        #expect(body["error"]?["exitCode"] as? Int == 65)

        try scene.database("phone.db").run("UPDATE notifications SET title = NULL")
        let run = try scene.run("sync phone.db")
        #expect(run.status == 65)
        #expect(run.errorText.contains("\(count + 2) rows cannot be synced") && run.errorText.contains("\n  and \(count + 2 - 20) more\n"))
        #expect(run.errorText.split(separator: "\n").count == 23)
        #expect(try scene.json("log cloud")["newestVersion"] as? Int == 1)

        // Only the rows that are mended leave the list; a single one is told as ever.
        try FileManager.default.removeItem(atPath: scene.scratch.path("phone.db"))
        try scene.scratch.copy(scene.scratch.path("good.db"), to: "phone.db")
        try scene.database("phone.db").run("UPDATE notifications SET title = NULL WHERE id = 'm00002'")
        Scene.checkRefusal(
            try scene.run("export phone.db"), exit: 65, saying: ["notifications, key \"m00002\", column title: it is NULL, and the column is required"])
    }

    @Test func numbersThatJSONLacksAreRefused() throws {
        let scene = try Scene()
        try scene.scratch.write(
            #"{"formatVersion": 1, "datasets": [{"name": "t", "key": "id", "columns": [{"name": "id", "type": "integer"}, {"name": "v", "type": "real"}, {"name": "n", "type": "integer"}]}]}"#,
            to: "t.json")
        for (sql, says) in [
            ("INSERT INTO t VALUES(1, 9e999, 0)", ["column v", "infinite"]),
            ("INSERT INTO t VALUES(1, 'text', 0)", ["column v", "holds text, and the column is of type real"]),
            ("INSERT INTO t VALUES(1, 0, 1.5)", ["column n", "holds a real number, and the column is of type integer"]),
            ("INSERT INTO t VALUES(1, 0, 9223372036854775808)", ["column n", "holds a real number"]),
        ] {
            let fresh = try Scene()
            try fresh.scratch.copy(scene.scratch.path("t.json"), to: "t.json")
            try fresh.database("t.db").run("CREATE TABLE t(id INTEGER PRIMARY KEY, v, n); \(sql)")
            try fresh.succeed("init t.db cloud --datasets t.json")
            let run = try fresh.run("export t.db")
            Scene.checkRefusal(run, exit: 65, saying: ["t, key 1"] + says)
            #expect(try fresh.json("log cloud")["newestVersion"] == nil)
        }
    }
}
