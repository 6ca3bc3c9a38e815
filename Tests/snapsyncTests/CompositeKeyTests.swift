import Foundation
import TestSupport
import Testing

/// Keys of several columns, of bytes, of real numbers, and of text in any case, moved by `snapsync`; `sqlite3` of Python is the judge.
@Suite(.runsPrograms) struct CompositeKeyTests {
    private static let schema = """
        CREATE TABLE order_lines(order_id INTEGER NOT NULL, line INTEGER NOT NULL, item TEXT, changed TEXT NOT NULL, PRIMARY KEY(order_id, line));
        CREATE TABLE post_tags(post TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY(post, tag)) WITHOUT ROWID;
        CREATE TABLE tags(name TEXT COLLATE RTRIM NOT NULL, kind INTEGER NOT NULL, color TEXT, PRIMARY KEY(kind, name)) WITHOUT ROWID;
        CREATE TABLE users(login TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, mail TEXT UNIQUE);
        CREATE TABLE files(uuid BLOB PRIMARY KEY NOT NULL, owner TEXT REFERENCES users(login));
        CREATE TABLE marks(at REAL NOT NULL, who TEXT NOT NULL, note TEXT, PRIMARY KEY(at, who));
        CREATE TABLE parts(order_id INTEGER NOT NULL, line INTEGER NOT NULL, part INTEGER NOT NULL, PRIMARY KEY(order_id, line, part),
            FOREIGN KEY(order_id, line) REFERENCES order_lines(order_id, line));
        """

    private static let datasets = """
        {"formatVersion": 1, "datasets": [
          {"name": "lines", "table": "order_lines", "key": ["order_id", "line"], "timestamp": "changed", "columns": [
            {"name": "order_id", "type": "integer"}, {"name": "line", "type": "integer"}, {"name": "item", "type": "text", "optional": true},
            {"name": "changed", "type": "text"}]},
          {"name": "links", "table": "post_tags", "key": ["post", "tag"], "columns": [{"name": "post", "type": "text"}, {"name": "tag", "type": "text"}]},
          {"name": "tags", "key": ["kind", "name"], "columns": [
            {"name": "name", "type": "text", "collation": "rtrim"}, {"name": "kind", "type": "integer"}, {"name": "color", "type": "text", "optional": true}]},
          {"name": "users", "key": "login", "columns": [
            {"name": "login", "type": "text", "collation": "nocase"}, {"name": "mail", "type": "text", "optional": true}]},
          {"name": "files", "key": "uuid", "columns": [{"name": "uuid", "type": "blob"}, {"name": "owner", "type": "text", "optional": true}]},
          {"name": "marks", "key": ["at", "who"], "columns": [
            {"name": "at", "type": "real"}, {"name": "who", "type": "text"}, {"name": "note", "type": "text", "optional": true}]},
          {"name": "parts", "key": ["order_id", "line", "part"], "columns": [
            {"name": "order_id", "type": "integer"}, {"name": "line", "type": "integer"}, {"name": "part", "type": "integer"}]}]}
        """

    /// Every value of every row, as SQLite's `quote` and `typeof` tell it.
    private static let rows = """
        import sqlite3, sys
        db = sqlite3.connect(sys.argv[1])
        db.text_factory = bytes
        for table in ('order_lines', 'post_tags', 'tags', 'users', 'files', 'marks', 'parts'):
            columns = [row[1].decode() for row in db.execute(f'PRAGMA table_info({table})')]
            values = ','.join(f'typeof({c}), hex({c}), quote({c})' for c in columns)
            for row in sorted(map(repr, db.execute(f'SELECT {values} FROM {table}'))): print(table, row)
        """

