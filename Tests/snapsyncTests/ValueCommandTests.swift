import Foundation
import TestSupport
import Testing

/// What a key-value table of an application holds arrives with its storage classes.
@Suite(.runsPrograms) struct ValueCommandTests {
    private static let datasets = """
        {"formatVersion": 1, "datasets": [{"name": "prefs", "table": "meta", "key": "name", "columns": [
          {"name": "name", "type": "text"}, {"name": "value"}, {"name": "sort"}]}]}
        """

    /// Every storage class with the values that another class could be mistaken for, as SQL literals.
    private static let values = [
        "12", "'12'", "12.0", "x'3132'", "''", "x''", "NULL", "-9223372036854775808", "1e300", "-0.5", "9e999", "-9e999", "CAST(x'61ff62' AS TEXT)",
        "'a' || char(0) || 'b'", "'0x10'", "' 7 '", "'1e5'", "'{\"base64\":\"\"}'", "'true'", "0", "0.0", "char(128752, 10, 34, 92)",
    ]

    private static func fill(_ table: String) -> String {
        values.enumerated().map { "INSERT INTO \(table) VALUES('k\($0 < 10 ? "0" : "")\($0)', \($1), 0);" }.joined(separator: "\n")
    }

    private func scene(writer: String = "", reader: String = "", strict: Bool = false) throws -> Scene {
        try Scene.copy(of: "prefs \(writer) \(reader) \(strict)") { scene in
            for (database, type) in [("a.db", writer), ("b.db", reader)] {
                try scene.database(database).run(
                    "CREATE TABLE meta(name TEXT PRIMARY KEY NOT NULL, value \(type), sort \(strict ? "ANY" : "INTEGER") NOT NULL)\(strict ? " STRICT" : "")")
            }
            try scene.scratch.write(Self.datasets, to: "d.json")
            try scene.succeed("init a.db cloud --name a --datasets d.json")
            try scene.succeed("join b.db cloud --name b --datasets d.json")
        }
    }

    private static let rows = "SELECT name, typeof(value), quote(value), hex(value), typeof(sort), quote(sort) FROM meta ORDER BY name"

