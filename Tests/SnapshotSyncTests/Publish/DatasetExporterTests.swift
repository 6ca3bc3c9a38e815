import CloudStore
import Foundation
import LocalStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import StrictText
@testable import SyncRuns
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotVersions

/// The bytes of an asset follow from the entities and the time alone.
@Suite struct DatasetExporterTests {
    private struct Exported: Equatable {
        let asset: [UInt8]
        let index: Data
    }

    /// Exports a database's table as the first version, and reads back what was stored.
    private func export(_ database: LocalDatabase, _ schema: DatasetSchema, readers: Int) async throws -> Exported {
        let cloud = MemoryCloudDatabase()
        _ = try await cloud.createZone(.standard, creator: "desk", publishers: .one)
        let writer = try await cloud.newAsset(for: schema.recordName, number: 1, kind: .snapshot, in: .standard)
        let session = try ReadSession(database, readers: readers)
        defer { session.end() }
        let exporter = DatasetExporter(
            schema: schema, shape: try session.withReader(0) { try $0.transaction.tables.check(of: schema) }, session: session, previous: nil,
            syncTimestamp: Instant(microseconds: 1_900_000_000_000_000), progress: nil)
        guard case .stored(let asset, let report) = try exporter.run(into: writer) else { throw ToolFailure("nothing was stored") }
        #expect(report.blocksReused == 0)
        let reader = try await cloud.openAsset(asset, in: .standard)
        var bytes = [UInt8](repeating: 0, count: reader.byteCount)
        try bytes.withUnsafeMutableBytes { try reader.read(into: $0, at: 0) }
        return Exported(asset: bytes, index: try #require(try reader.index()))
    }

    private func database(_ sql: String, wal: Bool = true, in scratch: ScratchDirectory, _ name: String = "app.db") throws -> LocalDatabase {
        try SQLiteShell(name, in: scratch.path).run("PRAGMA journal_mode = \(wal ? "wal" : "delete"); BEGIN; \(sql); COMMIT;")
        return try LocalDatabase(path: scratch.path(name))
    }

    @Test func theWayOfReadingTheJournalModeAndTheTablesHistoryDoNotShow() async throws {
        let scratch = try ScratchDirectory()
        let schema = try DatasetSchema.everyKind()
        let rows = DatasetSchema.manyRows(7000)
        let first = try database("\(DatasetSchema.everyKindTable()); \(rows)", in: scratch)
        let byRanges = try await export(first, schema, readers: 3)
        #expect(try SnapshotIndex.decode(byRanges.index).blocks.count > 3)
        #expect(try await export(first, schema, readers: 1) == byRanges)
        #expect(try await export(first, schema, readers: 2) == byRanges)

        let rollback = try database("\(DatasetSchema.everyKindTable()); \(rows)", wal: false, in: scratch, "rollback.db")
        #expect(try await export(rollback, schema, readers: 3) == byRanges)

        // Filled backwards, with rows that came and went, in columns of another order, without rowids.
        let other = try database(
            """
            CREATE TABLE things(done INTEGER, image BLOB, tags TEXT, size REAL, count INTEGER, changed TEXT, id TEXT PRIMARY KEY) WITHOUT ROWID;
            ATTACH '\(scratch.path("app.db"))' AS app;
            INSERT INTO things(id) SELECT 'x' || id FROM app.things;
            INSERT INTO things SELECT done, image, tags, size, count, changed, id FROM app.things ORDER BY id DESC;
            DELETE FROM things WHERE id LIKE 'x%';
            """, in: scratch, "other.db")
        #expect(try await export(other, schema, readers: 3) == byRanges)
    }

    @Test func anyToolReadsTheRowsOutOfTheAsset() async throws {
        let scratch = try ScratchDirectory()
        let exported = try await export(database("\(DatasetSchema.everyKindTable()); \(DatasetSchema.manyRows(6000))", in: scratch), .everyKind(), readers: 3)
        try scratch.write(Data(exported.asset), to: "asset.json.gz")
        let difference = try Python.run(
            """
            import base64, gzip, json, sqlite3
            document = json.loads(gzip.open('asset.json.gz').read())
            assert document['syncTimestamp'] == '2030-03-17T17:46:40.000Z', document['syncTimestamp']
            rows = [(d['id'], d['changed'], d['count'], float(d['size']), d['tags'], base64.b64decode(d['image']), d['done']) for d in document['things']]
            db = sqlite3.connect('app.db')
            wanted = [(*r[:4], json.loads(r[4]), r[5], r[6] == 1) for r in db.execute('SELECT * FROM things ORDER BY id')]
            print(len(rows), [i for i in range(6000) if rows[i] != wanted[i]])
            """, in: scratch.path)
        #expect(difference == "6000 []\n")
    }

    @Test(arguments: [
        ("UPDATE things SET tags = '{\"secret\": }' WHERE count = 5500", "tags"),
        ("UPDATE things SET changed = CAST(x'73656372657480' AS TEXT) WHERE count = 5500", "changed"),
        ("UPDATE things SET image = 'secret' WHERE count = 5500", "image"),
        ("UPDATE things SET count = 'secret' WHERE count = 5500", "count"),
        ("UPDATE things SET done = 2 WHERE count = 5500", "done"),
        ("UPDATE things SET size = 9e999 WHERE count = 5500", "size"),
        ("UPDATE things SET id = x'736563726574' WHERE count = 5500", "key"),
        ("UPDATE things SET id = NULL WHERE count = 5500", "key"),
        ("UPDATE things SET id = hex(zeroblob(600)) WHERE count = 5500", "id"),
    ])
    func aRowThatCannotTravelIsNamedByKeyAndColumnAndNotShown(sql: String, column: String) async throws {
        let scratch = try ScratchDirectory()
        let database = try database("\(DatasetSchema.everyKindTable()); \(DatasetSchema.manyRows(6000)); \(sql)", in: scratch)
        for readers in [1, 3] {
            let error = try await #require(throws: SyncError.self) { _ = try await export(database, .everyKind(), readers: readers) }
            #expect(error.code == .dataRefused)
            #expect(error.description.contains(column))
            #expect(!error.description.contains("secret"))
        }
    }
}
