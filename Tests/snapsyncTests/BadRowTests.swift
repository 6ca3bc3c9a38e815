import Foundation
import TestSupport
import Testing

/// Rows that cannot travel: an export says which and why, and publishes nothing.
@Suite(.runsPrograms) struct BadRowTests {
    /// How each of some rows is spoilt, the column that the refusal names, and what it says.
    private static let rows: [(change: String, column: String, says: String)] = [
        ("title = NULL", "title", "it is NULL, and the column is required"), ("title = CAST(x'61FF62' AS TEXT)", "title", "not UTF-8"),
        ("title = CAST(x'EDA080' AS TEXT)", "title", "not UTF-8"), ("tapAction = '\"' || CAST(x'C328' AS TEXT) || '\"'", "tapAction", "not UTF-8"),
        ("attachments = '[1,'", "attachments", "it is not one JSON value"), ("attachments = ''", "attachments", "it is not one JSON value"),
        ("actions = '[] []'", "actions", "text after the end"), ("actions = '{''a'':1}'", "actions", "it is not one JSON value"),
        ("body = x'00'", "body", "it holds a blob, and the column is of type text"), ("id = NULL", "id", "the key is NULL"),
        ("id = x'6E'", "id", "it holds a blob, and the column is of type text"), ("id = CAST(x'6EFF' AS TEXT)", "id", "not UTF-8"),
        ("id = printf('%.1025c', 'k')", "id", "longer than 1024 bytes"),
    ]

    /// The built-in tables as a program without much care would make them: nothing is NOT NULL.
    private static let schema = """
        CREATE TABLE buckets(id TEXT PRIMARY KEY, name, description, color, iconUrl, createdAt, updatedAt, isOrphan);
        CREATE TABLE notifications(id TEXT PRIMARY KEY, title, subtitle, body, readAt, sentAt, createdAt, updatedAt, bucketId, attachments, actions, tapAction);
        INSERT INTO buckets VALUES('b', 'B', NULL, NULL, NULL, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 0);
        """

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

    /// One run names the bad rows of all datasets: the first twenty, and how many there are. One reader takes a small table, several take a large one.
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
        // The first of them is the table's last row.
        let keys = Self.rows.indices.map { String(format: "m%05d", $0 == 0 ? count : $0 + 1) }
        try scene.database("phone.db").run(
            zip(Self.rows, keys).map { "UPDATE notifications SET \($0.change) WHERE id = '\($1)';" }.joined()
                + "INSERT INTO buckets SELECT 'c', name, description, color, iconUrl, createdAt, updatedAt, 'yes' FROM buckets; UPDATE buckets SET isOrphan = 2 WHERE id = 'b'"
        )
        let cloud = try scene.cloudListing()
        let refused = try scene.run("export phone.db")
        #expect(refused.status == 65)
        #expect(refused.output.isEmpty)
        let lines = refused.errorText.split(separator: "\n")
        #expect(lines.count == 17 && refused.errorText.contains("15 rows cannot be synced; nothing was published"), "\(refused.errorText)")
        for (row, key) in zip(Self.rows, keys) {
            let place = row.column == "id" ? ", column id: " : "  notifications, key \"\(key)\", column \(row.column): "
            #expect(lines.contains { $0.contains(place) && $0.contains(row.says) }, "\(row) in \(refused.errorText)")
        }
        for part in [
            "\n  buckets, key \"b\", column isOrphan: a boolean must be 0 or 1",
            "\n  buckets, key \"c\", column isOrphan: it holds text, and the column is of type boolean",
            "a row without a usable key", "\n  hint: ", "optional", "use a shorter key",
        ] { #expect(refused.errorText.contains(part), "\(part) in \(refused.errorText)") }
        #expect(try scene.cloudListing() == cloud)
        let json = try scene.run("export phone.db --json")
        let body = try #require(try JSONSerialization.jsonObject(with: json.errors) as? [String: [String: Any]])
        #expect((body["error"]?["details"] as? [String])?.count == 15)
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
        try scene.database("t.db").run(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, v, n); INSERT INTO t VALUES(1, 9e999, 0), (2, 'text', 0), (3, 0, 1.5), (4, 0, 9223372036854775808)")
        try scene.succeed("init t.db cloud --datasets t.json")
        let run = try scene.run("export t.db")
        #expect(run.status == 65 && run.output.isEmpty)
        for line in [
            "t, key 1, column v: an infinite number has no JSON text", "t, key 2, column v: it holds text, and the column is of type real",
            "t, key 3, column n: it holds a real number, and the column is of type integer", "t, key 4, column n: it holds a real number",
        ] { #expect(run.errorText.contains("\n  \(line)"), "\(line) in \(run.errorText)") }
        #expect(try scene.json("log cloud")["newestVersion"] == nil)
    }
}
