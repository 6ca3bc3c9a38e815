import Foundation
import TestSupport
import Testing

/// Rows that are gone, or cannot be found, although nobody deleted them: they are never published as deleted.
@Suite(.runsPrograms) struct VanishedRowsTests {
    /// A publisher and a reader with `count` rows whose keys are declared in this way, each row of some bytes.
    private static func scene(_ key: String, _ value: String, index: String = "", role: String = "writer", count: Int = 100, bytes: Int = 1) throws -> Scene {
        return try Scene.pair(
            """
            CREATE TABLE t(id \(key), v TEXT); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
            INSERT INTO t SELECT \(value), hex(randomblob(\(bytes))) FROM n; \(index)
            """, roles: (role, "reader"))
    }

    private static func count(_ scene: Scene, _ database: String) throws -> String {
        try scene.database(database).run("SELECT count(*) FROM t NOT INDEXED").trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test(arguments: [
        ("TEXT PRIMARY KEY", "printf('k%03d', i)", "peer"), ("INTEGER PRIMARY KEY", "i", "writer"), ("INT NOT NULL UNIQUE", "i", "writer"),
        ("BLOB PRIMARY KEY", "CAST(printf('k%03d', i) AS BLOB)", "peer"), ("TEXT PRIMARY KEY COLLATE NOCASE", "printf('k%03d', i)", "writer"),
    ]) func rowsDeletedWithoutTriggersAreNotPublished(_ key: String, _ value: String, _ role: String) throws {
        let scene = try Self.scene(key, value, role: role)
        func vanish(_ position: Int, edit: Int) throws {
            // As an application's connection does that has its triggers off.
            try scene.database("a.db").run(
                ".dbconfig enable_trigger off\nDELETE FROM t WHERE rowid IN (SELECT rowid FROM t ORDER BY id LIMIT 3 OFFSET \(position));")
            try scene.database("a.db").run(
                "UPDATE t SET v = 'edited' WHERE id = (SELECT id FROM t ORDER BY id LIMIT 1 OFFSET \(edit)); DELETE FROM t WHERE id = (SELECT max(id) FROM t)")
        }
        try vanish(10, edit: 50)
        for _ in 0..<2 {
            Scene.checkRefusal(
                try scene.run("sync a.db"), exit: 78,
                saying: ["3 entities of the last version of t are missing", "no deletion was tracked", "--allow-shrink t"])
        }
        #expect(try Self.count(scene, "a.db") == "96")
        try scene.succeed("import a.db")
        #expect(try Self.count(scene, "a.db") == "99")
        try scene.sync("a", "b")
        #expect(try Self.count(scene, "b.db") == "99")
        #expect(try scene.succeed("check a.db --local").hasSuffix("all is well\n"))

        try vanish(20, edit: 40)
        #expect(try scene.run("sync a.db").status == 78)
        try scene.succeed("sync a.db --allow-shrink t")
        try scene.sync("b")
        #expect(try Self.count(scene, "b.db") == "95")
    }

    /// An import that reads the whole table would replace them.
    @Test(arguments: ["peer", "reader"]) func rowsInsertedWithoutTriggersStayWhenAVersionArrives(role: String) throws {
        let scene = try Scene.pair(
            "CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL, v TEXT); INSERT INTO p VALUES('x', '1'), ('y', '2')",
            roles: (role == "reader" ? "writer --reader-edits all" : "peer", role))
        try scene.database("b.db").run(".dbconfig enable_trigger off\nINSERT INTO p VALUES('k', 'own');")
        try scene.database("a.db").run("INSERT INTO p VALUES('z', '3')")
        try scene.sync("a", "b", "a", "b")
        for name in ["a", "b"] {
            #expect(try scene.database("\(name).db").run("SELECT group_concat(id) FROM (SELECT id FROM p ORDER BY id)") == "k,x,y,z\n")
        }
    }

    @Test(arguments: [(100, "TEXT NOT NULL"), (3000, "TEXT NOT NULL"), (100, "INT NOT NULL"), (3000, "BLOB NOT NULL")])
    func rowsThatAnIndexHasLostAreNotDeleted(count: Int, key: String) throws {
        let value = key.hasPrefix("INT") ? "i" : key.hasPrefix("BLOB") ? "CAST(printf('k%05d', i) AS BLOB)" : "printf('k%05d', i)"
        let scene = try Self.scene(key, value, index: "CREATE UNIQUE INDEX i ON t(id)", count: count, bytes: count > 1000 ? 300 : 1)
        // The index keeps nine tenths of its entries, and the schema no longer says so.
        try scene.database("a.db").run(
            """
            DROP INDEX i; CREATE UNIQUE INDEX i ON t(id) WHERE CAST(id AS TEXT) NOT LIKE '%0';
            .dbconfig defensive off
            PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE UNIQUE INDEX i ON t(id)' WHERE name = 'i';
            """)
        try scene.database("a.db").run("UPDATE t SET v = 'edited' WHERE rowid = 1")
        let export = count > 1000 ? "export a.db --full" : "sync a.db"
        let run = try scene.run(export)
        Scene.checkRefusal(run, exit: 65, saying: ["table t", "rows, and an index of it leads to", "the index is damaged", "REINDEX"])
        try scene.sync("b")
        #expect(try Self.count(scene, "b.db") == "\(count)")
        let doctor = try scene.run("check a.db -v")
        #expect(doctor.status == 65 && doctor.text.contains("SQLite finds the database damaged: ") && !doctor.text.contains("sound"), "\(doctor.text)")
        try scene.database("a.db").run("REINDEX")
        try scene.succeed(export)
        try scene.sync("b")
        #expect(try Self.count(scene, "b.db") == "\(count)")
    }

    @Test func everyDatasetThatShrinksIsNamedAndAllowedAtOnce() throws {
        let scene = try Scene()
        try scene.database("a.db").run(
            """
            CREATE TABLE a(id TEXT PRIMARY KEY NOT NULL); CREATE TABLE b(id TEXT PRIMARY KEY NOT NULL, a TEXT REFERENCES a(id) ON DELETE CASCADE);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) INSERT INTO a SELECT i FROM n; INSERT INTO b SELECT id, id FROM a
            """)
        try scene.succeed("init a.db cloud --name a")
        try scene.sync("a")
        try scene.database("a.db").run("PRAGMA foreign_keys = ON; DELETE FROM a WHERE id > '2'")
        let both = try scene.run("sync a.db")
        for fragment in ["entities that dataset a had", "12 of the 50 entities that dataset b had", "--allow-shrink a,b"] {
            #expect(both.status == 78 && both.errorText.contains(fragment), "\(both.errorText)")
        }
        Scene.checkRefusal(try scene.run("sync a.db --allow-shrink a"), exit: 78, saying: ["dataset b", "--allow-shrink b"])
        try scene.succeed("sync a.db --allow-shrink a,b")
        // A reader that was not there meanwhile, and a zone without the approval.
        try scene.succeed("join b.db cloud --name b")
        try scene.sync("b")
    }

    /// Names that differ only in what a dataset's name cannot have.
    @Test func tablesOfTwoNamesAreTwoDatasets() throws {
        let long = String(repeating: "n", count: 60)
        let names = [
            ("my table", "my-table"), ("客户", "订单"), ("café", "cafe"), ("_a", "t_a"), ("instants", "instants_"), (long + "1", long + "2"),
        ]
        let scene = try Scene.pair("CREATE TABLE other(id TEXT PRIMARY KEY)")
        for (number, database) in ["a.db", "b.db"].enumerated() {
            let own = names.map { number == 0 ? $0.0 : $0.1 }
            for name in names.flatMap({ [$0.0, $0.1] }) { try scene.database(database).run("CREATE TABLE \"\(name)\"(id TEXT PRIMARY KEY)") }
            for name in own { try scene.database(database).run("INSERT INTO \"\(name)\" VALUES('\(number)')") }
            let update = try BuiltCommand.run(["tables", "add", database, own.joined(separator: ",")], in: scene.scratch.path)
            #expect(update.status == 0, "\(update.errorText)")
        }
        for database in ["a.db", "b.db", "a.db"] { #expect(try scene.run("sync \(database)").status == 0) }
        for database in ["a.db", "b.db"] { _ = try scene.run("tables adopt \(database) --create") }
        for database in ["a.db", "b.db", "a.db"] { #expect(try scene.run("sync \(database)").status == 0) }
        for database in ["a.db", "b.db"] {
            for (name, value) in names.flatMap({ [($0.0, "0\n"), ($0.1, "1\n")] }) {
                #expect(try scene.database(database).run("SELECT id FROM \"\(name)\"") == value, "\(database) \(name)")
            }
        }
    }
}
