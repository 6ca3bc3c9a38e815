import Foundation
import TestSupport
import Testing

/// `query` and `get`: a version read with SQL where it is. Python's `sqlite3` on the publisher's database is the judge.
@Suite(.runsPrograms) struct QueryTests {
    private static let tables = """
        CREATE TABLE notes(id INTEGER PRIMARY KEY, title TEXT COLLATE NOCASE, size REAL, data BLOB, "odd "" name" ANY);
        CREATE TABLE lines(order_id INTEGER NOT NULL, line INTEGER NOT NULL, item TEXT, PRIMARY KEY(order_id, line)) WITHOUT ROWID;
        CREATE TABLE users(login TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, mail TEXT);
        CREATE TABLE loose(k PRIMARY KEY NOT NULL, v) WITHOUT ROWID;
        CREATE TABLE "empty table"(id TEXT PRIMARY KEY NOT NULL, n INTEGER);
        INSERT INTO notes VALUES(-3, 'ä "x", y', 0.5, x'00ff', NULL), (9007199254740993, '', -1e300, x'', 'Text'), (0, NULL, 9e999, NULL, 7);
        WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 4000) INSERT INTO lines SELECT n / 4, n % 4, 'item ' || n FROM c;
        INSERT INTO users VALUES('Ann', 'a@x'), ('bob', NULL), ('C''est', 'c@x');
        INSERT INTO loose VALUES(1, 'number'), ('1', 'text'), (x'31', 'blob'), (2.5, 'real'), ('b', NULL);
        """

    private static func made() throws -> Scene {
        try Scene.copy(of: "QueryTests") { scene in
            try scene.database("a.db").run(tables)
            try scene.succeed("init a.db cloud --name a")
            try scene.succeed("sync a.db")
        }
    }

    private func run(_ scene: Scene, _ words: String..., environment: [String: String] = [:]) throws -> ProgramRun {
        try BuiltCommand.run(words, in: scene.scratch.path, environment: environment)
    }

    /// Runs statements on a version and on the database, and compares every value and its type.
    private func compare(_ scene: Scene, _ statements: [String]) throws {
        let judge = try Python.run(
            """
            import base64, json, sqlite3, sys
            def value(v):
                if isinstance(v, bytes): return {'base64': base64.b64encode(v).decode()}
                return {'real': 'Infinity'} if v == float('inf') else v
            for sql in sys.argv[1:]:
                print(json.dumps([[value(v) for v in row] for row in sqlite3.connect('a.db').execute(sql)], ensure_ascii=False))
            """, statements, in: scene.scratch.path)
        let wanted = judge.split(separator: "\n")
        try #require(wanted.count == statements.count)
        for (sql, rows) in zip(statements, wanted) {
            let run = try run(scene, "query", "cloud", sql, "--json")
            let found = try #require(try JSONSerialization.jsonObject(with: run.output) as? [String: Any], "\(sql): \(run.errorText)")
            #expect(found["rows"] as? NSArray == (try JSONSerialization.jsonObject(with: Data(rows.utf8)) as? NSArray), "\(sql): \(run.text)")
        }
    }

