public import CloudStore
import LocalTables
import SnapshotVersions

/// A database that always opens: with its cloud, else without it, else as a database in memory.
///
///     let store = try await SnapshotStore.open(database: path, options: EngineOptions(container: "iCloud.org.example.board"))
///     let queue = try DatabaseQueue(path: store.path)          // the application's own connection: SQLite, GRDB, …
///     for step in store.report.givenUp { log(step.error) }
///     _ = try await store.engine.sync()
///
/// At every level, the application reads and writes its tables in the file at ``path``. It should first create missing tables, because a database
/// in memory has only the built-in ones, if requested. A database in memory is flagged (``isInMemory``), and its engine refuses to sync. It is
/// lost with the last reference to the store, so tell the user that nothing is kept. Each step of opening is logged at the level `info`. At the
/// level `local`, nothing needs to be opened again: each sync looks for the cloud again.
public final class SnapshotStore: Sendable {
    /// The level at which the store was opened, and why no higher level was possible.
    public let report: OpeningReport
    /// Syncs the store if its level allows it; otherwise its methods throw the reason.
    public let engine: SyncEngine
    // Keeps the folder of a database in memory as long as the store exists.
    private let folder: MemoryFolder?

    /// The file to open for reading and writing.
    public var path: String { report.path }
    /// Whether the store replaces the requested database in memory, and is lost when the program ends.
    public var isInMemory: Bool { report.level == .inMemory }

    init(report: OpeningReport, engine: SyncEngine, folder: MemoryFolder?) {
        (self.report, self.engine, self.folder) = (report, engine, folder)
    }

    /// Opens a store at the highest possible level.
    ///
    /// - Parameters:
    ///   - database: the SQLite file. It is created if it is missing, unless `createsDatabase` is false.
    ///   - cloud: the application's own backend; nil for a directory or a bucket.
    ///   - setup: how to set up a database that is not set up yet; nil leaves it as it is.
    ///   - createsTables: whether to create missing built-in tables.
    /// - Throws: ``SyncError`` only if not even a database in memory can be made.
    public static func open(
        database: String, in cloud: CloudDatabase? = nil, setup: SetupRequest? = nil, createsDatabase: Bool = true, createsTables: Bool = false,
        options: EngineOptions = EngineOptions()
    ) async throws -> SnapshotStore {
        let walk = OpeningWalk(
            database: database, backend: cloud, setup: setup, createsDatabase: createsDatabase, createsTables: createsTables, options: options)
        return try await WorkerThreads.host { try await walk.run() }
    }

    /// Makes a store in memory, for previews and tests. It is never published, and is lost with the last reference to it.
    ///
    /// - Parameter createsTables: whether to create the built-in tables.
    /// - Throws: ``SyncError`` if the system has no place for the database.
    public static func inMemory(createsTables: Bool = false, options: EngineOptions = EngineOptions()) throws -> SnapshotStore {
        try OpeningWalk(database: ":memory:", backend: nil, setup: nil, createsDatabase: true, createsTables: createsTables, options: options)
            .standIn(after: [])
    }
}
