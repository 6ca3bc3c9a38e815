import Foundation
import TestSupport
import Testing

/// Two rows with one UNIQUE value, by the built command: docs/sync.md, "Who keeps a UNIQUE value" and the two tables after it.
@Suite(.runsPrograms) struct UniqueValueTests {
    @Test func aLaterEditOfARowThatLostItsValueElsewhereStaysEverywhere() throws {
        let zone = try UniqueZone("INSERT INTO c VALUES(39, 'first', NULL, NULL)")
        try zone.edit("a", "UPDATE c SET code = 'w' WHERE id = 39")
        try zone.edit("c", "UPDATE c SET title = 'edited on c' WHERE id = 39")
        try zone.edit("b", "INSERT INTO c VALUES(30, 'b', 'w', NULL)")
        try zone.sync("a")
        #expect(try zone.sync("b").contains("c: 1 entity set aside: another has a value, later, that only one may have; they come back when it is free (39)"))
        #expect(try zone.setAside("b") == "c|39|valueTaken\n")
        try zone.sync("c")
        // The edit that waited was overtaken by a later one of the same row: told, and kept among the conflicts.
        #expect(try zone.sync("b").contains("c: 1 entity not waited for any longer: set aside earlier, and changed later by another device (39)"))
        try zone.expectEqual("--\n30|b|w|\n39|edited on c||\n")
        #expect(try zone.setAside("b") == "")
        let conflicts =
            "SELECT dataset, key, reason, json_extract(loser, '$.code'), json_extract(winner, '$.title') FROM snapsync_conflicts WHERE loser LIKE '%\"w\"%'"
        #expect(try zone.scene.database("b.db").run(conflicts) == "c|39|laterEdit|w|edited on c\n")
    }

    @Test(arguments: ["plain", "deleted", "touched"]) func theLaterKeepsTheValue(kind: String) throws {
        let zone = try UniqueZone("INSERT INTO c VALUES(12, 'first', 'v5', NULL)", devices: ["a", "b"])
        if kind == "deleted" { try zone.edit("a", "DELETE FROM c WHERE id = 12") }
        try zone.edit("a", "INSERT INTO c VALUES(23, 'a, earlier', 'w', NULL)")
        if kind == "touched" { try zone.edit("a", "UPDATE c SET title = 'a, earlier, touched' WHERE id = 23") }
        try zone.edit("b", "UPDATE c SET title = 'b, later', code = 'w' WHERE id = 12")
        try zone.sync("b", "a")
        try zone.expectEqual("--\n12|b, later|w|\n")
        #expect(try zone.setAside("a") == "c|23|valueTaken\n" && zone.setAside("b") == "")
        // What was only here leaves no deletion in the version.
        #expect(try zone.scene.database("a.db").run("SELECT key FROM snapsync_tombstones WHERE key = 23") == "")
    }

    @Test func aThirdDevicesLaterEditFightsAgain() throws {
        let zone = try UniqueZone("INSERT INTO c VALUES(1, 'first', 'w', NULL), (2, 'other', NULL, NULL)")
        // Before the winner's instant it loses once more, and is kept where that happens.
        try zone.edit("c", "UPDATE c SET title = 'on c' WHERE id = 1")
        try zone.edit("a", "UPDATE c SET code = NULL WHERE id = 1; UPDATE c SET code = 'w' WHERE id = 2")
        try zone.sync("a", "c")
        #expect(try zone.setAside("c") == "")
        try zone.expectEqual("--\n1|first||\n2|other|w|\n")

        try zone.edit("c", "INSERT INTO c VALUES(3, 'three', 'x', NULL)")
        try zone.edit("b", "INSERT INTO c VALUES(4, 'four', 'x', NULL)")
        try zone.sync("c", "a")
        try zone.edit("a", "UPDATE c SET title = 'three, on a' WHERE id = 3")
        try zone.sync("b")
        #expect(try zone.setAside("b") == "c|3|valueTaken\n")
        // After it, the row takes the value back.
        try zone.sync("a")
        #expect(try zone.setAside("a") == "c|4|valueTaken\n")
        try zone.expectEqual("--\n1|first||\n2|other|w|\n3|three, on a|x|\n")
        #expect(try zone.setAside("b") == "")
    }

