import Foundation
import TestSupport
import Testing

/// Tables that the toolkit has never seen, with the values that encoders get wrong, moved by `snapsync` alone.
@Suite(.runsPrograms) struct CustomTableTests {
    /// One row of everything, written by another SQLite than the command's, which binds what SQL text cannot say.
    private static let fill = """
        import sqlite3, struct, sys
        db = sqlite3.connect('plant.db')
        keys = [0, 1, -1, 7, 2**63 - 1, -2**63, 1 << 53, (1 << 53) + 1]
        texts = ['', 'plain', "it's", 'a"b\\\\c', ''.join(map(chr, range(32))), 'nul\\0inside', '\\u2028\\u2029\\x7f\\x85\\ufeff', '🛰️ e\\u0301 \\U0010ffff', 'x' * 70000]
        reals = [0.0, -0.0, 1e308, 1.7976931348623157e308, 5e-324, 2.2250738585072009e-308, 0.1, -1/3, 1e21, 123456789012345680.0, 3, 2**53 + 1, -2**63]
        blobs = [b'', b'\\0', b'\\xff', b'ab', b'abc', bytes(range(256)), b'\\0' * 5000]
        jsons = ['null', 'true', '[]', '{}', ' [ 1 , 2.50 ,\\n\\t{"a" : "\\\\u0041"} ] ', '"text"', '-0.0', '1E400', '12345678901234567890123', '{"b":1,"a":2}', '[' * 100 + ']' * 100]
        rows = 0
        for i in range(max(len(keys) + 20, len(texts), len(reals), len(blobs), len(jsons)) * 2):
            key = keys[i] if i < len(keys) else 1000 + i
            pick = lambda values, step: None if i % 7 == step else values[i % len(values)]
            db.execute('INSERT INTO readings VALUES(?,?,?,?,?,?,?)', (key, pick(texts, 1), pick(reals, 2), pick(reals, 3), pick([0, 1], 4), pick(jsons, 5), pick(blobs, 6)))
            rows += 1
        for key in ['', ' ', '  two  spaces ', "o'clock", '"', '\\\\', '🛰️', 'e\\u0301', 'é', 'E', 'e', '\\0', 'a\\0b', '\\n', '\\u2028', 'k' * 1024, '/../x', '😀' * 256, '\\uffff', '\\U00010000', '-1', '0', '1e3', 'null']:
            db.execute('INSERT INTO labels VALUES(?,?)', (key, key.encode()))
        db.commit()
        # Every value again, as bits: what a text form might hide.
        print(rows)
        """

    private static let bits = """
        import sqlite3, struct, sys
        db = sqlite3.connect(sys.argv[1])
        def exact(v): return ('real', struct.pack('>d', v).hex()) if isinstance(v, float) else (type(v).__name__, v)
        for table, key in (('readings', 'id'), ('labels', 'label')):
            for row in db.execute(f'SELECT * FROM {table} ORDER BY {key}'): print([exact(v) for v in row])
        """

    private static let schema = """
        CREATE TABLE readings(id INTEGER PRIMARY KEY, note TEXT, level REAL, anything, flag BOOLEAN, extra TEXT, raw BLOB);
        CREATE TABLE labels(label TEXT PRIMARY KEY NOT NULL, bytes BLOB NOT NULL);
        """

    private static let datasets = """
        {"formatVersion": 1, "datasets": [
          {"name": "readings", "key": "id", "columns": [
            {"name": "id", "type": "integer"}, {"name": "note", "type": "text", "optional": true},
            {"name": "level", "type": "real", "optional": true}, {"name": "anyNumber", "type": "real", "column": "anything", "optional": true},
            {"name": "flag", "type": "boolean", "optional": true}, {"name": "extra", "type": "json", "optional": true},
            {"name": "raw", "type": "blob", "optional": true}]},
          {"name": "tags", "table": "labels", "key": "tag", "recordType": "Tag", "recordName": "tag_list", "columns": [
            {"name": "tag", "type": "text", "column": "label"}, {"name": "bytes", "type": "blob"}]}]}
        """

    private func scene() throws -> Scene {
        try Scene.copy(of: "plant and office") { scene in
            for database in ["plant.db", "office.db"] { try scene.database(database).run(Self.schema) }
            try scene.scratch.write(Self.datasets, to: "plant.json")
            try scene.succeed("init plant.db cloud --name plant --datasets plant.json")
        }
    }

