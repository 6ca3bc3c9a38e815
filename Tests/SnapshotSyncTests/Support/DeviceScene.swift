import CloudStore
import LocalStore
import LocalTables
import SnapshotModel
@testable import SyncRuns
import TestSupport

@testable import SnapshotEngine
@testable import SnapshotTools

/// Databases of any roles and the cloud in memory that they share. Every change is made by another connection.
struct DeviceScene {
    let scratch: ScratchDirectory
    let clock = TestClock()
    let cloud: CloudDatabase
    let datasets: [DatasetSchema]
    let zone = ZoneID.standard
    let rule: AssetRule

    /// - Parameter changesOnly: whether commits write change assets alone, as those on a large dataset do.
    init(
        _ datasets: [DatasetSchema] = DatasetSchema.builtIn, publishers: PublisherRule = .many, changesOnly: Bool = false, rule: AssetRule = .standard
    ) async throws {
        var rule = rule
        if changesOnly { (rule.smallByteCount, rule.changeShare) = (0, 1000) }
        self.rule = rule
        scratch = try ScratchDirectory()
        self.datasets = datasets
        cloud = MemoryCloudDatabase(now: clock.now)
        _ = try await cloud.createZone(zone, creator: "one", publishers: publishers)
    }

    /// Makes a database with these tables and rows and sets it up.
    func add(_ name: String, _ role: SyncRole, _ sql: String = "", adopts: Bool = false, replaces: Bool = false, madeZone: Bool? = nil) async throws {
        let database = try LocalDatabase(path: scratch.path(name), creating: true)
        if datasets == DatasetSchema.builtIn { _ = try database.write { try $0.tables.createBuiltIn() } }
        try run(name, sql)
        let settings = SyncSettings(
            cloud: "/none", cloudUUID: try await cloud.identity().uuid, scope: zone.scope.rawValue, zone: zone.name, role: role, device: name,
            datasets: datasets,
            replacesOwnRows: replaces, adoptsOwnRows: adopts)
        try database.write { transaction in
            try transaction.initialize(settings)
            _ = try transaction.tracking.install(datasets)
            if let madeZone { try transaction.state.bootstrapNote.set(BootstrapNote(madeZone: madeZone)) }
        }
    }

    /// Sets up a device, and publishes its rows.
    func publish(_ name: String, _ role: SyncRole, _ sql: String = "", madeZone: Bool? = nil) async throws {
        try await add(name, role, sql, madeZone: madeZone)
        try await export(name)
    }

    /// Sets up a device, and imports the newest version.
    func join(_ name: String, _ role: SyncRole, _ sql: String = "") async throws {
        try await add(name, role, sql)
        try await importNewest(name)
    }

    /// Runs SQL on a connection of its own and returns what `sqlite3` prints.
    @discardableResult
    func run(_ name: String, _ sql: String) throws -> String { try SQLiteShell(name, in: scratch.path).run(sql) }

    func engine(_ name: String, through other: CloudDatabase? = nil) throws -> SyncEngine {
        let cloud = other ?? cloud
        return try SyncEngine(database: scratch.path(name), options: EngineOptions(now: clock.now, assetRule: rule) { _ in cloud })
    }

    @discardableResult
    func export(_ name: String, allowing allowed: ShrinkApproval = .none) async throws -> ExportReport { try await engine(name).export(allowing: allowed) }

    @discardableResult
    func importNewest(_ name: String, through other: CloudDatabase? = nil, allowing allowed: ShrinkApproval = .none) async throws -> ImportReport {
        try await engine(name, through: other).importNewest(allowing: allowed)
    }

    /// What is wrong with *local data = the applied version + the tracked changes*.
    func verify(_ name: String) async throws -> [String] { try await engine(name).inspector().verify(local: true).problems }

    /// The commits of the zone.
    func history() async throws -> [Commit] { try await cloud.history(in: zone) }

    /// SQL that makes a bucket.
    static func bucket(_ id: String, _ name: String = "B", updatedAt: String = "2020-01-01T00:00:00Z") -> String {
        "INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('\(id)', '\(name)', '2020-01-01T00:00:00Z', '\(updatedAt)');"
    }

    /// SQL that makes a notification in a bucket.
    static func notification(_ id: String, in bucket: String, _ title: String = "N", updatedAt: String = "2020-01-01T00:00:00Z") -> String {
        "INSERT INTO notifications(id, title, createdAt, updatedAt, bucketId) VALUES('\(id)', '\(title)', '2020-01-01T00:00:00Z', '\(updatedAt)', '\(bucket)');"
    }

    /// SQL that makes a bucket and so many notifications in it, `n0` and on.
    static func filled(_ count: Int, bucket id: String = "b") -> String {
        bucket(id) + """
            INSERT INTO notifications(id, title, createdAt, updatedAt, bucketId)
            WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < \(count))
            SELECT 'n' || n, 'N', '2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z', '\(id)' FROM numbers;
            """
    }
}
