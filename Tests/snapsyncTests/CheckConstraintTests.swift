import Foundation
import TestSupport
import Testing

/// CHECK constraints and defaults: what `--create` makes of them, and rows that break a constraint of another device.
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct CheckConstraintTests {
    private static let trade = """
        CREATE TABLE goods(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 40), price NUMERIC DEFAULT 0, stock INTEGER NOT NULL DEFAULT -1,
            state TEXT NOT NULL DEFAULT 'new' CHECK(state IN ("new", 'old')), made TEXT DEFAULT CURRENT_TIMESTAMP, code TEXT DEFAULT (hex(randomblob(2))),
            CHECK ([price]>=(0)), CONSTRAINT "in stock" CHECK (stock >= -1 AND NOT stock > 1000 OR stock IS NULL));
        CREATE TABLE lines(item INTEGER NOT NULL REFERENCES goods(id), line INTEGER NOT NULL, share REAL, day TEXT CHECK(day IS NULL OR strftime('%Y', day) > '1999'),
            PRIMARY KEY(item, line), CHECK (share >= 0.0 AND share <= 1));
        INSERT INTO goods(name, price) VALUES('Tea', 18), ('Rice', NULL); INSERT INTO lines VALUES(1, 1, 0.5, NULL);
        """

    /// Two peers, of which the second one's tables are made from the zone.
    private func peers(_ options: String = "") throws -> Scene { try Scene.pair(Self.trade, roles: ("peer --key-range", "peer\(options) --key-range")) }

    @Test func tablesThatAreMadeHaveTheDefaultsThatAreValues() throws {
        let scene = try peers()
        #expect(
            try scene.database("b.db").run("SELECT sql FROM sqlite_schema WHERE name IN ('goods', 'lines') ORDER BY name")
                == """
                CREATE TABLE "goods"("id" INTEGER PRIMARY KEY AUTOINCREMENT, "name" TEXT NOT NULL, "price" NUMERIC DEFAULT 0, "stock" INTEGER NOT NULL DEFAULT -1, "state" TEXT NOT NULL DEFAULT 'new', "made" TEXT DEFAULT CURRENT_TIMESTAMP, "code" TEXT)
                CREATE TABLE "lines"("item" INTEGER NOT NULL, "line" INTEGER NOT NULL, "share" REAL, "day" TEXT, PRIMARY KEY("item", "line"), FOREIGN KEY("item") REFERENCES "goods"("id"))

                """)
        try scene.database("b.db").run("INSERT INTO goods(name) VALUES('Salt')")
        try scene.sync("b", "a")
        #expect(
            try scene.database("a.db").run("SELECT name, price, stock, state, made IS NULL FROM goods ORDER BY id")
                == "Tea|18|-1|new|0\nRice||-1|new|0\nSalt|0|-1|new|0\n")
        for name in ["a", "b"] { try scene.succeed("check \(name).db --all-versions --local") }
    }

    @Test func tablesThatAreMadeFromTheSQLTextHaveTheConstraints() throws {
        let scene = try peers(" --with-schema")
        let query = "SELECT sql FROM sqlite_schema WHERE name IN ('goods', 'lines') ORDER BY name"
        #expect(try scene.database("b.db").run(query) == scene.database("a.db").run(query))
        for bad in ["name) VALUES('')", "name, price) VALUES('x', -1)", "name, stock) VALUES('x', 1001)", "name, state) VALUES('x', 'sold')"] {
            #expect(throws: (any Error).self) { try scene.database("b.db").run("INSERT INTO goods(\(bad)") }
        }
    }

    /// Defaults as a table writes them, and as the table has them that is made from the description; none stays away.
    private static let defaults = [
        ("5", "5"), ("-5", "-5"), ("+5", "5"), ("1e2", "100.0"), ("9e999", "9e999"), ("-9e999", "-9e999"), ("0x10", "16"), ("'it''s'", "'it''s'"),
        ("\"two words\"", "'two words'"), ("word", "'word'"),
        ("x'00ff'", "X'00ff'"), ("TRUE", "1"), ("CURRENT_DATE", "CURRENT_DATE"), ("(7)", "7"), ("NULL", ""), ("(1 + 1)", ""), ("(random())", ""),
        ("'\u{301}'", "'\u{301}'"),
    ]

    @Test func aDefaultThatIsAValueTravels() throws {
        let scene = try Scene.pair(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, \(Self.defaults.enumerated().map { "v\($0) DEFAULT \($1.0)" }.joined(separator: ", ")))",
            roles: ("writer", "reader"))
        let made = Self.defaults.enumerated().map { "\"v\($0)\"\($1.1.isEmpty ? "" : " DEFAULT \($1.1)")" }.joined(separator: ", ")
        #expect(
            try scene.database("b.db").run("SELECT sql FROM sqlite_schema WHERE name = 't'") == "CREATE TABLE \"t\"(\"id\" INTEGER PRIMARY KEY, \(made))\n")
    }

    /// A constraint that did not travel: the row arrives, everybody hears of it, and no device is stuck.
    @Test func aRowThatBreaksAConstraintOfThisDeviceIsTakenAndTold() throws {
        let scene = try peers()
        try scene.database("b.db").run("INSERT INTO lines VALUES(1, 2, 0.5, '1989-11-09'), (1, 3, 0.5, '2001-01-01'); INSERT INTO goods(name) VALUES('Oil')")
        try scene.sync("b")
        let synced = try scene.succeed("sync a.db")
        #expect(synced.contains("warning: lines: 1 row breaks CHECK(day IS NULL OR strftime('%Y', day) > '1999') of this device's table"), "\(synced)")
        #expect(synced.contains("[1,2]"))
        #expect(try scene.database("a.db").run("SELECT day FROM lines WHERE line = 2") == "1989-11-09\n")
        #expect(try scene.succeed("sync a.db").hasPrefix("nothing new"))
        try scene.succeed("check a.db --all-versions --local")
        let doctor = try scene.succeed("check a.db")
        #expect(doctor.contains("notice: checks: lines: 1 row breaks CHECK") && !doctor.contains("damaged"), "\(doctor)")
        // The table's constraint holds for the application as before.
        #expect(throws: (any Error).self) { try scene.database("a.db").run("UPDATE lines SET day = '1990-10-03' WHERE line = 2") }
        try scene.database("a.db").run("UPDATE lines SET day = '2009-11-09' WHERE line = 2")
        try scene.sync("a", "b")
        #expect(try scene.database("b.db").run("SELECT day FROM lines WHERE line = 2") == "2009-11-09\n")
        #expect(try !scene.succeed("check a.db").contains("checks"))
    }

    /// SQLite finds that a function of a CHECK is missing only when a row is written.
    @Test func aCheckThatNeedsTheApplicationIsRefusedAtAPeer() throws {
        let scene = try Scene(), table = "CREATE TABLE x(id TEXT PRIMARY KEY NOT NULL, t CHECK(fn(t)))"
        let make = "import sqlite3; c = sqlite3.connect('a.db'); c.create_function('fn', 1, lambda v: 1, deterministic=True); c.execute('\(table)')"
        _ = try Python.run(make, [], in: scene.scratch.path)
        let text = try scene.refused("init a.db cloud --peers --name a")
        #expect(text.contains("x: it cannot be written without the application: no such function: fn"), "\(text)")
    }
}
