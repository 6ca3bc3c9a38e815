import Foundation
import TestSupport
import Testing

/// Tables that do not match their dataset file, and dataset files that cannot be read.
@Suite(.runsPrograms) struct BadTableTests {
    private static let datasets = """
        {"formatVersion": 1, "datasets": [{"name": "rooms", "key": "id", "columns": [
          {"name": "id", "type": "text"}, {"name": "size", "type": "integer", "column": "squareMetres", "optional": true}]}]}
        """

    /// What the table is instead, and what the refusal says of it. TableCheckTests has others.
    private static let mismatches: [(sql: String, says: [String])] = [
        ("", ["table rooms", "there is no such table"]),
        ("CREATE TABLE rooms(id TEXT PRIMARY KEY)", ["table rooms", "has no column squareMetres", "add the column"]),
        ("CREATE TABLE rooms(id TEXT, squareMetres INT)", ["key column id is not unique by itself", "UNIQUE index"]),
        ("PRAGMA encoding = 'UTF-16le'; CREATE TABLE rooms(id TEXT PRIMARY KEY, squareMetres INT)", ["UTF-16", "make a UTF-8 copy"]),
    ]

    /// A reader and a writer whose table is good, with version 1 in both.
    private func syncedScene(readersRule: String = "") throws -> Scene {
        try Scene.copy(of: "rooms \(readersRule)") { scene in
            try scene.scratch.write(Self.datasets, to: "rooms.json")
            for (name, role) in [("a", "writer"), ("b", "reader")] {
                let isReader = role == "reader", database = scene.database("\(name).db")
                try database.run("CREATE TABLE rooms(id TEXT PRIMARY KEY NOT NULL, squareMetres INT \(isReader ? readersRule : ""))")
                if !isReader { try database.run("INSERT INTO rooms VALUES('hall', 200), ('den', NULL)") }
                try scene.succeed(Scene.setUp("\(name).db", as: role, "--name \(role) --datasets rooms.json"))
                try scene.sync(name)
            }
        }
    }

    @Test func initRefusesATableThatDoesNotMatch() throws {
        let scene = try syncedScene()
        for (number, (sql, says)) in Self.mismatches.enumerated() {
            try scene.database("bad\(number).db").run(sql.isEmpty ? "CREATE TABLE other(x)" : sql)
            for role in ["writer --zone Z\(number)", "reader"] {
                try scene.refuse(
                    Scene.setUp("bad\(number).db", as: role, "--datasets rooms.json"), exit: 78, saying: ["bad\(number).db"] + says,
                    watching: ["bad\(number).db"])
            }
        }
        #expect(
            try scene.run("join bad0.db cloud --datasets rooms.json").errorText.contains("dataset rooms: there is no such table"))
    }

    @Test func tableThatChangedAfterInitIsRefused() throws {
        for (sql, says) in Self.mismatches where !sql.contains("PRAGMA") {
            let scene = try syncedScene()
            for name in ["a.db", "b.db"] { try scene.database(name).run("DROP TABLE rooms; \(sql)") }
            try scene.refuse("export a.db", exit: 78, saying: says, watching: ["a.db"])
            try scene.refuse("import b.db", exit: 78, saying: says, watching: ["b.db"])
        }
    }

    @Test func readerDoesNotClearAColumnThatWasAddedLater() throws {
        let scene = try syncedScene()
        try scene.database("b.db").run("ALTER TABLE rooms ADD COLUMN mine TEXT; UPDATE rooms SET mine = 'kept'")
        try scene.database("a.db").run("UPDATE rooms SET squareMetres = 9")
        try scene.succeed("export a.db")
        try scene.succeed("import b.db")
        #expect(try scene.database("b.db").run("SELECT DISTINCT squareMetres, mine FROM rooms") == "9|kept\n")
    }

    @Test func rowsThatTheReadersTableRefusesChangeNothing() throws {
        let scene = try syncedScene(readersRule: "UNIQUE")
        try scene.database("a.db").run("INSERT INTO rooms SELECT 'zoo', max(squareMetres) FROM rooms")
        try scene.succeed("export a.db")
        try scene.refuse(
            "import b.db", exit: 65, saying: ["b.db, table rooms", "a row breaks a rule of the table", "UNIQUE"], watching: ["b.db"], asJSONToo: true)
    }

    @Test func rowsOfOtherTablesAreNotLeftDangling() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.database("watch.db").run(
            """
            CREATE TABLE stars(bucket TEXT NOT NULL REFERENCES buckets(id) ON DELETE RESTRICT); INSERT INTO stars SELECT max(id) FROM buckets
            """)
        try scene.database("phone.db").run("DELETE FROM buckets WHERE id = (SELECT max(id) FROM buckets)")
        try scene.succeed("export phone.db")
        try scene.refuse(
            "import watch.db", exit: 65, saying: ["table stars", "1 row would point at rows of buckets that are not there", "ON DELETE CASCADE"],
            watching: ["watch.db"])
    }

    /// Dataset files, each with what is said. DatasetFileTests has others.
    private static let files: [(text: String, says: [String])] = [
        ("", ["bad.json", "byte 0"]),
        (
            #"{"formatVersion": 1, "datasets": [{"name": "rooms", "key": "id", "columns": [{"name": "id"}], "colums": []}]}"#,
            ["datasets[0].colums", "the key is not known"]
        ),
        (#"{"formatVersion": 1, "datasets": [{"name": "rooms", "key": "id", "columns": [{"name": "id", "type": "uuid"}]}]}"#, ["datasets[0].columns[0].type"]),
    ]

    @Test func datasetFilesThatAreWrongAreExplained() throws {
        let scene = try Scene()
        try scene.database("a.db").run("CREATE TABLE rooms(id TEXT PRIMARY KEY)")
        for (text, says) in Self.files {
            try scene.scratch.write(text, to: "bad.json")
            try scene.refuse(
                "init a.db cloud --datasets bad.json", exit: 78, saying: ["bad.json", "docs/datasets.md"] + says, watching: ["a.db"])
        }
        try scene.refuse(
            "init a.db cloud --datasets none.json", exit: 66, saying: ["none.json", "cannot be read"], watching: ["a.db"])
        #expect(!scene.scratch.exists("cloud"))
    }

    @Test func filesThatAreNoDatabaseAreLeftAlone() throws {
        let scene = try Scene.phone()
        try scene.scratch.write("This is a text file, long enough to have a header of SQLite's length, and it is not a database at all.", to: "text.db")
        let before = try scene.scratch.read("text.db")
        for line in ["export text.db", "status text.db", "generate text.db", "join text.db cloud"] {
            let run = try scene.run(line)
            Scene.checkRefusal(run, exit: 65, saying: ["text.db", "not a SQLite database", "check the path"])
        }
        #expect(try scene.scratch.read("text.db") == before)
        try scene.refuse("export none.db", exit: 66, saying: ["none.db", "there is no such database", "check the path"])
        try scene.refuse("export cloud", exit: 66, saying: ["cloud", "cannot be opened"])
    }
}
