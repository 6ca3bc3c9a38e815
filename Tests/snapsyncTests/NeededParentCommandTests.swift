import Foundation
import TestSupport
import Testing

/// References and edits that do not fit, by the built command: docs/merging.md, "Rows that do not fit". No child is left dangling.
@Suite(.runsPrograms) struct NeededParentCommandTests {
    @Test(arguments: ["peer", "reader"]) func aParentThatOthersNeedIsNotDeleted(role: String) throws {
        let zone = try UniqueZone("INSERT INTO p VALUES('p6', 'n', NULL, NULL)", devices: ["a", "b"], roles: (role == "peer" ? "peer" : "writer", role))
        try zone.edit("a", "INSERT INTO c VALUES(27, 'child', NULL, 'p6'); UPDATE p SET name = 'A'")
        try zone.edit("b", "DELETE FROM p WHERE id = 'p6'; INSERT INTO p VALUES('p7', 'A', NULL, NULL)")
        try zone.sync("a")
        #expect(try zone.sync("b").contains("p: \(UniqueValueTests.taken)"))
        try zone.expectEqual("p6|A||\n--\n27|child||p6\n")
        #expect(try zone.lost("b") == "p6|parentNeeded\n")
        try zone.edit("a", "UPDATE p SET name = 'B' WHERE id = 'p6'")
        try zone.sync("a", "b")
        #expect(try zone.rows("b") == "p6|B||\np7|A||\n--\n27|child||p6\n")
    }

    /// An application without foreign keys leaves a child where it is, and has deleted the parent all the same.
    @Test func aDeletionThatLeavesAChildStands() throws {
        let zone = try UniqueZone(
            "INSERT INTO p VALUES('p1', 'one', NULL, NULL), ('p2', 'two', NULL, NULL); INSERT INTO c VALUES(1, 'child', NULL, 'p1')", devices: ["a", "b"])
        try zone.edit("a", "PRAGMA foreign_keys = OFF; DELETE FROM p WHERE id = 'p1'")
        try zone.edit("b", "UPDATE p SET name = 'of b' WHERE id = 'p2'")
        try zone.sync("b", "a", "b")
        for name in zone.devices { #expect(try zone.rows(name) == "p2|of b||\n--\n1|child||p1\n") }
    }

    @Test func noPublishedRowLeavesTheTablesAndAHeldRowWaitsWithItsChildren() throws {
        let zone = try UniqueZone(
            "INSERT INTO p VALUES('p1', 'one', NULL, NULL), ('p2', 'two', NULL, 'p1'); INSERT INTO c VALUES(1, 'old child', NULL, 'p1'), (2, 'below', NULL, 'p2')",
            devices: ["a", "b"])
        try zone.edit("a", "UPDATE p SET name = 'A' WHERE id = 'p1'", "INSERT INTO c VALUES(3, 'new child', NULL, 'p1')")
        try zone.edit("b", "INSERT INTO p VALUES('p9', 'A', NULL, NULL)", "INSERT INTO c VALUES(4, 'with p9', NULL, 'p9'), (5, 'with p1', NULL, 'p1')")
        try zone.sync("a", "b")
        try zone.expectEqual("p1|A||\np2|two||p1\n--\n1|old child||p1\n2|below||p2\n3|new child||p1\n5|with p1||p1\n")
        try zone.edit("a", "UPDATE p SET name = 'one' WHERE id = 'p1'")
        try zone.sync("a")
        try zone.expectEqual("p1|one||\np2|two||p1\np9|A||\n--\n1|old child||p1\n2|below||p2\n3|new child||p1\n4|with p9||p9\n5|with p1||p1\n")
    }

    @Test func aParentThatTheVersionDeletedReturnsAsItWasKnownThereOrWaitsWithTheChild() throws {
        let zone = try UniqueZone("INSERT INTO p VALUES('p1', 'one', NULL, NULL), ('p2', 'two', NULL, NULL)")
        try zone.edit("a", "UPDATE p SET name = 'A' WHERE id = 'p1'")
        try zone.sync("a", "b")
        try zone.edit("b", "DELETE FROM p; INSERT INTO p VALUES('p9', 'two', NULL, NULL)")
        try zone.edit("c", "INSERT INTO c VALUES(1, 'child', NULL, 'p1'), (2, 'child', NULL, 'p2')")
        try zone.sync("b")
        #expect(try zone.sync("c").contains("restored, because rows that were changed here refer to them"))
        try zone.expectEqual("p1|one||\np9|two||\n--\n1|child||p1\n")
        try zone.edit("a", "UPDATE p SET name = 'nine' WHERE id = 'p9'")
        try zone.sync("a")
        try zone.expectEqual("p1|one||\np2|two||\np9|nine||\n--\n1|child||p1\n2|child||p2\n")
    }

    @Test func rowsThatReferToEachOtherReturnTogether() throws {
        let zone = try UniqueZone(devices: ["a", "b"])
        try zone.edit("a", "INSERT INTO p VALUES('p1', 'A', NULL, NULL), ('p2', 'two', NULL, 'p1'); UPDATE p SET up = 'p2' WHERE id = 'p1'")
        try zone.edit("b", "INSERT INTO p VALUES('p9', 'A', NULL, NULL)")
        try zone.sync("b", "a")
        try zone.expectEqual("p9|A||\n--\n")
        try zone.edit("b", "DELETE FROM p WHERE id = 'p9'")
        try zone.sync("b")
        try zone.expectEqual("p1|A||p2\np2|two||p1\n--\n")
    }

    @Test func aValueThatRowsOfOthersReferToIsNotChanged() throws {
        let tables = """
            CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE, rank INTEGER UNIQUE, up TEXT);
            CREATE TABLE c(id INTEGER PRIMARY KEY, title TEXT NOT NULL, code TEXT, pid TEXT REFERENCES p(name));
            """
        let zone = try UniqueZone("INSERT INTO p VALUES('p1', 'one', NULL, NULL)", devices: ["a", "b"], tables: tables)
        try zone.edit("a", "INSERT INTO c VALUES(1, 'child', NULL, 'one')")
        try zone.sync("a")
        try zone.edit("b", "UPDATE p SET name = 'uno', rank = 1")
        try zone.sync("b")
        try zone.expectEqual("p1|one|1|\n--\n1|child||one\n")
        #expect(try zone.lost("b") == "p1|valueTaken\n")
    }

    @Test func whatAnApplicationLeftDanglingIsAWarning() throws {
        let zone = try UniqueZone("INSERT INTO p VALUES('p1', 'one', NULL, NULL); INSERT INTO c VALUES(1, 'fine', NULL, 'p1')", devices: ["a", "b"])
        #expect(try zone.scene.json("check b.db --local")["dangling"] as? [String] == [])
        try zone.scene.database("a.db").run("INSERT INTO c VALUES(2, 'lost', NULL, 'nowhere')")
        for name in ["a", "b", "a"] { try zone.sync(name) }
        for name in zone.devices {
            let said = try zone.scene.succeed("check \(name).db --local")
            #expect(
                said.contains(
                    "warning: \(name).db, table c: 1 row refers to a row of p that is not there (row 2 refers to 'nowhere'); an application left it so"))
            #expect(said.hasSuffix("all is well\n"))
            try zone.scene.expectFinding("notice", "foreignKeys", "\(name).db", exit: 0, saying: ["table c", "row 2 refers to 'nowhere'", "of p"])
        }
        let rows = try #require(try zone.scene.json("check b.db --local")["dangling"] as? [[String: Any]])
        #expect(rows.count == 1 && rows[0]["table"] as? String == "c" && rows[0]["key"] as? String == "2" && rows[0]["parentTable"] as? String == "p")
        #expect(rows[0]["parentKey"] as? String == "'nowhere'")
    }