    @Test func everyValueArrivesByteForByte() throws {
        let scene = try scene()
        let rows = try Python.run(Self.fill, in: scene.scratch.path)
        try scene.succeed("export plant.db")
        try scene.succeed("join office.db cloud --name office --datasets plant.json")
        let imported = try scene.json("import office.db")
        #expect((imported["datasets"] as? [[String: Any]])?.first?["recordCount"] as? Int == Int(rows.dropLast()))

        for (table, key) in [("readings", "id"), ("labels", "label")] {
            let sent = try scene.database("plant.db").values(of: table, orderedBy: key)
            #expect(try scene.database("office.db").values(of: table, orderedBy: key) == sent)
            #expect(!sent.isEmpty)
        }
        let sent = try Python.run(Self.bits, ["plant.db"], in: scene.scratch.path)
        #expect(try Python.run(Self.bits, ["office.db"], in: scene.scratch.path) == sent)
        // Something that only the bits show did travel: a negative zero, and a number that is no 64-bit float's neighbour.
        #expect(sent.contains("8000000000000000") && sent.contains("0000000000000001"))
        try scene.succeed("check office.db --all-versions --local")
    }

    @Test func assetsOfAnyTableAreJSONThatOtherToolsRead() throws {
        let scene = try scene()
        try Python.run(Self.fill, in: scene.scratch.path)
        try scene.succeed("export plant.db")
        try Python.run(
            """
            import base64, gzip, json, sqlite3, sys
            rows = json.loads(gzip.open(sys.argv[1]).read().decode())['tags']
            assert len(rows) > 20
            for row in rows: assert base64.b64decode(row['bytes'], validate=True) == row['tag'].encode()
            rows = {r['id']: r for r in json.loads(gzip.open(sys.argv[2]).read().decode())['readings']}
            for id, note, level, flag, raw in sqlite3.connect('plant.db').execute('SELECT id, note, level, flag, raw FROM readings'):
                row = rows.pop(id)
                assert row.get('note') == note and row.get('level') == level
                assert row.get('flag') == (None if flag is None else bool(flag))
                assert (base64.b64decode(row['raw']) if 'raw' in row else None) == raw
            assert not rows
            """, [scene.newest("assets/tag_list", ".json.gz"), scene.newest("assets/readings_data", ".json.gz")], in: scene.scratch.path)
    }

    @Test func aTableThatNoRowCanBeInsertedIntoDoesNotJoin() throws {
        let scene = try scene()
        try scene.succeed("export plant.db")
        try scene.database("office.db").run(
            "DROP TABLE readings; CREATE TABLE readings(id INTEGER PRIMARY KEY, note TEXT, level REAL, anything, flag BOOLEAN, extra TEXT, raw BLOB, must TEXT NOT NULL)"
        )
        try scene.refuse(
            "join office.db cloud --name office --take-over --datasets plant.json", exit: 78,
            saying: ["office.db, table readings", "does not describe the column must, which is NOT NULL and has no default"], watching: ["office.db"])
    }