    private static let fill = """
        import random, sqlite3, sys
        db, random = sqlite3.connect(sys.argv[1]), random.Random(int(sys.argv[2]))
        word = lambda: ''.join(random.choice("abAB x'\\0é") for _ in range(random.randint(0, 5)))
        now = "strftime('%Y-%m-%dT%H:%M:%fZ')"
        for _ in range(int(sys.argv[3])):
            how = random.choice(['INSERT OR IGNORE', 'REPLACE'])
            number = random.choice([random.randint(-3, 30), 2**62 + random.randint(-2, 2), 2**63 - 1, -2**63])
            db.execute(f'{how} INTO order_lines VALUES(?, ?, ?, {now})', (number, random.randint(1, 9), word()))
            db.execute(f'{how} INTO post_tags VALUES(?, ?)', (word(), word()))
            db.execute(f'{how} INTO tags VALUES(?, ?, ?)', (word() + random.choice(['', '  ']), random.randint(0, 3), word()))
            db.execute(f'{how} INTO users VALUES(?, ?)', (word(), f'{random.randint(0, 40)}@x'))
            db.execute(f'{how} INTO files VALUES(?, NULL)', (random.randbytes(random.choice([0, 1, 2, 16])),))
            db.execute(f'{how} INTO marks VALUES(?, ?, ?)', (random.choice([random.uniform(-9, 9), 1.0, -1.0, -0.0, 0.0, 1e300, 5e-324]), word(), word()))
            for table, column in (('users', 'login'), ('post_tags', 'tag'), ('tags', 'name'), ('marks', 'at'), ('order_lines', 'line'), ('files', 'uuid')):
                pick = f'(SELECT {column} FROM {table} ORDER BY random() LIMIT 1)'
                change = random.randint(0, 24)
                if change == 0: db.execute(f'DELETE FROM {table} WHERE {column} = {pick}')
                if change == 1: db.execute(f'UPDATE OR REPLACE {table} SET {column} = {pick} WHERE {column} = {pick}')
                if change == 2 and table == 'users': db.execute(f'UPDATE users SET login = upper(login) WHERE login = {pick}')
                if change == 3 and table == 'tags': db.execute(f"UPDATE tags SET name = rtrim(name) || '   ' WHERE name = {pick}")
        db.commit()
        """

    private func scene(_ role: String = "writer", _ devices: [String] = ["a", "b"]) throws -> Scene {
        let scene = try Scene()
        try scene.scratch.write(Self.datasets, to: "d.json")
        for device in devices { try scene.database("\(device).db").run(Self.schema) }
        try scene.succeed(Scene.setUp("a.db", as: role, "--name a --datasets d.json"))
        return scene
    }

    /// Syncs, however much the random changes have taken away.
    private func sync(_ scene: Scene, _ device: String, at location: SourceLocation = #_sourceLocation) throws {
        try scene.succeed("sync \(device).db --allow-shrink all", at: location)
    }

    private func fill(_ scene: Scene, _ device: String, seed: Int, count: Int) throws {
        _ = try Python.run(Self.fill, ["\(device).db", "\(seed)", "\(count)"], in: scene.scratch.path)
    }

    private func rows(_ scene: Scene, _ device: String) throws -> String { try Python.run(Self.rows, ["\(device).db"], in: scene.scratch.path) }

    @Test(arguments: Sample.of(1...2, oneIn: 2)) func everyRowAndEveryChangeArrives(seed: Int) throws {
        let scene = try scene()
        try fill(scene, "a", seed: seed, count: 120)
        try scene.sync("a")
        try scene.succeed("join b.db cloud --name b --datasets d.json")
        for round in 0..<4 {
            if round > 0 {
                try fill(scene, "a", seed: seed * 100 + round, count: 15)
                try sync(scene, "a")
                if round == 2 { try scene.succeed("export a.db --full") }
            }
            try scene.sync("b")
            #expect(try rows(scene, "a") == rows(scene, "b"), "seed \(seed), round \(round)")
            for device in ["a", "b"] { try scene.succeed("check \(device).db --local") }
        }
        try scene.succeed("check cloud --all-versions")
        let script = Repository.path("Tests/IndependentReader/read_asset.py")
        let assets = try ProgramRun("find", [scene.scratch.path("cloud"), "-name", "*.index.json"]).text.split(separator: "\n").map(String.init)
        #expect(assets.count >= 7)
        for index in assets {
            let read = try ProgramRun("python3", [script, index.replacing(".index.json", with: ".json.gz"), index, "--quiet"])
            #expect(read.status == 0, "\(index): \(read.errorText)")
        }
    }

