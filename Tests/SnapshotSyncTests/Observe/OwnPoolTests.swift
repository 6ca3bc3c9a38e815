import CloudStore
import Foundation
import GRDB
import SnapshotModel
import Synchronization
import TestSupport
import Testing

/// The engine works on an application's own pool or queue, and what GRDB observes there sees what a sync brings.
@Suite(.timeLimit(.minutes(60))) struct OwnPoolTests {
    /// A writer, and a reader whose application has a connection of its own.
    private struct Application {
        let scratch: ScratchDirectory
        let cloud = MemoryCloudDatabase()

        init() async throws {
            scratch = try ScratchDirectory()
            for (name, role) in [("desk", SyncRole.writer), ("phone", .reader)] {
                let path = scratch.path("\(name).db")
                _ = try await SyncEngine.setUp(
                    SetupRequest(database: path, cloud: "memory", role: role, device: name, createsTables: true, enables: true), in: cloud)
            }
        }

        var path: String { scratch.path("phone.db") }
        func shell(_ name: String) -> SQLiteShell { SQLiteShell("\(name).db", in: scratch.path, isProgram: true) }

        func publish(_ sql: String) async throws {
            try shell("desk").run(sql)
            _ = try await SyncEngine(database: scratch.path("desk.db"), cloud: cloud).export(allowing: .all)
        }

        static func bucket(_ id: String, _ name: String = "Work") -> String {
            "INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('\(id)', '\(name)', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z');"
        }
    }

    /// What an observation has given so far.
    private final class Seen: Sendable {
        private let values = Mutex<[[String]]>([])
        func add(_ value: [String]) { values.withLock { $0.append(value) } }
        var last: [String]? { values.withLock { $0.last } }
        var count: Int { values.withLock { $0.count } }
    }

    private static let names = ValueObservation.tracking { try String.fetchAll($0, sql: "SELECT name FROM buckets ORDER BY id") }

    @Test(arguments: ["pool", "queue"]) func observationGetsRowsOfAnotherDevice(_ kind: String) async throws {
        let application = try await Application()
        let writer: any DatabaseWriter = kind == "pool" ? try DatabasePool(path: application.path) : try DatabaseQueue(path: application.path)
        let engine = try SyncEngine(database: writer, cloud: application.cloud)
        let seen = Seen(), regions = Mutex(0)
        let observation = Self.names.start(in: writer, scheduling: .async(onQueue: DispatchQueue(label: "seen")), onError: { _ in }, onChange: { seen.add($0) })
        let region = DatabaseRegionObservation(tracking: Table("buckets")).start(in: writer, onError: { _ in }, onChange: { _ in regions.withLock { $0 += 1 } })
        try await application.publish(Application.bucket("one"))
        #expect(try await engine.sync().imported?.applied == true)
        try await Eventually.holds("the row is observed") { seen.last == ["Work"] }
        #expect(regions.withLock { $0 } == 1)
        try await application.publish("UPDATE buckets SET name = 'Home', updatedAt = '2026-01-02T00:00:00Z';" + Application.bucket("two", "Garden"))
        _ = try await engine.sync()
        try await Eventually.holds("the change is observed") { seen.last == ["Home", "Garden"] }
        // Nothing new: nothing is told.
        let count = regions.withLock { $0 }
        _ = try await engine.sync()
        #expect(count == 2 && regions.withLock { $0 } == 2)
        observation.cancel()
        region.cancel()
    }

    @Test func applicationsEditsThroughThePoolTravel() async throws {
        let application = try await Application()
        let pool = try DatabasePool(path: application.path)
        let engine = try SyncEngine(database: pool, cloud: application.cloud)
        try await application.publish(Application.bucket("one"))
        _ = try await engine.sync()
        try await pool.write { try $0.execute(sql: "UPDATE buckets SET name = 'Mine', updatedAt = '2026-02-01T00:00:00Z'") }
        #expect(try await engine.sync().messages?.sent == 1)
        _ = try await SyncEngine(database: application.scratch.path("desk.db"), cloud: application.cloud).sync()
        #expect(try application.shell("desk").run("SELECT name FROM buckets") == "Mine\n")
        _ = try await engine.sync()
        #expect(try await engine.inspector().verify(local: true).problems == [])
    }

    /// `snapsync` on the path alone has neither, so the trigger cannot run there.
    @Test func theApplicationsFunctionsAndCollationsServeItsTriggers() async throws {
        let application = try await Application()
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            db.add(
                function: DatabaseFunction("app_slug", argumentCount: 1, pure: true) { values in
                    String.fromDatabaseValue(values[0])?.lowercased().replacing(" ", with: "-")
                })
            db.add(
                collation: DatabaseCollation("APP_LENGTH") { one, other in
                    one.count < other.count ? .orderedAscending : one.count > other.count ? .orderedDescending : .orderedSame
                })
        }
        let pool = try DatabasePool(path: application.path, configuration: configuration)
        try await pool.write {
            try $0.execute(
                sql: """
                    CREATE TABLE slugs(id TEXT PRIMARY KEY NOT NULL, slug TEXT COLLATE APP_LENGTH); CREATE INDEX by_length ON slugs(slug);
                    CREATE TRIGGER slug AFTER INSERT ON buckets BEGIN INSERT INTO slugs VALUES(NEW.id, app_slug(NEW.name)); END;
                    """)
        }
        let engine = try SyncEngine(database: pool, cloud: application.cloud)
        try await application.publish(Application.bucket("one", "My Big Work") + Application.bucket("two", "Home"))
        #expect(try await engine.sync().imported?.warnings == [])
        let slugs = "SELECT slug FROM slugs ORDER BY slug"
        #expect(try await pool.read { try String.fetchAll($0, sql: slugs) } == ["home", "my-big-work"])

        try await application.publish(Application.bucket("three", "Garden"))
        let warnings = try #require(try await SyncEngine(database: application.path, cloud: application.cloud).sync().imported?.warnings)
        #expect(warnings.contains { $0.contains("slug") && $0.contains("app_slug") }, "\(warnings)")
        #expect(try await pool.read { try String.fetchAll($0, sql: slugs) } == ["home", "my-big-work"])
        #expect(try await pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM buckets") } == 3)
    }

    @Test(arguments: ["ON", "OFF"]) func connectionIsAfterwardsAsItWas(recursion: String) async throws {
        let application = try await Application()
        var configuration = Configuration()
        configuration.busyMode = .timeout(3)
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA recursive_triggers = \(recursion); PRAGMA synchronous = NORMAL; PRAGMA cache_spill = 77") }
        let pool = try DatabasePool(path: application.path, configuration: configuration)
        func settings() throws -> [Int] {
            try pool.writeWithoutTransaction { db in
                try ["foreign_keys", "recursive_triggers", "synchronous", "cache_spill", "busy_timeout"].map { try Int.fetchOne(db, sql: "PRAGMA \($0)") ?? -1 }
            }
        }
        let before = try settings()
        let engine = try SyncEngine(database: pool, cloud: application.cloud)
        try await application.publish(Application.bucket("one"))
        _ = try await engine.sync()
        #expect(try settings() == before)
        #expect(before[0] == 1 && before[4] == 3000)
        // SQLite finds the row that has the name here.
        try await pool.write {
            let row = "SELECT 'mine', 'Garden', NULL, NULL, NULL, createdAt, updatedAt, 0 FROM buckets"
            try $0.execute(sql: "CREATE UNIQUE INDEX names ON buckets(name); INSERT INTO buckets \(row)")
        }
        try await application.publish(Application.bucket("two", "Garden"))
        _ = try await engine.sync()
        #expect(try settings() == before)
        // Foreign keys are the application's again.
        await #expect(throws: DatabaseError.self) {
            try await pool.write {
                try $0.execute(sql: "INSERT INTO notifications(id, title, createdAt, updatedAt, bucketId) VALUES('n', 'N', '2026', '2026', 'none')")
            }
        }
        #expect(try await pool.read { try String.fetchAll($0, sql: "SELECT id FROM buckets ORDER BY id") } == ["one", "two"])
    }

    @Test func databaseInMemoryAndTemporaryNamesAreRefused() async throws {
        let application = try await Application()
        #expect { try SyncEngine(database: DatabaseQueue(), cloud: application.cloud) } throws: { "\($0)".contains("not a file") }
        let pool = try DatabasePool(path: application.path)
        let engine = try SyncEngine(database: pool, cloud: application.cloud)
        try await application.publish(Application.bucket("one"))
        try await pool.write { try $0.execute(sql: "CREATE TEMP TABLE buckets(id TEXT)") }
        await #expect { try await engine.sync() } throws: { "\($0)".contains("temporary table buckets") }
        try await pool.write { try $0.execute(sql: "DROP TABLE temp.buckets") }
        #expect(try await engine.sync().imported?.applied == true)
    }

    @Test func watchOfTheEngineTellsNotices() async throws {
        let application = try await Application()
        let engine = try SyncEngine(database: DatabasePool(path: application.path), cloud: application.cloud)
        var notices = engine.changeNotices().makeAsyncIterator()
        let watcher = SyncWatcher(engine: engine, options: WatchOptions(poll: .milliseconds(50)))
        let watch = Task { try await watcher.run { _ in } }
        try await application.publish(Application.bucket("one"))
        #expect(await notices.next() == [DatasetChanges(dataset: "buckets", inserted: [EntityKey("one")])])
        watch.cancel()
        try await watch.value
    }
}
