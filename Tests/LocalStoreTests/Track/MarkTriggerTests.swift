import Foundation
import GRDB
import LocalStore
import LocalTables
import SnapshotModel
import TestSupport
import Testing

/// Which columns the triggers of a table with collations log as changed.
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

    @Test(arguments: [
        ("title = 'Title'", nil), ("title = 'TITLE'", "title"), ("subtitle = 'sub'", nil), ("subtitle = 'sub  '", "subtitle"), ("body = 'Body'", "body"),
    ])
    func aTextThatDiffersInBytesAloneIsChanged(change: String, column: String?) throws {
        try application.write { try $0.execute(sql: "UPDATE notifications SET readAt = '2026-02-01T00:00:00Z', \(change)") }
        let schema = try #require(DatasetSchema.builtIn.first { $0.name == "notifications" })
        try database.write { try $0.changeLog.consolidate(of: [schema]) }
        let columns = try database.read { try $0.changeLog.change(of: EntityKey("n"), in: schema)?.columns }
        guard case .some(let changed)? = columns else {
            Issue.record("\(String(describing: columns))")
            return
        }
        #expect(Set(changed.keys.map { schema.columns[$0].name }) == Set(["readAt"] + [column].compactMap(\.self)))
    }

    @Test func theTextOfOtherColumnsStaysWithoutACollation() throws {
        let sql = try application.read {
            try String.fetchAll($0, sql: "SELECT sql FROM sqlite_schema WHERE name GLOB 'snapsync_notifications_update*'").joined()
        }
        // Each of the two columns with a collation is compared in a condition and in an entry.
        #expect(sql.components(separatedBy: "COLLATE").count == 5 && sql.contains("NEW.\"body\" IS NOT OLD.\"body\""))
    }

    @Test func theClockIsTheMillisecondOfTheStatement() throws {
        try application.write {
            for _ in 0..<200 { try $0.execute(sql: "UPDATE notifications SET updatedAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), body = random()") }
        }
        let wrong = "SELECT count(*) FROM snapsync_log WHERE stamp IS NOT NULL AND strftime('%Y-%m-%dT%H:%M:%f', clock / 1000.0, 'unixepoch') || 'Z' <> stamp"
        #expect(try application.read { try Int.fetchOne($0, sql: wrong) } == 0)
    }
}