    // MARK: - Rows that no merge has checked

    private static let tables = "CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL); CREATE TABLE c(id INTEGER PRIMARY KEY, p TEXT REFERENCES p, v TEXT);"

    @Test(arguments: ["writer", "peer --shared-keys"]) func aFileThatBreaksAReferenceIsRefused(role: String) throws {
        let scene = try Scene()
        try scene.database("a.db").run(Self.tables + "INSERT INTO p VALUES('p1'); INSERT INTO c VALUES(1, 'p1', NULL), (2, 'lost', NULL)")
        try scene.succeed(Scene.setUp("a.db", as: role, "--name a"))
        try scene.sync("a")
        try scene.scratch.write(#"{"syncTimestamp":"2099-01-01T00:00:00Z","c":[{"id":7,"p":"gone"},{"id":8,"p":"p1"}]}"#, to: "c.json")
        try scene.scratch.write(#"{"syncTimestamp":"2099-01-01T00:00:00Z","p":[{"id":"gone"}]}"#, to: "p.json")
        let saying = ["table c", "1 row would point at rows of p that are not there", "first"]
        try scene.refuse("import a.db --file c.json --add", exit: 65, saying: saying, watching: ["a.db"])
        // With its parent, the row fits. What an application left dangling is in nobody's way.
        try scene.succeed("import a.db --file p.json --add")
        try scene.succeed("import a.db --file c.json --add")
        #expect(try scene.value("SELECT group_concat(id || p) FROM c", in: "a.db") == "1p1,2lost,7gone,8p1")
        try scene.sync("a")
        // A file that has fewer parents than the table.
        try scene.refuse(
            "import a.db --file p.json", exit: 65, saying: ["table c", "2 rows would point at rows of p that are not there"], watching: ["a.db"])
    }
}