    @Test func statementsGiveWhatTheDatabaseGives() throws {
        let statements = [
            "SELECT * FROM notes ORDER BY id", "SELECT * FROM lines ORDER BY order_id DESC, line LIMIT 9", "SELECT * FROM users ORDER BY login",
            "SELECT count(*) FROM lines", "SELECT count(*), max(n) FROM \"empty table\"", "SELECT typeof(k), v FROM loose ORDER BY k",
            // Keys, as the column's affinity and collation compare them.
            "SELECT * FROM lines WHERE order_id = 500 AND line = 2", "SELECT * FROM lines WHERE order_id = '500'",
            "SELECT * FROM lines WHERE order_id IN (3, 700, 700.0, 'x') ORDER BY 1, 2", "SELECT * FROM lines WHERE order_id > 998.5",
            "SELECT * FROM lines WHERE order_id BETWEEN 10 AND 11 AND line < 2", "SELECT * FROM lines WHERE order_id = 5 AND line >= 1 AND line < 3",
            "SELECT * FROM lines WHERE order_id = NULL", "SELECT count(*) FROM lines WHERE order_id < x'00'", "SELECT * FROM users WHERE login = 'ANN'",
            "SELECT * FROM users WHERE login = 'ANN' COLLATE BINARY", "SELECT * FROM users WHERE login > 'B' COLLATE BINARY ORDER BY login",
            "SELECT * FROM users WHERE login LIKE 'b%'", "SELECT v FROM loose WHERE k = 1", "SELECT v FROM loose WHERE k = '1'",
            "SELECT v FROM loose WHERE k = x'31'", "SELECT v FROM loose WHERE k = 2.5", "SELECT title FROM notes WHERE id = 9007199254740993",
            "SELECT title FROM notes WHERE id = -3.0", "SELECT count(*) FROM notes WHERE id < 9e999",
            "SELECT * FROM lines WHERE order_id = 1 OR order_id = 999 AND line = 2 ORDER BY 1, 2", "SELECT DISTINCT order_id / 300 FROM lines ORDER BY 1",
            "SELECT item FROM lines WHERE order_id IN (SELECT value FROM json_each('[5, 600]')) ORDER BY 1",
            "SELECT l.item, n.title FROM notes n JOIN lines l ON l.order_id = n.id ORDER BY 1",
            "SELECT count(*) FROM lines a JOIN lines b ON b.order_id = a.order_id AND b.line = 3 - a.line",
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT n, (SELECT count(*) FROM lines WHERE order_id = n) FROM c",
        ]
        try compare(Self.made(), statements)
    }