    @Test func aDeletionByAThirdDeviceEndsTheWaiting() throws {
        let zone = try UniqueZone("INSERT INTO c VALUES(1, 'first', 'w', NULL)")
        try zone.edit("b", "INSERT INTO c VALUES(2, 'two', 'x', NULL)")
        try zone.edit("a", "UPDATE c SET code = 'x' WHERE id = 1")
        try zone.edit("c", "DELETE FROM c WHERE id = 1")
        try zone.sync("b", "a", "b")
        // Nobody's edit is lost: the row that gave way is kept, and the deletion that came later counts.
        #expect(try zone.setAside("a") == "c|2|valueTaken\n")
        try zone.sync("c")
        try zone.expectEqual("--\n2|two|x|\n")
        for name in zone.devices { #expect(try zone.setAside(name) == "") }
    }

    @Test func theHighestOfThoseThatWaitTakesTheValueWhenItIsFree() throws {
        let zone = try UniqueZone()
        try zone.edit("a", "INSERT INTO c VALUES(1, 'one', 'w', NULL)")
        try zone.edit("b", "INSERT INTO c VALUES(2, 'two', 'w', NULL)")
        try zone.edit("c", "INSERT INTO c VALUES(3, 'three', 'w', NULL)")
        try zone.sync("c", "a", "b")
        try zone.expectEqual("--\n3|three|w|\n")
        #expect(try zone.setAside("a") == "c|1|valueTaken\n" && zone.setAside("b") == "c|2|valueTaken\n")
        // The lower one syncs first, and gives the value up again.
        try zone.edit("c", "UPDATE c SET code = 'free' WHERE id = 3")
        try zone.sync("c", "a", "b")
        try zone.expectEqual("--\n2|two|w|\n3|three|free|\n")
        try zone.edit("c", "DELETE FROM c WHERE id = 2")
        // What returns is an edit of the device that kept it: the others have it with their next sync.
        try zone.sync("c", "b")
        try zone.expectEqual("--\n1|one|w|\n3|three|free|\n")
        for name in zone.devices { #expect(try zone.setAside(name) == "") }
    }

    @Test func aRowThatLostHoldsNoValue() throws {
        let zone = try UniqueZone()
        try zone.edit("a", "INSERT INTO p VALUES('z', 'n2', 1, NULL)")
        try zone.edit("b", "INSERT INTO p VALUES('y', 'n1', 1, NULL)")
        try zone.edit("c", "INSERT INTO p VALUES('x', 'n1', 2, NULL)")
        try zone.sync("b", "a", "c")
        try zone.expectEqual("x|n1|2|\nz|n2|1|\n--\n")
        #expect(try zone.setAside("c") == "p|y|valueTaken\n")
    }

    /// The table of the children; the later row; what stays beside it.
    @Test(
        arguments: [
            ("id INTEGER PRIMARY KEY, title TEXT NOT NULL, code TEXT UNIQUE, pid TEXT", "", "'w', 'p'"),
            ("id INTEGER PRIMARY KEY, title TEXT NOT NULL, code TEXT COLLATE NOCASE UNIQUE, pid TEXT", "", "'W', 'p'"),
            ("id INTEGER PRIMARY KEY, title TEXT NOT NULL, code TEXT, pid TEXT, UNIQUE(code, pid)", "", "'w', 'q'"),
            ("id INTEGER PRIMARY KEY, title TEXT NOT NULL, code TEXT, pid TEXT", "CREATE UNIQUE INDEX i ON c(code) WHERE pid = 'q'", "'w', 'q'"),
            ("id INTEGER PRIMARY KEY, title TEXT NOT NULL, code TEXT UNIQUE ON CONFLICT REPLACE, pid TEXT", "", "'w', 'p'"),
            ("id INTEGER PRIMARY KEY, title TEXT NOT NULL, code TEXT UNIQUE ON CONFLICT IGNORE, pid TEXT", "", "'w', 'p'"),
        ], [true, false]) func everyKindOfUniqueIndexCounts(table: (String, String, String), laterIsFirst: Bool) throws
    {
        for form in ["", " WITHOUT ROWID"] {
            let zone = try UniqueZone(
                devices: ["a", "b"],
                tables: "CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL, name TEXT, rank INTEGER, up TEXT); CREATE TABLE c(\(table.0))\(form); \(table.1)")
            try zone.edit("a", "INSERT INTO c VALUES(1, 'no rival', 'v', 'p')", "INSERT INTO c VALUES(2, 'earlier', 'w', 'q')")
            try zone.edit("b", "INSERT INTO c VALUES(3, 'later', \(table.2))")
            if laterIsFirst { try zone.sync("b", "a") } else { try zone.sync("a", "b") }
            let values = table.2.replacing("'", with: "").replacing(", ", with: "|")
            try zone.expectEqual("--\n1|no rival|v|p\n3|later|\(values)\n")
            #expect(try zone.setAside(laterIsFirst ? "a" : "b") == "c|2|valueTaken\n")
        }
    }

    @Test func anIndexOnAnExpressionCountsToo() throws {
        let zone = try UniqueZone(
            devices: ["a", "b"],
            tables: """
                CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL, name TEXT, rank INTEGER, up TEXT);
                CREATE TABLE c(id INTEGER PRIMARY KEY, title TEXT NOT NULL, code TEXT, pid TEXT); CREATE UNIQUE INDEX i ON c(lower(code), pid);
                """)
        try zone.edit("a", "INSERT INTO c VALUES(1, 'no rival', 'w', 'p'), (2, 'one', 'w', 'q')")
        try zone.edit("b", "INSERT INTO c VALUES(3, 'two', 'W', 'q')")
        try zone.sync("a", "b")
        try zone.expectEqual("--\n1|no rival|w|p\n3|two|W|q\n")
        #expect(try zone.setAside("b") == "c|2|valueTaken\n")
    }

    @Test func rowsOutsideOfAPartialIndexAreNoRivals() throws {
        let zone = try UniqueZone(
            devices: ["a", "b"],
            tables: """
                CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL, name TEXT, rank INTEGER, up TEXT);
                CREATE TABLE c(id INTEGER PRIMARY KEY, title TEXT NOT NULL, code TEXT, pid TEXT UNIQUE); CREATE UNIQUE INDEX i ON c(code) WHERE title <> 'draft';
                """)
        try zone.edit("a", "INSERT INTO c VALUES(1, 'draft', 'w', 'p'), (2, 'one', 'w', 'q')")
        try zone.edit("b", "INSERT INTO c VALUES(3, 'two', 'w', 'r')")
        try zone.sync("a", "b")
        try zone.expectEqual("--\n1|draft|w|p\n3|two|w|r\n")
        #expect(try zone.setAside("b") == "c|2|valueTaken\n")
    }

    @Test func atAReaderTheVersionsRowKeepsTheValue() throws {
        let zone = try UniqueZone("INSERT INTO c VALUES(1, 'one', 'v', NULL)", devices: ["a", "b"], roles: ("writer", "reader"))
        try zone.edit("a", "INSERT INTO c VALUES(2, 'two', 'w', NULL)")
        try zone.edit("b", "INSERT INTO c VALUES(3, 'three', 'w', NULL)", "UPDATE c SET code = 'x' WHERE id = 1")
        try zone.edit("a", "INSERT INTO c VALUES(4, 'four', 'x', NULL)")
        try zone.sync("a")
        #expect(try zone.sync("b").contains("c: 2 entities set aside"))
        try zone.expectEqual("--\n1|one|v|\n2|two|w|\n4|four|x|\n")
        #expect(try zone.setAside("b") == "c|1|valueTaken\nc|3|valueTaken\n")
        try zone.edit("a", "DELETE FROM c WHERE id IN (2, 4)")
        try zone.sync("a", "b")
        #expect(try zone.rows("b") == "--\n1|one|x|\n3|three|w|\n" && zone.setAside("b") == "")
        try zone.scene.succeed("verify --local --db b.db")
    }
}
