import Foundation
import SnapshotModel
import TestSupport
import Testing

/// A version says when each column of a row was changed, and every device keeps what it says.
@Suite(.runsPrograms) struct ColumnInstantTests {
    /// A key of two columns, one of which ignores case and the other of which holds anything, with timestamps; and a blob key without.
    private static let tables = """
        CREATE TABLE notes(name TEXT COLLATE NOCASE NOT NULL, part NOT NULL, title, "a ""b'" TEXT, pad TEXT, changed TEXT, PRIMARY KEY(name, part)) WITHOUT ROWID;
        CREATE TABLE files(id BLOB PRIMARY KEY NOT NULL, a, b, c) WITHOUT ROWID;
        """
    private static let rowCount = 3000
    private static let fill = """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rowCount))
        INSERT INTO notes SELECT CASE i % 3 WHEN 0 THEN 'Name' ELSE 'nAMe' END || i, CASE i % 4 WHEN 0 THEN i WHEN 1 THEN i + 0.5 WHEN 2 THEN 'p' || i ELSE unhex('00FF') END,
            't', 'x', hex(randomblob(400)), '2026-01-01T00:00:00Z' FROM n;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rowCount))
        INSERT INTO files SELECT unhex(printf('00%06x', i)), 1, 2, hex(randomblob(300)) FROM n;
        """
        .replacing("unhex('00FF')", with: "x'00FF'").replacing("unhex(printf('00%06x', i))", with: "CAST(printf('f%06d', i) AS BLOB)")

    private func scene(_ second: String = "reader") throws -> Scene {
        try Scene.pair(Self.tables + Self.fill, roles: (second == "peer" ? "peer" : "writer", second))
    }

    /// What a database keeps of the version's instants, for each row in the order of the keys.
    private func instants(_ scene: Scene, _ device: String) throws -> String {
        try scene.database("\(device).db").run(
            """
            SELECT t.dataset, hex(key), at, rest, born, (SELECT group_concat(k || '=' || v) FROM (SELECT e.key AS k, e.value AS v FROM json_each(columns) e ORDER BY 1))
            FROM snapsync_instants i JOIN snapsync_tracking t ON t.id = i.dataset ORDER BY 1, 2
            """)
    }

    /// A container's text from its first comma on: all but the time.
    private func container(_ scene: Scene, _ dataset: String) throws -> String {
        let text = try scene.run("show cloud \(dataset)").text
        return String(text.drop { $0 != "," })
    }

    @Test(arguments: Sample.of(1...3, oneIn: 3)) func whatAVersionSaysIsKeptAndGivenOn(seed: Int) throws {
        let scene = try scene()
        var random = SeededGenerator(seed: UInt64(seed))
        for round in 0..<4 {
            for _ in 0..<5 {
                let some = "rowid_ % \(random.below(40) + 5) = \(random.below(5))"
                let notes = some.replacing("rowid_", with: "length(name) + unicode(substr(pad, \(random.below(300) + 1), 1))")
                let files = some.replacing("rowid_", with: "CAST(substr(id, 2) AS INTEGER)")
                let statement = [
                    "UPDATE notes SET title = 'r\(round)' || \(random.below(3)) WHERE \(notes)",
                    "UPDATE notes SET title = 'u', changed = strftime('%Y-%m-%dT%H:%M:%fZ') WHERE \(notes)",
                    "UPDATE notes SET \"a \"\"b'\" = 'q\(round)', changed = '2026-02-0\(round + 1)T00:00:00Z' WHERE \(notes)",
                    "UPDATE notes SET name = upper(name) WHERE \(notes)",
                    "UPDATE files SET a = a + 1 WHERE \(files)", "UPDATE files SET b = NULL, a = 7 WHERE \(files)",
                    "REPLACE INTO files SELECT id, a, b || 'x', c FROM files WHERE \(files)",
                    "DELETE FROM files WHERE \(files) AND CAST(substr(id, 2) AS INTEGER) % 7 = 1",
                    "INSERT OR IGNORE INTO files VALUES(CAST('f\(100_000 + random.below(500))' AS BLOB), 1, 1, 1)",
                ][random.below(9)]
                try scene.database("a.db").run(statement)
                Thread.sleep(forTimeInterval: 0.003)
            }
            try scene.sync("a", "b")
            #expect(try instants(scene, "b") == instants(scene, "a"), "seed \(seed), round \(round)")
        }
        // A version that is read whole says the same, and so does a snapshot asset of it.
        try scene.succeed("join c.db cloud --name c")
        try scene.sync("c")
        #expect(try instants(scene, "c") == instants(scene, "a"), "seed \(seed)")
        let before = try ["notes", "files"].map { try container(scene, $0) }
        #expect(before[1].contains("\"columns\":{"))
        try scene.succeed("export a.db --full")
        #expect(try ["notes", "files"].map { try container(scene, $0) } == before, "seed \(seed)")
        try scene.succeed("check a.db --all-versions --local")
        try scene.sync("b")
        #expect(try instants(scene, "b") == instants(scene, "a"), "seed \(seed)")
    }