    @Test func formsShowEachKindOfValue() throws {
        let scene = try Self.made(), sql = "SELECT id, title, size, data FROM notes ORDER BY id"
        #expect(
            try run(scene, "query", "cloud", sql).text == """
                id                title     size     data
                ----------------  --------  -------  -------
                -3                ä "x", y  0.5      X'00ff'
                0                 NULL      inf      NULL
                9007199254740993            -1e+300  X''

                """)
        #expect(
            try run(scene, "query", "cloud", sql, "--csv").text
                == "id,title,size,data\r\n-3,\"ä \"\"x\"\", y\",0.5,X'00ff'\r\n0,,inf,\r\n9007199254740993,\"\",-1e+300,X''\r\n")
        #expect(
            try run(scene, "query", "a.db", sql, "--ndjson").text == """
                {"id":-3,"title":"ä \\"x\\", y","size":0.5,"data":{"base64":"AP8="}}
                {"id":0,"title":null,"size":{"real":"Infinity"},"data":null}
                {"id":9007199254740993,"title":"","size":-1e+300,"data":{"base64":""}}

                """)
        #expect(try run(scene, "query", "cloud", "SELECT * FROM \"empty table\"", "--json").text == "{\"version\":1,\"columns\":[\"id\",\"n\"],\"rows\":[]}\n")
    }

    @Test func getFindsRowsByTheirKeys() throws {
        let scene = try Self.made()
        #expect(try run(scene, "get", "cloud", "lines", "500", "2", "--ndjson").text == "{\"order_id\":500,\"line\":2,\"item\":\"item 2002\"}\n")
        #expect(try run(scene, "get", "cloud", "users", "ANN", "--csv").text == "login,mail\r\nAnn,a@x\r\n")
        #expect(try run(scene, "get", "cloud", "loose", "1", "--csv").text == "k,v\r\n1,number\r\n1,text\r\n")
        #expect(try run(scene, "get", "cloud", "loose", "x'31'", "--csv").text == "k,v\r\nX'31',blob\r\n")
        Scene.checkRefusal(try run(scene, "get", "cloud", "users", "dora"), exit: 66, saying: ["version 1", "users", "\"dora\""])
        Scene.checkRefusal(try run(scene, "get", "cloud", "lines", "500"), exit: 78, saying: ["2 values", "order_id, line"])
        Scene.checkRefusal(try run(scene, "get", "cloud", "rooms", "1"), exit: 66, saying: ["no table rooms", "users"])
    }

    @Test func earlierVersionsAreReadByNumberAndTime() throws {
        let scene = try Self.made()
        try scene.database("a.db").run("UPDATE users SET mail = 'new' WHERE login = 'bob'; DELETE FROM users WHERE login = 'ann'")
        try scene.succeed("sync a.db")
        let times = try #require(try scene.json("log a.db")["versions"] as? [[String: Any]]).compactMap { $0["timestamp"] as? String }
        for (at, count) in [("1", 3), ("2", 2), (times[1], 3), (times[0], 2)] {
            #expect(try run(scene, "query", "cloud", "SELECT count(*) AS n FROM users", "--at", at, "--ndjson").text == "{\"n\":\(count)}\n", "\(at)")
        }
        Scene.checkRefusal(try run(scene, "query", "cloud", "SELECT 1", "--at", "7"), exit: 66, saying: ["no such version yet"])
        Scene.checkRefusal(try run(scene, "query", "cloud", "SELECT 1", "--at", "2001-01-01T00:00:00Z"), exit: 66, saying: ["no version from before"])
    }

    @Test(arguments: [
        "DELETE FROM users", "UPDATE users SET mail = NULL", "INSERT INTO users VALUES('x', 'y')", "CREATE TABLE t(x)", "CREATE TEMP TABLE t(x)",
        "DROP TABLE users", "ATTACH 'other.db' AS o", "VACUUM INTO 'copy.db'", "PRAGMA journal_mode = WAL", "PRAGMA temp_store_directory = '/tmp'",
        "PRAGMA writable_schema = 1", "SELECT load_extension('x')", "ANALYZE", "PRAGMA shrink_memory", "PRAGMA query_only = 0", "BEGIN", "SAVEPOINT s",
        "/* nothing */",
    ]) func whatDoesMoreThanReadIsRefused(_ sql: String) throws {
        let scene = try Self.made(), before = try FileListing(of: scene.scratch.path)
        Scene.checkRefusal(try run(scene, "query", "cloud", sql), exit: 78, saying: ["version 1"])
        #expect(try FileListing(of: scene.scratch.path) == before)
    }

    @Test func wrongStatementsAreExplained() throws {
        let scene = try Self.made()
        for (sql, reason) in [("SELEKT 1", "syntax error"), ("SELECT * FROM rooms", "no such table: rooms"), ("SELECT 1; SELECT 2", "more than one")] {
            Scene.checkRefusal(try run(scene, "query", "cloud", sql), exit: 78, saying: [reason, "the tables are"])
        }
        #expect(try run(scene, "query", "cloud", "PRAGMA table_info('lines')", "--csv").text.contains("0,order_id,INTEGER"))
        Scene.checkRefusal(try run(scene, "query", "none", "SELECT 1"), exit: 66, saying: ["none"])
    }

    @Test func damageEndsTheQueryAndNamesTheBlock() throws {
        let scene = try Self.made(), asset = try scene.newest("assets/lines_data", ".json.gz")
        let all = try run(scene, "query", "cloud", "SELECT * FROM lines", "--csv").text
        try scene.scratch.edit(asset) { $0[$0.count / 2] ^= 1 }
        for form in ["--csv", "--json", "--ndjson"] {
            let run = try run(scene, "query", "cloud", "SELECT * FROM lines", form)
            #expect(run.status == 65 && run.errorText.contains("block ") && run.errorText.contains("lines_data@1"), "\(run.errorText)")
            if form == "--csv" { #expect(all.hasPrefix(run.text) && run.text.count < all.count) }
        }
        // What no damaged block is needed for can still be read.
        #expect(try run(scene, "get", "cloud", "lines", "1", "0", "--csv").text.hasSuffix("1,0,item 4\r\n"))
        #expect(try run(scene, "query", "cloud", "SELECT count(*) AS n FROM lines", "--ndjson").text == "{\"n\":4000}\n")
        #expect(try run(scene, "query", "cloud", "SELECT count(*) AS n FROM users", "--ndjson").text == "{\"n\":3}\n")
    }

    @Test(.enabled(if: SignedScene.isAvailable)) func sealedZoneIsReadWithTheKeysOfADevice() throws {
        let scene = try SignedScene()
        try scene.succeed("generate phone.db --notifications 30 --buckets 3")
        _ = try scene.initSealed("init phone.db cloud --built-in --name phone --encrypt")
        try scene.succeed("sync phone.db")
        #expect(try scene.run("get phone.db buckets none").status == 66)
        #expect(try scene.run("query phone.db VALUES(1)").text == "column1\n-------\n1\n")
        let refused = try scene.run("get cloud buckets none")
        #expect(refused.status == 78 && refused.errorText.contains("sealed"), "\(refused.errorText)")
    }
}
