import Foundation
import TestSupport
import Testing

/// Parents that are needed and cannot be there, by the built command: docs/sync.md, "Needed parents". No child is left dangling.
@Suite(.runsPrograms) struct NeededParentCommandTests {
    @Test func aChildWhoseParentCannotComeBackWaitsWithIt() throws {
        let zone = try UniqueZone("INSERT INTO p VALUES('p6', 'n', NULL, NULL)", devices: ["a", "b"])
        try zone.edit("a", "INSERT INTO c VALUES(27, 'child', NULL, 'p6'); UPDATE p SET name = 'A'")
        try zone.sync("a")
        try zone.edit("b", "DELETE FROM p WHERE id = 'p6'; INSERT INTO p VALUES('p7', 'A', NULL, NULL)")
        let said = try zone.sync("b")
        #expect(said.contains("c: 1 entity set aside: what they refer to is not there; they come back with it (27)"))
        #expect(said.contains("p: 1 entity set aside: deleted, needed by others, and another has a value by now"))
        try zone.expectEqual("p7|A||\n--\n")
        #expect(try zone.setAside("b") == "c|27|parentMissing\np|p6|parentNeeded\n")
        // doctor says what waits; nothing dangles.
        let diagnosis = try zone.scene.doctor("--db b.db", exit: 75)
        #expect(diagnosis.about("setAside").count == 2 && diagnosis.about("foreignKeys").map(\.severity) == ["ok"])
        // The name is free: both come back, at both devices.
        try zone.edit("a", "UPDATE p SET name = 'B' WHERE id = 'p7'")
        try zone.expectEqual("p6|A||\np7|B||\n--\n27|child||p6\n")
        #expect(try zone.setAside("b") == "")
    }

    @Test func aParentThatNobodyNeedsAnyLongerDoesNotComeBack() throws {
        let zone = try UniqueZone("INSERT INTO p VALUES('p6', 'n', NULL, NULL)", devices: ["a", "b"])
        try zone.edit("a", "INSERT INTO c VALUES(27, 'child', NULL, 'p6'); UPDATE p SET name = 'A'")
        try zone.sync("a")
        try zone.edit("b", "DELETE FROM p WHERE id = 'p6'; INSERT INTO p VALUES('p7', 'A', NULL, NULL)")
        try zone.sync("b", "a")
        try zone.edit("a", "INSERT INTO c VALUES(27, 'another child', NULL, NULL)", "DELETE FROM p WHERE id = 'p7'")
        try zone.expectEqual("--\n27|another child||\n")
        #expect(try zone.setAside("b") == "")
    }