    @Test func aColumnKeepsItsInstantWhenAnotherIsChanged() throws {
        let scene = try scene()
        let a = scene.database("a.db")
        func sync() throws {
            try scene.sync("a", "b")
        }
        try a.run("UPDATE files SET a = 'x' WHERE id = CAST('f000001' AS BLOB)")
        try sync()
        let first = try a.run("SELECT json_extract(columns, '$.a') FROM snapsync_instants")
        try a.run("UPDATE files SET b = 'x' WHERE id = CAST('f000001' AS BLOB)")
        try sync()
        for device in ["a", "b"] {
            let row = try scene.database("\(device).db").run(
                "SELECT json_extract(columns, '$.a'), at > json_extract(columns, '$.a'), at = json_extract(columns, '$.b'), rest < at, born FROM snapsync_instants"
            )
            #expect(row == first.replacing("\n", with: "") + "|1|1|1|\n", "\(device)")
        }
        // With a timestamp, the row's own says when the changed columns changed.
        try a.run("UPDATE notes SET title = 'x', changed = '2026-03-01T00:00:00.000Z' WHERE name = 'name4'")
        try sync()
        let text = try container(scene, "notes")
        #expect(
            text.hasSuffix(
                #"],"instants":[{"id":["name4",4],"at":"2026-01-01T00:00:00.000Z"}],"columns":{"changed":[{"id":["name4",4]}],"title":[{"id":["name4",4]}]}}"#
                    + "\n"),
            "\(text.suffix(400))")
        // A row that was deleted and inserted again is another one.
        try a.run("DELETE FROM files WHERE id = CAST('f000001' AS BLOB)")
        try sync()
        try a.run("INSERT INTO files VALUES(CAST('f000001' AS BLOB), 1, 1, 1)")
        try sync()
        for device in ["a", "b"] {
            #expect(
                try scene.database("\(device).db").run(
                    "SELECT rest, born, columns FROM snapsync_instants WHERE key = CAST('f000001' AS BLOB) OR hex(key) LIKE '%663030%31%'"
                ).allSatisfy { "|\n".contains($0) })
        }
    }

    @Test(arguments: [
        ("TEXT COLLATE NOCASE", "'Ann'", "'ANN'", "a"), ("TEXT COLLATE RTRIM", "'Ann'", "'Ann '", "b"), ("", "1", "1.0", "a"), ("", "1", "1.0", "b"),
    ])
    func anotherSpellingOfAKeyIsAnEditOfItAlone(key: (type: String, old: String, new: String, first: String)) throws {
        let scene = try Scene.pair("CREATE TABLE t(id \(key.type) PRIMARY KEY NOT NULL, v, w); INSERT INTO t VALUES(\(key.old), 1, 1)")
        try scene.database("b.db").run("UPDATE t SET w = 2")
        Thread.sleep(forTimeInterval: 0.01)
        try scene.database("a.db").run("UPDATE t SET id = \(key.new)")
        if key.first == "b" { try scene.sync("b") }
        try scene.sync("a", "b", "a", "b")
        try scene.succeed("join c.db cloud --name c")
        try scene.sync("c")
        for name in ["a", "b", "c"] {
            #expect(try scene.database("\(name).db").run("SELECT quote(id), v, w FROM t") == "\(key.new)|1|2\n", "\(name)")
            let later = "SELECT json_extract(columns, '$.id') > json_extract(columns, '$.w') FROM snapsync_instants"
            #expect(try scene.database("\(name).db").run(later) == "1\n", "\(name)")
            #expect(try scene.succeed("conflicts \(name).db").contains("no edit has lost"), "\(name)")
            try scene.succeed("check \(name).db --local")
        }
    }

    /// An application that writes its table anew changes all rows, and they stay the rows that they were: what another device did later wins.
    @Test(arguments: [
        ("", true), ("", false), (", changed TEXT DEFAULT '2026-01-01T00:00:00Z'", false),
        (", changed TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ'))", false),
    ])
    func aRowThatIsDeletedAndInsertedAgainIsTheSameRow(timestamp: String, isOld: Bool) throws {
        let scene = try Scene()
        let a = scene.database("a.db"), b = scene.database("b.db")
        let rows = "INSERT INTO t(k, v, w) VALUES('one', 'x', 'w'), ('two', 'y', 'w');"
        try a.run("CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, v TEXT, w TEXT\(timestamp));" + (isOld ? rows : ""))
        try scene.succeed("init a.db cloud --peers --name a --tables t")
        try scene.sync("a")
        if !isOld { try a.run(rows) }
        try scene.sync("a")
        try scene.succeed("join b.db cloud --peer --name b")
        try scene.sync("b")
        try a.run("CREATE TEMP TABLE x AS SELECT k, v, w FROM t; DELETE FROM t; INSERT INTO t(k, v, w) SELECT * FROM x")
        Thread.sleep(forTimeInterval: 0.01)
        try b.run("DELETE FROM t WHERE k = 'one'; UPDATE t SET v = 'later' WHERE k = 'two'")
        try scene.sync("a", "b", "a")
        for database in [a, b] { #expect(try database.run("SELECT k, v, w FROM t") == "two|later|w\n") }
        #expect(try instants(scene, "a") == instants(scene, "b"))
    }

    /// Forged lists: each names what is not there, or says what cannot be.
    @Test func forgedListsAreRefused() throws {
        let cloud = try DamagedCloud()
        let at = #""at":"2020-01-01T00:00:00.000Z"}"#
        for (tail, says) in [
            (#""instants":[{"id":"nobody",\#(at)]"#, "an instant of an entity that is not there"),
            (#""born":[{"id":"nobody",\#(at)]"#, "an instant of an entity that is not there"),
            (#""columns":{"title":[{"id":"nobody"}]}"#, "an instant of an entity that is not there"),
            (#""columns":{"title":[{"from":"0","to":"nobody"}]}"#, "an instant of an entity that is not there"),
            (#""columns":{"titel":[{"id":"nobody"}]}"#, "which has instants, is not among the columns"),
            (#""columns":{"title":[{"id":"b"},{"id":"a"}]}"#, "does not come after the one before"),
            (#""columns":{"title":[{"id":"b"}],"body":[{"id":"b"}]}"#, "a column's name does not come after"),
            (#""instants":[{"id":"nobody","at":"2090-01-01T00:00:00.000Z"}]"#, "an instant is later than the version"),
            (#""instants":[{"id":"nobody"}]"#, "is expected"),
            (#""held":[{"id":"x"}]"#, "held entity 0, column"),
        ] as [(String, String)] {
            try cloud.refuse(saying: ["@2", says], verifies: true) { _ in
                try CloudForgery.rewriteBlocks(
                    ofCommit: cloud.commitPath, record: "notifications_data", "tail = b'\\n],' + \(Self.python(tail)).encode() + b'}\\n'")
            }
        }
        // A row that is in the table, and held or deleted at once; a run that covers a held row.
        for (tail, says) in [
            (#"'"held":[' + row + ']'"#, "is in two of"),
            (#"'"deletions":[{"id":' + json.dumps(json.loads(row)['id']) + ',"deletedAt":"2020-01-01T00:00:00.000Z"}]'"#, "is in two of"),
            (
                #"'"held":[' + row.replace(first, '0') + '],"instants":[{"from":"!","to":"zzz","at":"2020-01-01T00:00:00.000Z"}]'"#,
                "covers a held entity"
            ),
        ] {
            try cloud.refuse(saying: ["@2", says], verifies: true) { _ in
                try CloudForgery.rewriteBlocks(
                    ofCommit: cloud.commitPath, record: "notifications_data",
                    """
                    row = blocks[0].split(b',\\n')[0].decode().strip()
                    first = json.loads(row)['id']
                    tail = ('\\n],' + \(tail) + '}\\n').encode()
                    """)
            }
        }
    }

    /// A held row stays outside of the table, and the device gives it on as it came.
    @Test func heldRowsAreKeptOutsideOfTheTable() throws {
        let cloud = try DamagedCloud()
        try CloudForgery.rewriteBlocks(
            ofCommit: cloud.commitPath, record: "notifications_data",
            """
            row = json.loads(blocks[0].split(b',\\n')[0])
            row['id'] = 'zzz'
            row = json.dumps(row, ensure_ascii=False, separators=(',', ':')).encode()
            tail = b'\\n],"held":[' + row + b'],"instants":[{"id":"zzz","at":"2020-01-01T00:00:00.000Z"}],"columns":{"title":[{"id":"zzz","at":"2020-02-01T00:00:00.000Z"}]}}\\n'
            """)
        try cloud.scene.succeed("check cloud --read-data")
        try cloud.scene.succeed("import watch.db")
        let watch = cloud.scene.database("watch.db")
        #expect(try watch.run("SELECT count(*) FROM notifications WHERE id = 'zzz'") == "0\n")
        #expect(try watch.run("SELECT key, json_extract(entity, '$.id'), reason FROM snapsync_held") == "zzz|zzz|published\n")
        #expect(
            try watch.run("SELECT at - rest, born, json_extract(columns, '$.title') = at FROM snapsync_instants WHERE key = 'zzz'")
                == "\(31 * 86_400_000_000)||1\n")
    }

    private static func python(_ text: String) throws -> String { String(decoding: try JSONEncoder().encode(text), as: UTF8.self) }
}
