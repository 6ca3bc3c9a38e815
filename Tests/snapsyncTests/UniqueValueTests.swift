import Foundation
import TestSupport
import Testing

/// Two rows with one UNIQUE value, by the built command: docs/merging.md, "Rows that do not fit".
@Suite(.runsPrograms) struct UniqueValueTests {
    static let taken = "1 entity held, because a value that only one row may have is taken"

    @Test func aNewRowIsHeldUntilTheValueIsFreeAndOtherEditsMerge() throws {
        let zone = try UniqueZone("INSERT INTO c VALUES(39, 'first', NULL, NULL)")
        try zone.edit("a", "UPDATE c SET code = 'w' WHERE id = 39")
        try zone.edit("c", "UPDATE c SET title = 'edited on c' WHERE id = 39")
        try zone.edit("b", "INSERT INTO c VALUES(30, 'b', 'w', NULL)")
        try zone.sync("a")
        let said = try zone.sync("b")
        #expect(said.contains("c: \(Self.taken)") && said.contains("(30)"))
        try zone.expectEqual("--\n39|edited on c|w|\n")
        try zone.edit("c", "UPDATE c SET code = NULL WHERE id = 39")
        try zone.sync("c")
        try zone.expectEqual("--\n30|b|w|\n39|edited on c||\n")
    }

    /// Whatever was edited later: of the rows that want a value, the first in a version keeps it.
    @Test(arguments: [false, true]) func theVersionThatHasAValueFirstKeepsIt(wasDeleted: Bool) throws {
        for isEditFirst in [true, false] {
            let zone = try UniqueZone("INSERT INTO c VALUES(12, 'first', 'v5', NULL)", devices: ["a", "b"])
            if wasDeleted { try zone.edit("a", "DELETE FROM c WHERE id = 12") }
            try zone.edit("a", "INSERT INTO c VALUES(23, 'new', 'w', NULL)")
            try zone.edit("b", "UPDATE c SET title = 'edited', code = 'w' WHERE id = 12")
            if isEditFirst {
                try zone.sync("b", "a")
                try zone.expectEqual("--\n12|edited|w|\n")
            } else {
                // Only the column loses; a row that had to come back is held as a whole.
                try zone.sync("a", "b")
                try zone.expectEqual("--\n\(wasDeleted ? "" : "12|edited|v5|\n")23|new|w|\n")
                #expect(try zone.lost("b") == (wasDeleted ? "12|laterEdit\n" : "12|valueTaken\n"))
            }
            try zone.edit("a", "DELETE FROM c WHERE code = 'w'")
            try zone.sync("a")
            try zone.expectEqual("--\n\(isEditFirst ? "23|new|w|\n" : wasDeleted ? "12|edited|w|\n" : "12|edited|v5|\n")")
        }
    }

    @Test func aDeletionByAThirdDeviceWinsOverWhatIsLeftOfTheEdit() throws {
        let zone = try UniqueZone("INSERT INTO c VALUES(1, 'first', 'w', NULL)")
        try zone.edit("b", "INSERT INTO c VALUES(2, 'two', 'x', NULL)")
        try zone.edit("a", "UPDATE c SET title = 'on a', code = 'x' WHERE id = 1")
        try zone.edit("c", "DELETE FROM c WHERE id = 1")
        try zone.sync("b", "a", "b")
        #expect(try zone.rows("b") == "--\n1|on a|w|\n2|two|x|\n")
        try zone.expectEqual("--\n2|two|x|\n")
        #expect(try zone.lost("c") == "1|laterDeletion\n")
    }