    @Test(arguments: Sample.of(1...2, oneIn: 2)) func peersAgree(seed: Int) throws {
        let scene = try scene("peer")
        try fill(scene, "a", seed: seed, count: 60)
        try scene.sync("a")
        try scene.succeed("init b.db cloud --peers --name b --datasets d.json")
        try scene.sync("b")
        #expect(try rows(scene, "a") == rows(scene, "b"))
        for round in 1...3 {
            for (number, device) in ["a", "b"].enumerated() { try fill(scene, device, seed: seed * 100 + round * 2 + number, count: 12) }
            for device in ["a", "b", "a", "b"] { try sync(scene, device) }
            #expect(try rows(scene, "a") == rows(scene, "b"), "seed \(seed), round \(round)")
            for device in ["a", "b"] { try scene.succeed("check \(device).db --local") }
        }
        let before = try rows(scene, "a")
        try scene.succeed("restore a.db 1")
        for device in ["a", "b", "a"] { try sync(scene, device) }
        #expect(try rows(scene, "a") == rows(scene, "b"))
        try scene.succeed("undo a.db")
        for device in ["a", "b"] { try sync(scene, device) }
        #expect(try rows(scene, "a") == before)
        #expect(try rows(scene, "b") == before)
    }

    @Test func caseAloneIsAnEditAndANewKeyIsADeletionAndAnInsertion() throws {
        let scene = try scene()
        let app = scene.database("a.db")
        try app.run("INSERT INTO users VALUES('Ann', 'a@x'), ('Bob', 'b@x'); INSERT INTO order_lines VALUES(1, 2, 'tea', '2026-01-01T00:00:00Z')")
        try scene.sync("a")
        try app.run("UPDATE users SET login = 'ANN' WHERE login = 'ann'; UPDATE order_lines SET line = 3")
        try scene.sync("a")
        let diff = try scene.run("diff a.db 1 2 --json").text
        let entities = try diff.split(separator: "\n").compactMap { try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
        #expect(entities.compactMap { $0["change"] as? String }.sorted() == ["added", "changed", "removed"], "\(diff)")
        let keys = try entities.compactMap { $0["key"] }.map {
            String(decoding: try JSONSerialization.data(withJSONObject: $0, options: .fragmentsAllowed), as: UTF8.self)
        }
        #expect(Set(keys) == ["[1,2]", "[1,3]", "\"ann\""], "\(diff)")
        #expect(String(decoding: try scene.run("show a.db users").output, as: UTF8.self).contains(#"{"login":"ANN","mail":"a@x"}"#))
        let lines = String(decoding: try scene.run("show a.db lines").output, as: UTF8.self)
        #expect(lines.contains(#""deletions":[{"id":[1,2],"deletedAt":""#), "\(lines)")
    }

    @Test(
        arguments: [
            ("writer", "DELETE FROM t WHERE id = 1; INSERT INTO t VALUES(1, 'again')"), ("peer", "UPDATE t SET id = 1 WHERE id = 1"),
            ("writer", "REPLACE INTO t VALUES(1, 'again')"),
        ])
    func aNumberIsOneKeyHoweverItIsSpelled(role: String, edit: String) throws {
        let scene = try Scene.copy(of: "a number as a key \(role)") { scene in
            try scene.database("a.db").run("CREATE TABLE t(id PRIMARY KEY NOT NULL, v TEXT); INSERT INTO t VALUES(1.0, 'v'), (2.5, 'w')")
            try scene.succeed(Scene.setUp("a.db", as: role, "--name a"))
            try scene.sync("a")
            try scene.succeed("join b.db cloud --name b")
            // So many that the publications of the row are joined.
            for number in 1...5 {
                try scene.database("a.db").run("UPDATE t SET v = '\(number)'")
                try scene.sync("a")
            }
        }
        let a = scene.database("a.db")
        try a.run("\(edit); UPDATE t SET v = v || '!'")
        try scene.sync("a", "a", "b")
        let rows = "SELECT quote(id), v FROM t ORDER BY id"
        #expect(try a.run(rows).hasPrefix("1|") && a.run(rows) == scene.database("b.db").run(rows))
        for name in ["a", "b"] { try scene.succeed("check \(name).db --local") }
    }

    @Test func conflictsShowTheKeyAndCanBeTaken() throws {
        let scene = try scene("peer")
        try scene.database("a.db").run("INSERT INTO order_lines VALUES(7, 1, 'tea', '2026-01-01T00:00:00Z')")
        try scene.sync("a")
        try scene.succeed("init b.db cloud --peers --name b --datasets d.json")
        try scene.sync("b")
        let now = "strftime('%Y-%m-%dT%H:%M:%fZ')"
        try scene.database("b.db").run("UPDATE order_lines SET item = 'mine', changed = \(now) WHERE order_id = 7")
        try scene.database("a.db").run("UPDATE order_lines SET item = 'theirs', changed = \(now) WHERE order_id = 7")
        try scene.sync("a", "b")
        let conflicts = try #require(try scene.json("conflicts b.db")["conflicts"] as? [[String: Any]])
        #expect(conflicts.count == 1 && conflicts.first?["key"] as? [Int] == [7, 1], "\(conflicts)")
        try scene.succeed("conflicts take b.db \(try #require(conflicts.first?["id"] as? Int))")
        try scene.sync("b", "a")
        #expect(try scene.database("a.db").run("SELECT item FROM order_lines") == "mine\n")
    }

    @Test func aNullInAKeyIsRefusedByName() throws {
        let scene = try Scene()
        try scene.scratch.write(
            """
            {"formatVersion": 1, "datasets": [{"name": "pairs", "key": ["a", "b"], "columns": [{"name": "a", "type": "integer"}, {"name": "b", "type": "text"}]}]}
            """, to: "d.json")
        try scene.database("a.db").run("CREATE TABLE pairs(a INTEGER, b TEXT, PRIMARY KEY(a, b)); INSERT INTO pairs VALUES(1, 'x'), (2, NULL)")
        try scene.succeed("init a.db cloud --name a --datasets d.json")
        let refused = try scene.run("sync a.db")
        #expect(refused.status == 65 && refused.errorText.contains("column b") && refused.errorText.contains("NULL"), "\(refused.errorText)")
        try scene.database("a.db").run("DELETE FROM pairs WHERE b IS NULL")
        try scene.sync("a")
        try scene.succeed("check a.db --local")
    }

    @Test func aBadRowThatIsDeletedLeavesNothingBehind() throws {
        let scene = try Scene()
        try scene.scratch.write(
            """
            {"formatVersion": 1, "datasets": [
              {"name": "items", "key": "id", "columns": [{"name": "id", "type": "text"}]},
              {"name": "pairs", "key": ["a", "b"], "columns": [{"name": "a", "type": "text"}, {"name": "b", "type": "real"}]}]}
            """, to: "d.json")
        for device in ["a", "b"] {
            try scene.database("\(device).db").run("CREATE TABLE items(id PRIMARY KEY); CREATE TABLE pairs(a NOT NULL, b NOT NULL, PRIMARY KEY(a, b))")
        }
        let app = scene.database("a.db")
        try app.run("INSERT INTO items VALUES('x'); INSERT INTO pairs VALUES('p', 1)")
        try scene.succeed("init a.db cloud --name a --datasets d.json")
        try scene.sync("a")
        try scene.succeed("join b.db cloud --name b --datasets d.json")
        try scene.sync("b")
        try app.run(
            "INSERT INTO items VALUES(5), (hex(zeroblob(600))); INSERT INTO pairs VALUES(7, 'z'), ('inf', 9e999), (CAST(X'FF' AS TEXT), 1), (hex(zeroblob(600)), 2)"
        )
        #expect(try scene.run("sync a.db").status == 65)
        try app.run("DELETE FROM items WHERE id <> 'x'; DELETE FROM pairs WHERE a <> 'p'; INSERT INTO items VALUES('y'); INSERT INTO pairs VALUES('q', 2)")
        try scene.sync("a", "b")
        #expect(try scene.database("b.db").run("SELECT * FROM items; SELECT * FROM pairs") == "x\ny\np|1\nq|2\n")
        try scene.succeed("check cloud --all-versions")
    }
}
