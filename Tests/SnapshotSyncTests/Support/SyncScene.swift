import CloudStore
import LocalStore
import LocalTables
import SnapshotModel
import StrictText
@testable import SyncRuns
import TestSupport

@testable import SnapshotEngine
@testable import SnapshotVersions

/// A writer's and a reader's database and the cloud between them.
struct SyncScene {
    let scratch: ScratchDirectory
    let cloud: CloudDatabase
    let datasets: [DatasetSchema]
    let clock: TestClock
    var rule = AssetRule.standard
    let zone = ZoneID.standard

    /// The databases as another program sees them.
    var writer: SQLiteShell { SQLiteShell("writer.db", in: scratch.path) }
    var reader: SQLiteShell { SQLiteShell("reader.db", in: scratch.path) }

    /// Makes both databases with the same SQL, and sets them up with a cloud.
    init(
        _ sql: String, datasets: [DatasetSchema], cloud: CloudDatabase? = nil, clock: TestClock = TestClock(),
        writerWAL: Bool = true, readerWAL: Bool = true, replacesOwnRows: Bool = false
    ) async throws {
        scratch = try ScratchDirectory()
        self.clock = clock
        self.cloud = cloud ?? MemoryCloudDatabase(now: clock.now)
        self.datasets = datasets
        try writer.run("PRAGMA journal_mode = \(writerWAL ? "wal" : "delete"); BEGIN; \(sql); COMMIT;")
        try reader.run("PRAGMA journal_mode = \(readerWAL ? "wal" : "delete"); BEGIN; \(sql); COMMIT;")
        _ = try await self.cloud.createZone(zone, creator: "desk", publishers: .one)
        try await setUp("writer.db", .writer, device: "desk")
        try await setUp("reader.db", .reader, device: "phone", replacesOwnRows: replacesOwnRows)
    }

    /// Writes the settings that `init` would.
    func setUp(_ name: String, _ role: SyncRole, device: String, datasets: [DatasetSchema]? = nil, replacesOwnRows: Bool = false) async throws {
        let settings = SyncSettings(
            cloud: "/none", cloudUUID: try await cloud.identity().uuid, scope: zone.scope.rawValue, zone: zone.name, role: role, device: device,
            datasets: datasets ?? self.datasets, replacesOwnRows: replacesOwnRows)
        try LocalDatabase(path: scratch.path(name)).write { transaction in
            try transaction.initialize(settings)
            _ = try transaction.tracking.install(settings.datasets)
        }
    }

    /// An engine on one of the databases; each time a new one, as each run of a program has.
    func engine(_ name: String, cloud: CloudDatabase? = nil) throws -> SyncEngine {
        let cloud = cloud ?? self.cloud
        return try SyncEngine(database: scratch.path(name), options: EngineOptions(now: clock.now, assetRule: rule, stopwatch: clock.stopwatch) { _ in cloud })
    }

    /// Publishes, however much the datasets have shrunk: that is other tests' matter.
    @discardableResult
    func export(to cloud: CloudDatabase? = nil) async throws -> ExportReport { try await engine("writer.db", cloud: cloud).export(allowing: .all) }

    @discardableResult
    func importNewest(from cloud: CloudDatabase? = nil) async throws -> ImportReport { try await engine("reader.db", cloud: cloud).importNewest() }

    /// The newest asset of a dataset.
    func asset(_ dataset: Int = 0, version: Int? = nil) async throws -> SnapshotAsset {
        let state = try await cloud.records(in: zone, at: version, notBefore: nil)
        guard let record = state.record(datasets[dataset].recordName) else { throw ToolFailure("no record of \(datasets[dataset].name)") }
        return try await SnapshotAsset(of: record, dataset: nil, in: cloud, zone: zone)
    }

    /// What differs between the two tables in the eyes of `sqlite3`, which compares class, literal and bytes of every value.
    func differences(_ dataset: Int = 0) throws -> String {
        let schema = datasets[dataset]
        func quote(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }
        let row = schema.columns.map { column in
            let name = quote(column.column)
            return "typeof(\(name)) || ' ' || quote(\(name)) || ' ' || ifnull(hex(CAST(\(name) AS BLOB)), '')"
        }.joined(separator: " || ', ' || ")
        func only(_ one: String, _ other: String) -> String {
            "SELECT '\(one)', * FROM (SELECT \(row) FROM \(one).\(quote(schema.table)) EXCEPT SELECT \(row) FROM \(other).\(quote(schema.table)));"
        }
        let count = "SELECT 'counts' WHERE (SELECT count(*) FROM main.\(quote(schema.table))) <> (SELECT count(*) FROM reader.\(quote(schema.table)));"
        return try writer.run("ATTACH 'reader.db' AS reader; \(only("main", "reader")) \(only("reader", "main")) \(count)")
    }
}

extension DatasetSchema {
    /// A table with a column of every kind; the key is text or an integer.
    static func everyKind(key: ColumnShape = .text, table: String = "things") throws -> DatasetSchema {
        try DatasetSchema(
            name: "things", table: table, keys: ["id"], timestamp: "changed",
            columns: [
                DatasetColumn("id", key), DatasetColumn("changed", .text, isOptional: true), DatasetColumn("count", .integer, isOptional: true),
                DatasetColumn("size", .real, isOptional: true), DatasetColumn("tags", .json, isOptional: true),
                DatasetColumn("image", .blob, isOptional: true), DatasetColumn("done", .boolean, isOptional: true),
            ])
    }

    /// The SQL that makes such a table.
    static func everyKindTable(key: String = "TEXT PRIMARY KEY", suffix: String = "") -> String {
        "CREATE TABLE things(id \(key), changed TEXT, count INTEGER, size REAL, tags TEXT, image BLOB, done INTEGER)\(suffix)"
    }

    /// SQL that fills such a table with `count` rows, in another order than that of their keys.
    static func manyRows(_ count: Int, salt: Int = 0, text: String = "entity") -> String {
        """
        INSERT INTO things
        WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < \(count))
        SELECT printf('%08x-%d', (n * 2654435761 + \(salt)) % 4294967296, n), '2026-01-01T00:00:00Z', n, n / 8.0,
            printf('["\(text) %d", {"n": %d}]', n, n * 7), CAST(printf('%d', n) AS BLOB), n % 2 FROM numbers;
        """
    }
}
