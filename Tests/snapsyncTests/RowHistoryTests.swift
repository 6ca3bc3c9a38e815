import Foundation
import TestSupport
import Testing

/// `history` of one row, and `restore` of one row.
@Suite(.runsPrograms) struct RowHistoryTests {
    /// A peer with a table above 1 MiB, whose versions are change assets, and one below it, whose versions are snapshots.
    private static func made() throws -> Scene {
        try Scene.copy(of: "RowHistoryTests") { scene in
            try scene.database("a.db").run(
                """
                CREATE TABLE large(a INTEGER NOT NULL, b TEXT NOT NULL, title TEXT, n INTEGER, PRIMARY KEY(a, b));
                CREATE TABLE small(id TEXT PRIMARY KEY NOT NULL, n INTEGER);
                WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 12000)
                    INSERT INTO large SELECT n, 'x', hex(randomblob(100)), n FROM c;
                INSERT INTO small VALUES('s', 1), ('t', 1);
                """)
            try scene.succeed("init a.db cloud --peers --name a")
            try scene.succeed("sync a.db")
            for sql in [
                "UPDATE large SET title = 'two' WHERE a = 7; INSERT INTO small VALUES('u', 2)",
                "UPDATE large SET n = NULL WHERE a = 7; DELETE FROM small WHERE id = 't'",
                "UPDATE large SET n = 0 WHERE a = 8", "DELETE FROM large WHERE a = 7; UPDATE small SET n = 5 WHERE id = 's'",
                "INSERT INTO large VALUES(7, 'x', 'six', 6)",
            ] {
                try scene.database("a.db").run(sql)
                try scene.succeed("sync a.db")
            }
        }
    }

    private func changes(_ scene: Scene, _ line: String) throws -> [String] {
        try #require(try scene.json("log \(line)")["changes"] as? [[String: Any]]).map { one in
            let columns = try #require(one["columns"] as? [[String: String]])
            return "\(one["version"] ?? "") \(one["change"] ?? ""): "
                + columns.map { "\($0["name"] ?? "") \($0["before"] ?? "") -> \($0["after"] ?? "")" }.joined(separator: ", ")
        }
    }

    @Test func eachChangeOfTheRowIsListed() throws {
        let scene = try Self.made()
        let first = try scene.database("a.db").run("SELECT 1")
        #expect(first == "1\n")
        let all = try changes(scene, "a.db large 7 x")
        #expect(all.count == 5)
        #expect(all[0] == "6 added: a none -> 7, b none -> \"x\", title none -> \"six\", n none -> 6")
        #expect(all[1] == "5 removed: a 7 -> none, b \"x\" -> none, title \"two\" -> none")
        #expect(all[2] == "3 changed: n 7 -> none")
        #expect(all[3].hasPrefix("2 changed: title \"") && all[3].hasSuffix("\" -> \"two\""))
        #expect(all[4].hasPrefix("1 added: a none -> 7, b none -> \"x\", title none -> \"") && all[4].hasSuffix(", n none -> 7"))
        #expect(try changes(scene, "cloud large 7 x --limit 2") == Array(all.prefix(2)))
        #expect(try changes(scene, "cloud small s") == ["5 changed: n 1 -> 5", "1 added: id none -> \"s\", n none -> 1"])
        #expect(try changes(scene, "a.db small t") == ["3 removed: id \"t\" -> none, n 1 -> none", "1 added: id none -> \"t\", n none -> 1"])
        let text = try scene.succeed("log a.db small s")
        #expect(text.hasPrefix("version 5  20") && text.contains("  by a  changed\n  n: 1 -> 5\nversion 1  "))
        try scene.refuse("log a.db small zz", exit: 66, saying: ["table small", "zz"])
        try scene.refuse("log a.db large 7", exit: 78, saying: ["2 values", "a, b"])
        #expect(try scene.run("log a.db small").status == 64)
    }

    @Test func historyBeginsAtTheOldestKeptVersion() throws {
        let scene = try Self.made()
        for name in ["1", "2", "3"] {
            try FileManager.default.removeItem(atPath: scene.scratch.path("\(Scene.mainZone)/commits/\(String(repeating: "0", count: 19) + name).json"))
        }
        // Without a checkpoint this is a damaged history, which is said and not shortened.
        #expect(try scene.run("log a.db small s").status == 65)
    }

    @Test func oneRowIsRestoredAsAnEdit() throws {
        let scene = try Self.made()
        try scene.succeed("join b.db cloud --peer --name b")
        try scene.succeed("sync b.db")
        try scene.database("a.db").run("UPDATE small SET n = 9 WHERE id = 'u'")
        let report = try scene.json("restore a.db 2 large 7 x")
        #expect((report["datasets"] as? [[String: Any]])?.map { $0["changed"] as? Int } == [1])
        #expect(try scene.succeed("restore a.db 2 large 7 x") == "nothing was changed: the row is as in version 2\n")
        for name in ["a.db", "b.db"] { try scene.succeed("sync \(name)") }
        #expect(try scene.database("b.db").run("SELECT title, n FROM large WHERE a = 7; SELECT n FROM small ORDER BY id") == "two|7\n5\n9\n")
        #expect(try scene.database("b.db").run("SELECT count(*) FROM large") == "12000\n")
        // A deleted row is inserted again.
        for line in ["restore b.db 2 small t", "sync b.db", "sync a.db"] { try scene.succeed(line) }
        #expect(try scene.database("a.db").run("SELECT n FROM small WHERE id = 't'") == "1\n")
        try scene.succeed("undo b.db")
        #expect(try scene.database("b.db").run("SELECT count(*) FROM small") == "2\n")
        try scene.refuse("restore a.db 5 large 7 x", exit: 66, saying: ["version 5", "no row with the key"])
        #expect(try scene.run("restore a.db 5 large").status == 64)
    }

    @Test func aDatasetThatReturnsWithAnotherKeyHasOtherRows() throws {
        let scene = try Scene.twoTables("writer", "reader")
        try scene.succeed("tables remove a.db t")
        try scene.succeed("sync a.db")
        try scene.database("a.db").run("DROP TABLE t; CREATE TABLE t(w INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES(1, 'new')")
        try scene.succeed("tables add a.db t")
        try scene.succeed("sync a.db")
        let said = try scene.succeed("log a.db t 1")
        #expect(said.contains("added") && said.contains("new") && !said.contains("version 1"), "\(said)")
    }
}