    @Test(arguments: [("", ""), ("BLOB", ""), ("ANY", "ANY")])
    func everyStorageClassArrives(types: (String, String)) throws {
        let scene = try scene(writer: types.0, reader: types.1, strict: types.0 == "ANY")
        try scene.database("a.db").run(Self.fill("meta"))
        for _ in 0..<2 {
            try scene.sync("a", "b")
            #expect(try scene.database("b.db").run(Self.rows) == scene.database("a.db").run(Self.rows))
            try scene.succeed("check b.db --all-versions --local")
            // A change of the storage class alone is a change.
            try scene.database("a.db").run("UPDATE meta SET value = 12.0 WHERE name = 'k00'; UPDATE meta SET value = 12 WHERE name = 'k01'")
        }
        let index = String(decoding: try scene.scratch.read(try scene.asset("prefs").replacing(".json.gz", with: ".index.json")), as: UTF8.self)
        #expect(index.hasPrefix("{\"formatVersion\":1,\"dataset\":\"prefs\""))
        let text = try scene.succeed("show b.db prefs")
        for form in [
            "{\"name\":\"k01\",\"value\":12,", "{\"name\":\"k00\",\"value\":12.0,", "\"value\":{\"base64\":\"MTI=\"}", "{\"name\":\"k06\",\"sort\":0}",
            "{\"real\":\"Infinity\"}", "{\"real\":\"-Infinity\"}", "{\"textBase64\":\"Yf9i\"}", "\"a\\u0000b\"",
        ] { #expect(text.contains(form), "\(form) in \(text)") }
    }

    /// An ANY column of a STRICT table converts nothing, so a description of type text takes any text.
    @Test func textThatReadsAsANumberArrivesInAStrictTable() throws {
        let scene = try Scene()
        try scene.scratch.write(
            #"{"formatVersion":1,"datasets":[{"name":"n","key":"id","columns":[{"name":"id","type":"text"},{"name":"v","type":"text"}]}]}"#, to: "d.json")
        for (name, role) in [("a", "writer"), ("b", "reader")] {
            try scene.database("\(name).db").run("CREATE TABLE n(id TEXT PRIMARY KEY NOT NULL, v ANY NOT NULL) STRICT")
            try scene.succeed(Scene.setUp("\(name).db", as: role, "--name \(name) --datasets d.json"))
        }
        try scene.database("a.db").run("INSERT INTO n VALUES('k', '0042'), ('l', '1e3')")
        try scene.sync("a", "b")
        #expect(try scene.database("b.db").run("SELECT typeof(v), v FROM n ORDER BY id") == "text|0042\ntext|1e3\n")
    }

    /// A table that makes other values of them refuses the version, and nothing changes. The command that the hint names declares it as the zone does.
    @Test(arguments: [
        ("TEXT", "12", "as text"), ("TEXT", "0.5", "as text"), ("INTEGER", "'12'", "as a number"), ("DECIMAL(10,2)", "' 1.50 '", "as a number"),
        ("DECIMAL", "5.0", "as an integer"), ("INT", "-0.0", "as an integer"), ("REAL", "5", "as a real number"), ("REAL", "'5'", "as a number"),
        ("REAL", "-0.0", "as 0.0"),
    ])
    func columnThatWouldChangeAValueIsRefused(declared: String, value: String, says: String) throws {
        let scene = try scene(reader: declared)
        try scene.database("a.db").run("INSERT INTO meta VALUES('k', x'00', 0)")
        try scene.sync("a", "b")
        try scene.database("a.db").run("UPDATE meta SET value = \(value)")
        try scene.sync("a")
        try scene.refuse(
            "sync b.db", exit: 78,
            saying: ["table meta", "the column value is declared \(declared)", says, "snapsync tables adopt b.db --create"], watching: [])
        #expect(try scene.database("b.db").run("SELECT quote(value) FROM meta") == "X'00'\n")
        try scene.succeed("tables adopt b.db --create")
        try scene.sync("b")
        let kept = "SELECT typeof(value), quote(value) FROM meta"
        #expect(try scene.database("b.db").run(kept) == scene.database("a.db").run(kept))
    }

    /// What such a column holds by itself arrives in one that is declared alike.
    @Test(arguments: ["TEXT", "INTEGER", "DECIMAL(10,2)", "REAL", "NUMERIC", "VARCHAR(20)"])
    func valuesOfAColumnArriveInOneDeclaredAlike(declared: String) throws {
        let scene = try scene(writer: declared, reader: declared)
        try scene.database("a.db").run(Self.fill("meta"))
        try scene.sync("a", "b")
        #expect(try scene.database("b.db").run(Self.rows) == scene.database("a.db").run(Self.rows))
        try scene.succeed("check b.db --local")
    }

    @Test func deviceThatDescribesTheColumnOtherwiseIsRefused() throws {
        let scene = try scene()
        try scene.database("a.db").run("INSERT INTO meta VALUES('k', 1, 0)")
        try scene.sync("a")
        try scene.database("c.db").run("CREATE TABLE meta(name TEXT PRIMARY KEY NOT NULL, value, sort)")
        try scene.scratch.write(Self.datasets.replacing("\"value\"", with: "\"value\", \"type\": \"integer\""), to: "other.json")
        try scene.succeed("join c.db cloud --name c --datasets other.json")
        try scene.refuse(
            "sync c.db", exit: 78, saying: ["the column value is not declared in the writer's dataset file, and declared as integer in this device's"],
            watching: [])
    }

    /// 1 and 1.0 are one key. The spelling of the key is a value like any other.
    @Test func keyThatIsSpelledAnewArrives() throws {
        let scene = try Scene()
        for name in ["a", "b"] { try scene.database("\(name).db").run("CREATE TABLE t(k PRIMARY KEY, v); CREATE TABLE p(k, l TEXT, v, PRIMARY KEY(k, l))") }
        try scene.succeed("init a.db cloud --name a --reader-edits all")
        let rows = "SELECT quote(k), v FROM t ORDER BY k; SELECT quote(k), l, v FROM p"
        try scene.database("a.db").run("INSERT INTO t VALUES(1, 'x'), (2, 'y'); INSERT INTO p VALUES(7, 'l', 0)")
        try scene.sync("a")
        try scene.succeed("join b.db cloud --name b")
        for (device, change) in [
            ("a", ""), ("a", "UPDATE t SET k = 1.0 WHERE k = 1; UPDATE p SET k = 7.0"), ("b", "UPDATE t SET k = 2.0, v = 'z' WHERE k = 2"),
        ] {
            try scene.database("\(device).db").run(change)
            try scene.sync("a", "b", "a", "b")
            #expect(try scene.database("b.db").run(rows) == scene.database("a.db").run(rows))
            try scene.succeed("check a.db --all-versions --local")
            try scene.succeed("check b.db --all-versions --local")
        }
        #expect(try scene.database("a.db").run(rows) == "1.0|x\n2.0|z\n7.0|l|0\n")
    }

    @Test func rowWithoutAKeyIsToldAtOnce() throws {
        let scene = try Scene()
        try scene.database("a.db").run("CREATE TABLE t(k TEXT PRIMARY KEY, v); INSERT INTO t VALUES('a', 1); CREATE TABLE p(a, b, v, PRIMARY KEY(a, b))")
        try scene.succeed("init a.db cloud --name a")
        for (row, back) in [("t VALUES(NULL, 'x')", "t WHERE k IS NULL"), ("p VALUES(1, NULL, 'x')", "p WHERE b IS NULL")] {
            try scene.sync("a")
            try scene.database("a.db").run("INSERT INTO \(row)")
            for _ in 0..<2 {
                let refused = try scene.run("sync a.db")
                #expect(refused.status == 65 && refused.errorText.contains("the key is NULL"), "\(refused.errorText)")
            }
            try scene.database("a.db").run("DELETE FROM \(back)")
        }
        #expect(try scene.succeed("sync a.db").contains("nothing new"))
        try scene.succeed("check a.db --all-versions --local")
    }

    /// Generated columns are left out, and SQLite computes them on each side.
    @Test func generatedColumnsComeOutRight() throws {
        let scene = try Scene()
        for database in ["a.db", "b.db"] {
            try scene.database(database).run(
                """
                CREATE TABLE meta(name TEXT PRIMARY KEY NOT NULL, twice ANY GENERATED ALWAYS AS (value * 2) VIRTUAL, value ANY,
                    kind TEXT AS (typeof(value)) STORED, sort ANY NOT NULL) STRICT
                """)
        }
        try scene.scratch.write(Self.datasets, to: "d.json")
        try scene.succeed("init a.db cloud --name a --datasets d.json")
        try scene.succeed("join b.db cloud --name b --datasets d.json")
        try scene.database("a.db").run("INSERT INTO meta(name, value, sort) VALUES('a', 21, '0042'), ('b', '0021', 2), ('c', 1.5, 3)")
        for _ in 0..<2 {
            try scene.sync("a", "b")
            let sql = "SELECT *, typeof(twice) FROM meta ORDER BY name"
            #expect(try scene.database("b.db").run(sql) == scene.database("a.db").run(sql))
            try scene.database("a.db").run("UPDATE meta SET value = value || ''")
        }
        #expect(try scene.database("b.db").run("SELECT twice, kind, quote(sort) FROM meta WHERE name = 'a'") == "42|text|'0042'\n")
        #expect(!(try scene.succeed("show b.db prefs")).contains("twice"))
        try scene.succeed("check b.db --all-versions --local")
    }
}