    @Test(arguments: [true, false]) func childrenWaitWithAParentThatLostItsValue(isPublished: Bool) throws {
        let zone = try UniqueZone(
            "INSERT INTO p VALUES('p1', 'one', NULL, NULL), ('p2', 'two', NULL, 'p1'); INSERT INTO c VALUES(1, 'old child', NULL, 'p1'), (2, 'below', NULL, 'p2')",
            devices: ["a", "b"])
        try zone.edit("a", "UPDATE p SET name = 'A' WHERE id = 'p1'", "INSERT INTO c VALUES(3, 'new child', NULL, 'p1')")
        try zone.edit("b", "INSERT INTO p VALUES('p9', 'A', NULL, NULL)")
        if isPublished {
            // The version's row lost: it goes, and all that needs it.
            try zone.sync("a", "b")
            try zone.expectEqual("p9|A||\n--\n")
            #expect(try zone.setAside("b") == "c|1|parentMissing\nc|2|parentMissing\nc|3|parentMissing\np|p1|valueTaken\np|p2|parentMissing\n")
        } else {
            // The edit lost: the version's row of the same key stays.
            try zone.sync("b", "a")
            try zone.expectEqual("p1|one||\np2|two||p1\np9|A||\n--\n1|old child||p1\n2|below||p2\n3|new child||p1\n")
            #expect(try zone.setAside("a") == "p|p1|valueTaken\n")
        }
        try zone.edit("b", "UPDATE p SET name = 'nine' WHERE id = 'p9'")
        try zone.expectEqual("p1|A||\np2|two||p1\np9|nine||\n--\n1|old child||p1\n2|below||p2\n3|new child||p1\n")
        for name in zone.devices { #expect(try zone.setAside(name) == "") }
    }

    /// The deletion and the return are later than a's edit, which b had not seen: the edit loses, and b keeps it.
    @Test func anEditThatLosesToARevivedParentIsKept() throws {
        let zone = try UniqueZone("INSERT INTO p VALUES('p1', 'one', NULL, NULL)")
        try zone.edit("c", "INSERT INTO c VALUES(9, 'child', NULL, 'p1')")
        try zone.sync("c")
        try zone.edit("a", "UPDATE p SET name = 'edited' WHERE id = 'p1'")
        try zone.edit("b", "DELETE FROM p WHERE id = 'p1'")
        // Here the parent comes back; another device publishes before it is published.
        #expect(try zone.scene.succeed("import --db b.db").contains("revived"))
        try zone.sync("a")
        #expect(try zone.sync("b").contains("1 edit lost to a later one"))
        try zone.expectEqual("p1|one||\n--\n9|child||p1\n")
        #expect(try zone.scene.database("b.db").run("SELECT json_extract(loser, '$.name') FROM snapsync_conflicts ORDER BY id").hasSuffix("edited\n"))
    }

    @Test func aThirdDevicesChildBringsTheParentBackAsItWasKnownThere() throws {
        let zone = try UniqueZone("INSERT INTO p VALUES('p1', 'one', NULL, NULL); INSERT INTO c VALUES(1, 'old child', NULL, 'p1')")
        try zone.edit("a", "UPDATE p SET name = 'A' WHERE id = 'p1'")
        try zone.edit("c", "INSERT INTO c VALUES(4, 'on c', NULL, 'p1')")
        try zone.edit("b", "INSERT INTO p VALUES('p9', 'A', NULL, NULL)")
        try zone.sync("a", "b")
        #expect(try zone.sync("c").contains("p: 1 entity revived"))
        try zone.expectEqual("p1|one||\np9|A||\n--\n1|old child||p1\n4|on c||p1\n")
        // The name that lost is kept among the conflicts.
        #expect(try zone.scene.database("b.db").run("SELECT json_extract(loser, '$.name') FROM snapsync_conflicts WHERE key = 'p1'") == "A\n")
    }

    @Test func rowsThatReferToEachOtherReturnTogether() throws {
        let zone = try UniqueZone("INSERT INTO p VALUES('p1', 'one', NULL, NULL), ('p2', 'two', NULL, 'p1')", devices: ["a", "b"])
        try zone.edit("a", "UPDATE p SET name = 'A', up = 'p2' WHERE id = 'p1'")
        try zone.edit("b", "INSERT INTO p VALUES('p9', 'A', NULL, NULL)")
        try zone.sync("a", "b")
        #expect(try zone.setAside("b") == "p|p1|valueTaken\np|p2|parentMissing\n")
        try zone.expectEqual("p9|A||\n--\n")
        try zone.edit("a", "DELETE FROM p WHERE id = 'p9'")
        try zone.expectEqual("p1|A||p2\np2|two||p1\n--\n")
        #expect(try zone.setAside("b") == "")
    }

    @Test func aChildThatRefersToAnotherUniqueColumnIsNotLeftEither() throws {
        let tables = """
            CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE, rank INTEGER UNIQUE, up TEXT);
            CREATE TABLE c(id INTEGER PRIMARY KEY, title TEXT NOT NULL, code TEXT, pid TEXT REFERENCES p(name));
            """
        let zone = try UniqueZone("INSERT INTO p VALUES('p1', 'one', NULL, NULL)", devices: ["a", "b"], tables: tables)
        try zone.edit("a", "INSERT INTO c VALUES(1, 'child', NULL, 'one')")
        try zone.sync("a")
        try zone.edit("b", "UPDATE p SET name = 'uno'")
        #expect(try zone.sync("b").contains("c: 1 entity set aside: what they refer to is not there"))
        try zone.expectEqual("p1|uno||\n--\n")
        try zone.edit("a", "INSERT INTO p VALUES('p2', 'one', NULL, NULL)")
        try zone.expectEqual("p1|uno||\np2|one||\n--\n1|child||one\n")
    }

    @Test func atAReaderAParentThatTheVersionNeedsTakesItsValueBack() throws {
        let zone = try UniqueZone("INSERT INTO p VALUES('p6', 'A', NULL, NULL)", devices: ["a", "b"], roles: ("writer", "reader"))
        try zone.edit("a", "INSERT INTO c VALUES(27, 'child', NULL, 'p6')")
        try zone.edit("b", "DELETE FROM p WHERE id = 'p6'; INSERT INTO p VALUES('p7', 'A', NULL, NULL)")
        try zone.sync("a")
        #expect(try zone.sync("b").contains("p: 1 entity revived"))
        try zone.expectEqual("p6|A||\n--\n27|child||p6\n")
        #expect(try zone.setAside("b") == "p|p7|valueTaken\n")
    }

    @Test func whatAnApplicationLeftDanglingIsAWarningAndWhatAnImportLeftIsDamage() throws {
        let zone = try UniqueZone("INSERT INTO p VALUES('p1', 'one', NULL, NULL); INSERT INTO c VALUES(1, 'fine', NULL, 'p1')", devices: ["a", "b"])
        #expect(try zone.scene.json("verify --local --db b.db")["dangling"] as? [String] == [])
        try zone.scene.database("a.db").run("INSERT INTO c VALUES(2, 'lost', NULL, 'nowhere')")
        for name in ["a", "b", "a"] { try zone.sync(name) }
        for name in zone.devices {
            let said = try zone.scene.succeed("verify --local --db \(name).db")
            #expect(
                said.contains(
                    "warning: \(name).db, table c: 1 row refers to a row of p that is not there (row 2 refers to 'nowhere'); an application left it so"))
            #expect(said.hasSuffix("all is well\n"))
            try zone.scene.expectFinding("notice", "foreignKeys", "--db \(name).db", exit: 0, saying: ["table c", "row 2 refers to 'nowhere'", "of p"])
        }
        let rows = try #require(try zone.scene.json("verify --local --db b.db")["dangling"] as? [[String: Any]])
        #expect(rows.count == 1 && rows[0]["table"] as? String == "c" && rows[0]["key"] as? String == "2" && rows[0]["parentTable"] as? String == "p")
        #expect(rows[0]["parentKey"] as? String == "'nowhere'" && rows[0]["isDamage"] as? Bool == false)

        // As an earlier version could leave it: the parent is kept here, and its child is still in the table.
        try zone.scene.database("b.db").run(
            """
            INSERT INTO snapsync_importing VALUES(1);
            INSERT INTO snapsync_set_aside VALUES('p', 'p1', '{"id":"p1","name":"one"}', 'valueTaken', 0, NULL); DELETE FROM p WHERE id = 'p1'; DELETE FROM snapsync_importing;
            """)
        let run = try zone.scene.run("verify --local --db b.db")
        #expect(
            run.status == 65
                && run.text.contains(
                    "damaged: b.db, table c: 2 rows refer to rows of p that are not there (row 1 refers to 'p1', row 2 refers to 'nowhere'); this device set the parent aside"
                ))
        try zone.scene.expectFinding("error", "foreignKeys", "--db b.db", exit: 65, saying: ["row 1 refers to 'p1'"], remedy: "snapsync sync --db b.db")
    }
}
