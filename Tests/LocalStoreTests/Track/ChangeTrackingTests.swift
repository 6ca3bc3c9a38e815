import GRDB
import LocalStore
import LocalTables
import SnapshotModel
import Testing

/// Changes are made on a connection of their own, as by another program.
@Suite struct ChangeTrackingTests {
    private let things: TrackedThings
    private var schema: DatasetSchema { things.schema }
    private var database: LocalDatabase { things.database }
    private var application: DatabaseQueue { things.application }

    init() throws {
        things = try TrackedThings(rows: "('a', '2026-01-01T00:00:00Z', 1, 'A'), ('b', '2026-01-01T00:00:00Z', 2, 'B'), ('c', NULL, 3, 'C')")
        #expect(things.mended == ["things"])
    }

    private func settle() throws { try things.settle() }

    private func changes() throws -> TrackedChanges { try things.changes() }

    private func run(_ sql: String) throws { try things.run(sql) }

    /// The keys that are noted and whether each row is still there.
    private func touched() throws -> Set<String> {
        try application.read { db in
            try Set(
                String.fetchAll(
                    db,
                    sql: """
                        SELECT key FROM snapsync_log l WHERE dataset > 0 AND typeof(changed) = 'integer' AND (changed <> -2 OR NOT EXISTS (SELECT 1 FROM "my things" t WHERE t.id = l.key))
                        UNION SELECT key FROM snapsync_changes
                        """))
        }
    }

    @Test func aSettledTableHasNoChanges() throws {
        #expect(try changes().isComplete)
        #expect(try changes().count == 0)
    }

    private func contents() throws -> [String: [DatabaseValue]] {
        try application.read { db in
            try Dictionary(uniqueKeysWithValues: Row.fetchAll(db, sql: "SELECT * FROM \"my things\"").map { ($0[0] as String, Array($0.databaseValues)) })
        }
    }

    @Test func replacedRowOfAPartialIndexIsLogged() throws {
        let name = #""the ""name""""#
        try run(
            """
            UPDATE "my things" SET \(name) = 'same', slot = CASE id WHEN 'a' THEN 5 WHEN 'b' THEN 15 ELSE 6 END;
            CREATE UNIQUE INDEX large ON "my things"(\(name)) WHERE slot > 10;
            """)
        _ = try database.write { try $0.tracking.install([schema]) }
        try settle()
        try run("INSERT OR REPLACE INTO \"my things\" VALUES('d', NULL, 16, 'same')")
        #expect(try touched() == ["b", "d"])
    }

    /// Other triggers may have logged less.
    @Test(arguments: ["DROP TRIGGER snapsync_things_rename", "ALTER TABLE snapsync_instants RENAME TO elsewhere"])
    func triggersAndTablesThatDifferAreMadeAgain(change: String) throws {
        try run(change)
        #expect(try !database.read { try $0.tracking.isInstalled([schema]) })
        #expect(try database.write { try $0.tracking.install([schema]) } == ["things"])
        #expect(try database.read { try $0.tracking.isInstalled([schema]) })
        #expect(try !changes().isComplete)
    }

    @Test func importsAreNotNoted() throws {
        try database.write { transaction in
            try transaction.tracking.importing([schema]) { _ = try transaction.rows.replaceAll(of: schema) }
        }
        #expect(try changes().count == 0)
        try run("INSERT INTO \"my things\" VALUES('d', NULL, 4, NULL)")
        #expect(try touched() == ["d"])
    }

    @Test func anImportThatFailsLeavesTrackingOn() throws {
        struct Failure: Error {}
        #expect(throws: Failure.self) {
            try database.write { transaction in
                try transaction.tracking.importing([schema]) {
                    _ = try transaction.rows.replaceAll(of: schema)
                    throw Failure()
                }
            }
        }
        #expect(try contents().count == 3)
        try run("DELETE FROM \"my things\" WHERE id = 'a'")
        #expect(try touched() == ["a"])
    }

    @Test func settlingForgetsOnlyWhatWasRead() throws {
        try run("DELETE FROM \"my things\" WHERE id = 'a'")
        let sequence = try changes().lastSequence
        try database.write { try $0.changeLog.consolidate(of: [schema]) }
        try run("DELETE FROM \"my things\" WHERE id = 'b'")
        try database.write { try $0.changeLog.acknowledge(of: schema, upTo: sequence) }
        #expect(try touched() == ["b"])
        try settle()
        let settled = try changes().lastSequence
        try run("DELETE FROM \"my things\" WHERE id = 'c'")
        #expect(try changes().lastSequence > settled, "a sequence number must not be given twice")
    }

    /// A version settles the doubt that there was when its rows were read, and no later one.
    @Test func aDoubtThatAroseMeanwhileStays() throws {
        try settle()
        func acknowledge(_ doubt: TrackingDoubt?) throws -> Bool {
            try database.write {
                try $0.changeLog.acknowledge(of: schema, upTo: $0.changeLog.lastEntry(), settling: doubt)
                return try $0.changeLog.isComplete(of: schema)
            }
        }
        let none = try database.read { try $0.changeLog.doubt(of: schema) }
        #expect(try acknowledge(none))
        try database.write { try $0.tracking.setIncomplete(of: schema) }
        #expect(try !acknowledge(none))
        // A run that recovers the commit of an earlier one does not know what that one had read.
        #expect(try !acknowledge(nil))
        let doubt = try database.read { try $0.changeLog.doubt(of: schema) }
        #expect(try acknowledge(doubt))
        #expect(try acknowledge(nil))
    }

    @Test func aRebuiltTableIsFoundAndMended() throws {
        try run(
            #"""
            CREATE TABLE rebuilt(id TEXT PRIMARY KEY NOT NULL, changed TEXT, slot INTEGER UNIQUE, "the ""name""" TEXT);
            INSERT INTO rebuilt SELECT * FROM "my things" WHERE id <> 'b'; DROP TABLE "my things"; ALTER TABLE rebuilt RENAME TO "my things"
            """#)
        #expect(try !database.read { try $0.tracking.isInstalled([schema]) })
        #expect(try database.write { try $0.tracking.install([schema]) } == ["things"])
        #expect(try database.read { try $0.tracking.isInstalled([schema]) })
        #expect(try !changes().isComplete)
    }

    @Test func aTableWithAUniqueExpressionIsCompleteOnceItsTriggersAreIn() throws {
        try run("CREATE UNIQUE INDEX odd ON \"my things\"(lower(\"the \"\"name\"\"\"))")
        #expect(try !database.read { try $0.tracking.isInstalled([schema]) })
        _ = try database.write { try $0.tracking.install([schema]) }
        #expect(try database.read { try $0.tracking.isInstalled([schema]) })
        try settle()
        #expect(try changes().isComplete)
    }

    @Test func theClockIsTheMillisecondOfTheStatement() throws {
        for _ in 0..<70 { try run("UPDATE \"my things\" SET changed = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), \"the \"\"name\"\"\" = random()") }
        let wrong = "SELECT count(*) FROM snapsync_log WHERE stamp IS NOT NULL AND strftime('%Y-%m-%dT%H:%M:%f', clock / 1000.0, 'unixepoch') || 'Z' <> stamp"
        #expect(try application.read { try Int.fetchOne($0, sql: wrong) } == 0)
    }

    @Test func untrackingLeavesNothing() throws {
        try database.write { try $0.tracking.remove() }
        #expect(try application.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'snapsync%'") } == 0)
        try run("DELETE FROM \"my things\"")
    }
}