    @Test func uniqueValuesMayMoveFromOneEntityToAnother() throws {
        let scene = try Scene()
        try scene.scratch.write(
            """
            {"formatVersion": 1, "datasets": [{"name": "seats", "key": "id", "columns": [
              {"name": "id", "type": "integer"}, {"name": "guest", "type": "text"}, {"name": "note", "type": "text"}]}]}
            """, to: "seats.json")
        for database in ["hall.db", "door.db"] {
            try scene.database(database).run("CREATE TABLE seats(id INTEGER PRIMARY KEY, guest TEXT NOT NULL UNIQUE, note TEXT NOT NULL)")
        }
        // Some megabytes, so that the first and the last seat lie in different blocks.
        try scene.database("hall.db").run(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
            INSERT INTO seats SELECT i, 'guest ' || i, hex(randomblob(200)) FROM n
            """)
        try scene.succeed("init hall.db cloud --name hall --datasets seats.json")
        #expect(((try scene.json("export hall.db")["written"] as? [[String: Any]])?.first?["blocks"] as? Int ?? 0) > 4)
        try scene.succeed("join door.db cloud --name door --datasets seats.json")
        try scene.succeed("import door.db")

        // Both ways: from a late entity to an early one, and the reverse.
        try scene.database("hall.db").run(
            """
            UPDATE seats SET guest = 'nobody' WHERE id = 6000; UPDATE seats SET guest = 'guest 6000' WHERE id = 1;
            UPDATE seats SET guest = 'guest 1' WHERE id = 6000; DELETE FROM seats WHERE id = 3000; INSERT INTO seats VALUES(6001, 'guest 3000', '')
            """)
        try scene.succeed("export hall.db")
        try scene.succeed("import door.db")
        #expect(try scene.database("door.db").values(of: "seats", orderedBy: "id") == scene.database("hall.db").values(of: "seats", orderedBy: "id"))
    }

    @Test func tablesOfEveryMakeTravel() throws {
        let scene = try Scene()
        try scene.scratch.write(
            """
            {"formatVersion": 1, "datasets": [
              {"name": "odd", "table": "an \\"odd\\" 'table'; --", "key": "key", "columns": [
                {"name": "key", "type": "text", "column": "the key"}, {"name": "select", "type": "integer", "optional": true}]},
              {"name": "strict", "key": "id", "columns": [{"name": "id", "type": "integer"}, {"name": "v", "type": "blob"}]},
              {"name": "late", "key": "code", "columns": [{"name": "n", "type": "integer"}, {"name": "code", "type": "text"}]}]}
            """, to: "odd.json")
        for (name, extra) in [("a.db", ""), ("b.db", ", twice INT AS (\"select\" * 2) STORED")] {
            try scene.database(name).run(
                """
                CREATE TABLE "an ""odd"" 'table'; --"("the key" TEXT NOT NULL, "select" INTEGER\(extra), UNIQUE("the key"));
                CREATE TABLE strict(id INTEGER PRIMARY KEY, v BLOB NOT NULL) STRICT, WITHOUT ROWID;
                CREATE TABLE late(n INTEGER NOT NULL CHECK(n >= 0), code TEXT NOT NULL); CREATE UNIQUE INDEX byCode ON late(code);
                CREATE TABLE audit(what TEXT); CREATE TRIGGER mine AFTER INSERT ON late BEGIN INSERT INTO audit VALUES(new.code); END;
                """)
        }
        try scene.database("a.db").run(
            """
            INSERT INTO "an ""odd"" 'table'; --"("the key", "select") VALUES('x', 21), ('y', NULL);
            INSERT INTO strict VALUES(9, x'00'), (-9, x''); INSERT INTO late VALUES(1, 'b'), (2, 'a');
            """)
        try scene.succeed("init a.db cloud --datasets odd.json")
        for line in ["export a.db", "join b.db cloud --datasets odd.json", "import b.db"] { try scene.succeed(line) }
        func check(at location: SourceLocation = #_sourceLocation) throws {
            for (table, key) in [("strict", "id"), ("late", "code")] {
                #expect(
                    try scene.database("b.db").values(of: table, orderedBy: key) == scene.database("a.db").values(of: table, orderedBy: key),
                    sourceLocation: location)
            }
        }
        try check()
        #expect(try scene.database("b.db").run("SELECT \"the key\", \"select\", twice FROM \"an \"\"odd\"\" 'table'; --\" ORDER BY 1") == "x|21|42\ny||\n")
        // The reader's own triggers fire; what they write is the reader's.
        #expect(try scene.database("b.db").run("SELECT group_concat(what) FROM (SELECT what FROM audit ORDER BY what)") == "a,b\n")

        // Three versions later, at once.
        for sql in ["DELETE FROM strict WHERE id = 9", "UPDATE late SET n = 7 WHERE code = 'a'", "INSERT INTO strict VALUES(1, x'01')"] {
            try scene.database("a.db").run(sql)
            try scene.sync("a")
        }
        #expect(try scene.json("import b.db")["version"] as? Int == 4)
        try check()
        try scene.succeed("check b.db --all-versions --local")
    }

    /// What a reader writes itself stays, in its columns, whatever it is. Everything else is the version's.
    @Test func whatAReaderWritesItselfStaysAndNothingElse() throws {
        let scene = try Scene()
        try scene.scratch.write(Self.datasets, to: "plant.json")
        for name in ["plant.db", "office.db"] {
            try scene.database(name).run(
                "CREATE TABLE readings(id INTEGER PRIMARY KEY, note, level, anything, flag, extra, raw); CREATE TABLE labels(label TEXT PRIMARY KEY, bytes)")
        }
        try scene.database("plant.db").run("INSERT INTO readings(id, note) VALUES(1, 'one'), (2, 'two'); INSERT INTO labels VALUES('a', x'00')")
        try scene.succeed("init plant.db cloud --datasets plant.json")
        for line in ["join office.db cloud --datasets plant.json", "export plant.db", "import office.db"] { try scene.succeed(line) }
        let rows = "SELECT id, hex(note), level, flag, extra FROM readings; SELECT hex(label), hex(bytes) FROM labels ORDER BY label"
        for (number, (spoilt, expected)) in [
            ("UPDATE readings SET note = CAST(x'ff' AS TEXT) WHERE id = 1", "1|FF|0||\n2|74776F|0||\n61|00\n"),
            ("UPDATE readings SET flag = 7, extra = '{' WHERE id = 2", "1|FF|1||\n2|74776F|1|7|{\n61|01\n"),
            ("INSERT INTO labels VALUES(NULL, x'01'), (NULL, 'x')", "1|FF|2||\n2|74776F|2|7|{\n61|02\n"),
            ("INSERT INTO labels VALUES(CAST(x'fe' AS TEXT), NULL)", "1|FF|3||\n2|74776F|3|7|{\n61|03\nFE|\n"),
        ].enumerated() {
            try scene.database("office.db").run(spoilt)
            try scene.database("plant.db").run("UPDATE readings SET level = \(number); UPDATE labels SET bytes = x'0\(number)'")
            try scene.succeed("export plant.db")
            try scene.succeed("import office.db")
            #expect(try scene.database("office.db").run(rows) == expected, "\(spoilt)")
        }
    }
}