    @Test func aValueMayMoveToAnotherRow() throws {
        let zone = try UniqueZone("INSERT INTO c VALUES(1, 'first', 'w', NULL), (2, 'other', 'x', NULL)")
        try zone.edit("c", "UPDATE c SET title = 'on c' WHERE id = 1")
        try zone.edit("a", "UPDATE c SET code = NULL WHERE id = 1; UPDATE c SET code = 'w' WHERE id = 2; UPDATE c SET code = 'x' WHERE id = 1")
        try zone.sync("a", "c")
        try zone.expectEqual("--\n1|on c|x|\n2|other|w|\n")
        for name in zone.devices { #expect(try zone.lost(name) == "") }
    }

    @Test func theEarliestHeldRowReturnsFirst() throws {
        let zone = try UniqueZone()
        try zone.edit("a", "INSERT INTO c VALUES(1, 'one', 'w', NULL)")
        try zone.edit("b", "INSERT INTO c VALUES(2, 'two', 'w', NULL)")
        try zone.edit("c", "INSERT INTO c VALUES(3, 'three', 'w', NULL)")
        try zone.sync("c", "a", "b")
        try zone.expectEqual("--\n3|three|w|\n")
        try zone.edit("c", "UPDATE c SET code = 'free' WHERE id = 3")
        try zone.sync("c", "a", "b")
        try zone.expectEqual("--\n1|one|w|\n3|three|free|\n")
        try zone.edit("c", "DELETE FROM c WHERE id = 1")
        try zone.sync("c", "b")
        try zone.expectEqual("--\n2|two|w|\n3|three|free|\n")
    }

    @Test func aHeldRowHoldsNoValue() throws {
        let zone = try UniqueZone()
        try zone.edit("b", "INSERT INTO p VALUES('y', 'n1', 1, NULL)")
        try zone.edit("a", "INSERT INTO p VALUES('z', 'n2', 1, NULL)")
        try zone.edit("c", "INSERT INTO p VALUES('x', 'n2', 2, NULL)")
        try zone.sync("b", "a", "c")
        try zone.expectEqual("x|n2|2|\ny|n1|1|\n--\n")
        try zone.edit("b", "DELETE FROM p WHERE id = 'y'")
        try zone.expectEqual("x|n2|2|\n--\n")
        try zone.edit("b", "UPDATE p SET name = 'n3' WHERE id = 'x'")
        try zone.sync("b")
        try zone.expectEqual("x|n3|2|\nz|n2|1|\n--\n")
    }

    /// The table of the children after its key and title, an index, a row that is nobody's rival, and a row that is one of 'w', 'q'.
    private static let indexes = [
        ("code TEXT UNIQUE, pid TEXT", "", "'v', 'p'", "'w', 'p'"), ("code TEXT COLLATE NOCASE UNIQUE, pid TEXT", "", "'v', 'p'", "'W', 'p'"),
        ("code TEXT, pid TEXT, UNIQUE(code, pid)", "", "'w', 'p'", "'w', 'q'"),
        ("code TEXT, pid TEXT", "CREATE UNIQUE INDEX i ON c(code) WHERE pid = 'q'", "'w', 'p'", "'w', 'q'"),
        ("code TEXT, pid TEXT", "CREATE UNIQUE INDEX i ON c(lower(code), pid)", "'w', 'p'", "'W', 'q'"),
        ("code TEXT UNIQUE ON CONFLICT REPLACE, pid TEXT", "", "'v', 'p'", "'w', 'p'"),
        ("code TEXT UNIQUE ON CONFLICT IGNORE, pid TEXT", "", "'v', 'p'", "'w', 'p'"),
    ]

    /// Whichever device is first, and whether or not the table has a rowid.
    @Test(arguments: indexes.indices) func everyKindOfUniqueIndexCounts(number: Int) throws {
        func fields(_ values: String) -> String { values.replacing("'", with: "").replacing(", ", with: "|") }
        let table = Self.indexes[number], isFirst = number.isMultiple(of: 2)
        let zone = try UniqueZone(
            devices: ["a", "b"],
            tables: """
                CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL, name TEXT, rank INTEGER, up TEXT);
                CREATE TABLE c(id INTEGER PRIMARY KEY, title TEXT NOT NULL, \(table.0))\(isFirst ? "" : " WITHOUT ROWID"); \(table.1)
                """)
        try zone.edit("a", "INSERT INTO c VALUES(1, 'no rival', \(table.2))", "INSERT INTO c VALUES(2, 'earlier', 'w', 'q')")
        try zone.edit("b", "INSERT INTO c VALUES(3, 'later', \(table.3))")
        try zone.sync(isFirst ? "a" : "b")
        #expect(try zone.sync(isFirst ? "b" : "a").contains("c: \(Self.taken)"))
        try zone.expectEqual("--\n1|no rival|\(fields(table.2))\n\(isFirst ? "2|earlier|w|q" : "3|later|\(fields(table.3))")\n")
    }

    /// Indexes whose values are computed from `code` and `pid`, or that only rows with some `code` are in.
    static let computed = [
        ("h AS (lower(code)) UNIQUE", ""), ("h AS (g || pid) STORED UNIQUE, g AS (code || 'x')", ""), ("h INTEGER", "CREATE UNIQUE INDEX i ON c(lower(code))"),
        ("h INTEGER", "CREATE UNIQUE INDEX i ON c(pid) WHERE code = 'w'"),
    ]

    private func zone(_ kind: (String, String)) throws -> UniqueZone {
        try UniqueZone(
            "INSERT INTO c(id, title, code, pid) VALUES(1, 'one', 'v', 'p'), (2, 'two', 'x', 'p')", devices: ["a", "b"],
            tables: """
                CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL, name TEXT, rank INTEGER, up TEXT);
                CREATE TABLE c(id INTEGER PRIMARY KEY, title TEXT NOT NULL, code TEXT, pid TEXT, \(kind.0)); \(kind.1)
                """)
    }

    private func expect(_ rows: String, _ zone: UniqueZone) throws {
        try zone.sync("a", "b", "a")
        for name in ["a", "b"] { #expect(try zone.scene.database("\(name).db").run("SELECT id, title, code FROM c ORDER BY id") == rows, "\(name)") }
    }

    @Test(arguments: computed) func anEditLosesTheColumnsThatAnIndexIsComputedFrom(kind: (String, String)) throws {
        let zone = try zone(kind)
        try zone.edit("a", "UPDATE c SET code = 'w' WHERE id = 1")
        try zone.edit("b", "UPDATE c SET code = 'w', title = 'kept' WHERE id = 2")
        try zone.sync("a", "b")
        #expect(try zone.lost("b") == "2|valueTaken\n")
        try expect("1|one|w\n2|kept|x\n", zone)
        try zone.edit("a", "DELETE FROM c WHERE id = 1", "INSERT INTO c(id, title, code, pid) VALUES(4, 'four', 'w', 'p')")
        try zone.edit("b", "DELETE FROM c WHERE id = 1", "INSERT INTO c(id, title, code, pid) VALUES(3, 'held', 'w', 'p')")
        try zone.sync("a", "b")
        #expect(try zone.scene.succeed("conflicts b.db").contains("is that of 4"))
        try expect("2|kept|x\n4|four|w\n", zone)
        try zone.edit("a", "DELETE FROM c WHERE id = 4")
        try expect("2|kept|x\n3|held|w\n", zone)
    }

    /// SQLite runs no delete trigger for such a row.
    @Test(arguments: computed) func aRowThatAnUpdateReplacesIsPublishedAsDeleted(kind: (String, String)) throws {
        let zone = try zone(kind)
        try zone.edit("a", "UPDATE c SET code = 'w' WHERE id = 1")
        try expect("1|one|w\n2|two|x\n", zone)
        try zone.edit("a", "UPDATE OR REPLACE c SET code = 'w' WHERE id = 2")
        try expect("2|two|w\n", zone)
    }

    @Test func atAReaderTheVersionsRowKeepsTheValue() throws {
        let zone = try UniqueZone("INSERT INTO c VALUES(1, 'one', 'v', NULL)", devices: ["a", "b"], roles: ("writer", "reader"))
        try zone.edit("a", "INSERT INTO c VALUES(2, 'two', 'w', NULL)")
        try zone.edit("b", "INSERT INTO c VALUES(3, 'three', 'w', NULL)", "UPDATE c SET title = 'mine', code = 'x' WHERE id = 1")
        try zone.edit("a", "INSERT INTO c VALUES(4, 'four', 'x', NULL)")
        try zone.sync("a")
        #expect(try zone.sync("b").contains("c: \(Self.taken)"))
        #expect(try zone.rows("b") == "--\n1|mine|v|\n2|two|w|\n4|four|x|\n")
        #expect(try zone.lost("b") == "1|valueTaken\n")
        try zone.edit("a", "DELETE FROM c WHERE id IN (2, 4)")
        try zone.sync("a", "b")
        #expect(try zone.rows("b") == "--\n1|mine|v|\n3|three|w|\n")
        try zone.scene.succeed("check b.db --local")
    }
}
