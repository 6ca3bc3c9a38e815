import Foundation
import GRDB
import LocalStore
import SnapshotModel
import TestSupport
import Testing

/// What the triggers of a table with collations log as a mark alone.
@Suite struct MarkTriggerTests {
    private let scratch: ScratchDirectory
    private let application: DatabaseQueue
    private let database: LocalDatabase

    init() throws {
        scratch = try ScratchDirectory()
        let path = scratch.path("app.db")
        application = try DatabaseQueue(path: path)
        try application.write {
            try $0.execute(
                sql: """
                    CREATE TABLE buckets(id TEXT PRIMARY KEY NOT NULL, name TEXT, description TEXT, color TEXT, iconUrl TEXT, createdAt TEXT, updatedAt TEXT, isOrphan INTEGER);
                    CREATE TABLE notifications(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL COLLATE NOCASE, subtitle TEXT COLLATE RTRIM, body TEXT, readAt TEXT,
                        sentAt TEXT, createdAt TEXT NOT NULL, updatedAt TEXT NOT NULL, bucketId TEXT NOT NULL, attachments TEXT NOT NULL DEFAULT '[]',
                        actions TEXT NOT NULL DEFAULT '[]', tapAction TEXT);
                    INSERT INTO notifications(id, title, subtitle, body, createdAt, updatedAt, bucketId)
                        VALUES('n', 'Title', 'sub', 'body', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 'b');
                    """)
        }
        database = try LocalDatabase(path: path)
        _ = try database.write { try $0.tracking.install(DatasetSchema.builtIn) }
    }

    @Test(arguments: [("title = 'Title'", 5), ("title = 'TITLE'", 0), ("subtitle = 'sub'", 5), ("subtitle = 'sub  '", 0), ("body = 'Body'", 0)])
    func aMarkThatAlsoChangesATextIsAnEdit(change: String, kind: Int) throws {
        try application.write { try $0.execute(sql: "UPDATE notifications SET readAt = '2026-02-01T00:00:00Z', \(change)") }
        #expect(try application.read { try Int.fetchAll($0, sql: "SELECT kind FROM snapsync_log WHERE dataset > 0") } == [kind])
    }

    @Test func theTextOfOtherColumnsStaysWithoutACollation() throws {
        let sql = try application.read { try String.fetchOne($0, sql: "SELECT sql FROM sqlite_schema WHERE name = 'snapsync_notifications_update'") ?? "" }
        #expect(sql.components(separatedBy: "COLLATE").count == 3 && sql.contains("NEW.\"body\" IS OLD.\"body\""))
    }

    /// The triggers of an earlier version log the same keys, so they are replaced and no row is compared.
    @Test func earlierTriggersAreReplacedWithoutAReport() throws {
        try application.write { db in
            for name in try String.fetchAll(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name IN ('buckets', 'notifications')") {
                try db.execute(sql: "DROP TRIGGER \(name)")
            }
            try db.execute(sql: Self.earlier)
        }
        #expect(try !database.read { try $0.tracking.isInstalled(DatasetSchema.builtIn) })
        #expect(try database.write { try $0.tracking.install(DatasetSchema.builtIn) } == [])
        #expect(try database.read { try $0.tracking.isInstalled(DatasetSchema.builtIn) })
    }

    @Test func theClockIsTheMillisecondOfTheStatement() throws {
        try application.write {
            for _ in 0..<200 { try $0.execute(sql: "UPDATE notifications SET updatedAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), body = random()") }
        }
        let wrong = "SELECT count(*) FROM snapsync_log WHERE stamp IS NOT NULL AND strftime('%Y-%m-%dT%H:%M:%f', clock / 1000.0, 'unixepoch') || 'Z' <> stamp"
        #expect(try application.read { try Int.fetchOne($0, sql: wrong) } == 0)
    }

