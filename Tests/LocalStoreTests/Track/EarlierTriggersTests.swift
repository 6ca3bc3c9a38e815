import GRDB
import LocalStore
import SnapshotModel
import Testing

/// A database whose triggers an earlier snapsync put in: they noted the same, so nothing is compared for their sake.
@Suite struct EarlierTriggersTests {
    private let things: TrackedThings
    private var schema: DatasetSchema { things.schema }
    private var database: LocalDatabase { things.database }
    private var application: DatabaseQueue { things.application }

    init() throws {
        things = try TrackedThings(rows: "('a', '2026-01-01T00:00:00Z', 1, 'A'), ('b', '2026-01-01T00:00:00Z', 2, 'B')")
        try things.application.write { db in
            for name in try String.fetchAll(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'trigger'") { try db.execute(sql: "DROP TRIGGER \(name)") }
            try db.execute(sql: Self.earlier)
        }
    }

    private func changes() throws -> TrackedChanges { try things.changes() }

    private func run(_ sql: String) throws { try things.run(sql) }

    @Test func theyAreRenewedAndWhatTheyNotedStays() throws {
        try run("INSERT INTO \"my things\" VALUES('c', NULL, 3, 'C')")
        #expect(try !database.read { try $0.tracking.isInstalled([schema]) })
        #expect(try database.write { try $0.tracking.install([schema]) } == [])
        #expect(try database.read { try $0.tracking.isInstalled([schema]) })
        #expect(try changes().isComplete && changes().count == 1)
        try run("INSERT OR REPLACE INTO \"my things\" VALUES('d', NULL, 2, 'takes the slot of b'); UPDATE \"my things\" SET slot = 9 WHERE id = 'a'")
        #expect(try changes().isComplete && changes().count == 4)
        let triggers = try application.read { try String.fetchAll($0, sql: "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'my things'") }
        #expect(triggers.count == 8 && !triggers.contains { $0.contains("snapsync_importing") })
    }

    @Test func untilThenAndAfterwardsImportsAreNotNoted() throws {
        let schema = schema
        for _ in 0..<2 {
            try database.write { transaction in
                try transaction.tracking.importing([schema]) {
                    try transaction.rows.deleteEntities(of: schema, in: KeyRange(number: 0, first: nil, next: .text(Array("b".utf8))), sparingKept: false)
                }
            }
            #expect(try changes().count == 0)
            try run("INSERT INTO snapsync_importing VALUES(1); INSERT INTO \"my things\" VALUES('a', NULL, 1, 'A'); DELETE FROM snapsync_importing")
            #expect(try changes().count == 0)
            #expect(try database.write { try $0.tracking.install([schema]) } == [])
        }
        #expect(try application.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM snapsync_log WHERE seq <= 0") } == 0)
        try run("DELETE FROM \"my things\"")
        #expect(try changes().isComplete && changes().count == 2)
    }

    @Test func withoutTheTriggersThatMarkAnImportTheTrackingIsMended() throws {
        _ = try database.write { try $0.tracking.install([schema]) }
        try run("DROP TRIGGER snapsync_importing_begin")
        #expect(try !database.read { try $0.tracking.isInstalled([schema]) })
        #expect(try database.write { try $0.tracking.install([schema]) } == ["things"])
        #expect(try database.read { try $0.tracking.isInstalled([schema]) })
        #expect(try !changes().isComplete)
    }

    private static let earlier = #"""
        CREATE TRIGGER snapsync_things_delete AFTER DELETE ON "my things" WHEN NOT EXISTS (SELECT 1 FROM snapsync_importing) BEGIN INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) VALUES (1, 0, OLD."id", CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), NULL, OLD."changed"); END;
        CREATE TRIGGER snapsync_things_insert AFTER INSERT ON "my things" WHEN NOT EXISTS (SELECT 1 FROM snapsync_importing) BEGIN INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) VALUES (1, 2, NEW."id", CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), NEW."changed", NULL); END;
        CREATE TRIGGER snapsync_things_over BEFORE INSERT ON "my things" WHEN NOT EXISTS (SELECT 1 FROM snapsync_importing) BEGIN INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) SELECT 1, 3, t."id", 0, NULL, t."changed" FROM "my things" t WHERE t."id" = NEW."id"; END;
        CREATE TRIGGER snapsync_things_over_update BEFORE UPDATE OF "id" ON "my things" WHEN NOT EXISTS (SELECT 1 FROM snapsync_importing) AND OLD."id" IS NOT NEW."id" BEGIN INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) SELECT 1, 3, t."id", 0, NULL, t."changed" FROM "my things" t WHERE t."id" = NEW."id"; END;
        CREATE TRIGGER snapsync_things_rename AFTER UPDATE OF "id" ON "my things" WHEN NOT EXISTS (SELECT 1 FROM snapsync_importing) AND OLD."id" IS NOT NEW."id" BEGIN INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) VALUES (1, 0, OLD."id", CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), NULL, OLD."changed"); END;
        CREATE TRIGGER snapsync_things_replace0 BEFORE INSERT ON "my things" WHEN NOT EXISTS (SELECT 1 FROM snapsync_importing) BEGIN INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) SELECT 1, 1, t."id", CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), NULL, t."changed" FROM "my things" t WHERE t."slot" = NEW."slot" COLLATE "BINARY" AND t."id" IS NOT NEW."id"; END;
        CREATE TRIGGER snapsync_things_replace0_update BEFORE UPDATE OF "slot" ON "my things" WHEN NOT EXISTS (SELECT 1 FROM snapsync_importing) BEGIN INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) SELECT 1, 1, t."id", CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), NULL, t."changed" FROM "my things" t WHERE t."slot" = NEW."slot" COLLATE "BINARY" AND t."id" IS NOT NEW."id"; END;
        CREATE TRIGGER snapsync_things_update AFTER UPDATE OF "id", "changed", "slot", "the ""name""" ON "my things" WHEN NOT EXISTS (SELECT 1 FROM snapsync_importing) BEGIN INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) VALUES (1, CASE WHEN NEW."id" IS OLD."id" THEN 0 ELSE 2 END, NEW."id", CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), CASE WHEN NEW."changed" IS NOT OLD."changed" THEN NEW."changed" END, OLD."changed"); END;
        """#
}