    /// What an earlier version installed.
    private static let earlier = #"""
        CREATE TRIGGER snapsync_buckets_delete AFTER DELETE ON "buckets" WHEN NOT EXISTS (SELECT 1 FROM snapsync_log WHERE seq = 0) BEGIN INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) VALUES (1, 0, OLD."id", CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), NULL, OLD."updatedAt"); END;
        CREATE TRIGGER snapsync_buckets_insert AFTER INSERT ON "buckets" WHEN NOT EXISTS (SELECT 1 FROM snapsync_log WHERE seq = 0) BEGIN INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) VALUES (1, 2, NEW."id", CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), NEW."updatedAt", NULL); END;
        CREATE TRIGGER snapsync_buckets_over BEFORE INSERT ON "buckets" WHEN EXISTS (SELECT 1 FROM "buckets" t WHERE t."id" = NEW."id") AND NOT EXISTS (SELECT 1 FROM snapsync_log WHERE seq = 0) BEGIN INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) SELECT 1, 3, t."id", 0, NULL, t."updatedAt" FROM "buckets" t WHERE t."id" = NEW."id"; END;
        CREATE TRIGGER snapsync_buckets_over_update BEFORE UPDATE OF "id" ON "buckets" WHEN OLD."id" IS NOT NEW."id" AND NOT EXISTS (SELECT 1 FROM snapsync_log WHERE seq = 0) BEGIN INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) SELECT 1, 3, t."id", 0, NULL, t."updatedAt" FROM "buckets" t WHERE t."id" = NEW."id"; END;
        CREATE TRIGGER snapsync_buckets_rename AFTER UPDATE OF "id" ON "buckets" WHEN OLD."id" IS NOT NEW."id" AND NOT EXISTS (SELECT 1 FROM snapsync_log WHERE seq = 0) BEGIN INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) VALUES (1, 0, OLD."id", CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), NULL, OLD."updatedAt"); END;
        CREATE TRIGGER snapsync_buckets_update AFTER UPDATE OF "id", "name", "description", "color", "iconUrl", "createdAt", "updatedAt", "isOrphan" ON "buckets" WHEN NOT EXISTS (SELECT 1 FROM snapsync_log WHERE seq = 0) BEGIN INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) VALUES (1, CASE WHEN NEW."id" IS NOT OLD."id" THEN 2 ELSE 0 END, NEW."id", CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), CASE WHEN NEW."updatedAt" IS NOT OLD."updatedAt" THEN NEW."updatedAt" END, OLD."updatedAt"); END;
        CREATE TRIGGER snapsync_notifications_delete AFTER DELETE ON "notifications" WHEN NOT EXISTS (SELECT 1 FROM snapsync_log WHERE seq = 0) BEGIN INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) VALUES (2, 0, OLD."id", CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), NULL, OLD."updatedAt"); END;
        CREATE TRIGGER snapsync_notifications_insert AFTER INSERT ON "notifications" WHEN NOT EXISTS (SELECT 1 FROM snapsync_log WHERE seq = 0) BEGIN INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) VALUES (2, 2, NEW."id", CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), NEW."updatedAt", NULL); END;
        CREATE TRIGGER snapsync_notifications_over BEFORE INSERT ON "notifications" WHEN EXISTS (SELECT 1 FROM "notifications" t WHERE t."id" = NEW."id") AND NOT EXISTS (SELECT 1 FROM snapsync_log WHERE seq = 0) BEGIN INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) SELECT 2, 3, t."id", 0, NULL, t."updatedAt" FROM "notifications" t WHERE t."id" = NEW."id"; END;
        CREATE TRIGGER snapsync_notifications_over_update BEFORE UPDATE OF "id" ON "notifications" WHEN OLD."id" IS NOT NEW."id" AND NOT EXISTS (SELECT 1 FROM snapsync_log WHERE seq = 0) BEGIN INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) SELECT 2, 3, t."id", 0, NULL, t."updatedAt" FROM "notifications" t WHERE t."id" = NEW."id"; END;
        CREATE TRIGGER snapsync_notifications_rename AFTER UPDATE OF "id" ON "notifications" WHEN OLD."id" IS NOT NEW."id" AND NOT EXISTS (SELECT 1 FROM snapsync_log WHERE seq = 0) BEGIN INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) VALUES (2, 0, OLD."id", CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), NULL, OLD."updatedAt"); END;
        CREATE TRIGGER snapsync_notifications_update AFTER UPDATE OF "id", "title", "subtitle", "body", "readAt", "sentAt", "createdAt", "updatedAt", "bucketId", "attachments", "actions", "tapAction" ON "notifications" WHEN NOT EXISTS (SELECT 1 FROM snapsync_log WHERE seq = 0) BEGIN INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) VALUES (2, CASE WHEN NEW."id" IS NOT OLD."id" THEN 2 WHEN NEW."title" IS OLD."title" AND NEW."subtitle" IS OLD."subtitle" AND NEW."body" IS OLD."body" AND NEW."sentAt" IS OLD."sentAt" AND NEW."createdAt" IS OLD."createdAt" AND NEW."bucketId" IS OLD."bucketId" AND NEW."attachments" IS OLD."attachments" AND NEW."actions" IS OLD."actions" AND NEW."tapAction" IS OLD."tapAction" THEN 5 ELSE 0 END, NEW."id", CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), CASE WHEN NEW."updatedAt" IS NOT OLD."updatedAt" THEN NEW."updatedAt" END, OLD."updatedAt"); END;
        """#
}
