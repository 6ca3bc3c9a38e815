public import CloudStore
import LocalStore
public import Logging
import SnapshotVersions
public import StrictText

/// A database that opens whatever happens: with its cloud, else alone, else as a stand-in in memory.
///
///     let store = try await SnapshotStore.open(database: path, container: "iCloud.org.example.board")
///     let queue = try DatabaseQueue(path: store.path)          // the application's own connection: SQLite, GRDB, …
///     for step in store.report.givenUp { log(step.kind, step.error) }
///     _ = try await store.engine.sync()
///
/// The application reads and writes its tables in the file at ``path``, at every level, and starts by making those that are missing, for
/// a stand-in has none but the built-in ones that were asked for. A stand-in is flagged (``isInMemory``), its engine refuses to sync, and
/// it goes with the last reference to the store: tell the user that nothing is kept. Each step of opening is logged, as information. At level `local` nothing need be opened again: each
/// sync looks for the cloud anew.
public final class SnapshotStore: Sendable {
    /// Which level was reached, and why no higher one.
    public let report: OpeningReport
    /// Syncs the store, where its level allows it; else its methods throw the reason.
    public let engine: SyncEngine
    // The stand-in's folder lives as long as the store.
    private let folder: MemoryFolder?

    /// The file to open for reading and writing.
    public var path: String { report.path }
    /// Whether the store stands in for the database that was asked for, and is lost when the program ends.
    public var isInMemory: Bool { report.level == .inMemory }

    init(report: OpeningReport, engine: SyncEngine, folder: MemoryFolder?) {
        self.report = report
        self.engine = engine
        self.folder = folder
    }

    /// Opens a store at the highest level that can be had.
    ///
    /// - Parameters:
    ///   - database: the SQLite file; it is made if it is missing, unless `createsDatabase` is false.
    ///   - cloud: the cloud directory, if it now has another path than at set-up.
    ///   - container: the application's container identifier; a cloud of another one is told apart from one that is missing.
    ///   - setup: how to set the database up where it is not yet; nil leaves it as it is.
    ///   - createsTables: whether to make the built-in tables where they are missing.
    /// - Throws: ``SyncError`` only where not even a stand-in can be made.
    public static func open(
        database: String, cloud: String? = nil, container: String? = nil, setup: SetupRequest? = nil, createsDatabase: Bool = true,
        createsTables: Bool = false, gate: GateOptions = GateOptions(), logger: Logger = Logger(label: "snapsync"),
        now: @escaping @Sendable () -> Instant = { Instant.now }
    ) async throws -> SnapshotStore {
        let walk = OpeningWalk(
            database: database, container: container, setup: setup, createsDatabase: createsDatabase, createsTables: createsTables, backend: nil,
            logger: logger
        ) { try SyncEngine(database: $0, cloud: cloud, gate: gate, logger: logger, now: now) }
        return try await WorkerThreads.host { try await walk.run() }
    }

    /// Opens a store whose cloud is a backend of the application's own.
    ///
    /// - Parameters:
    ///   - database: the SQLite file; it is made if it is missing, unless `createsDatabase` is false.
    ///   - cloud: the backend.
    ///   - container: the application's container identifier; a cloud of another one is told apart from one that is missing.
    ///   - setup: how to set the database up where it is not yet; nil leaves it as it is.
    ///   - createsTables: whether to make the built-in tables where they are missing.
    /// - Throws: ``SyncError`` only where not even a stand-in can be made.
    public static func open(
        database: String, in cloud: any CloudDatabase, container: String? = nil, setup: SetupRequest? = nil, createsDatabase: Bool = true,
        createsTables: Bool = false, gate: GateOptions = GateOptions(), logger: Logger = Logger(label: "snapsync"),
        now: @escaping @Sendable () -> Instant = { Instant.now }
    ) async throws -> SnapshotStore {
        let walk = OpeningWalk(
            database: database, container: container, setup: setup, createsDatabase: createsDatabase, createsTables: createsTables, backend: cloud,
            logger: logger
        ) { try SyncEngine(database: $0, cloud: cloud, gate: gate, logger: logger, now: now) }
        return try await WorkerThreads.host { try await walk.run() }
    }

    /// Opens a store for an application that wants no cloud: no error, and nothing is set up, read or sent.
    ///
    /// The level is `localOnly`, the gate is closed with `.localOnly`, and `engine.sync()` is refused with that reason.
    ///
    /// - Parameters:
    ///   - database: the SQLite file; it is made if it is missing, unless `createsDatabase` is false.
    ///   - createsTables: whether to make the built-in tables where they are missing.
    /// - Throws: ``SyncError`` only where not even a stand-in can be made.
    public static func localOnly(
        database: String, createsDatabase: Bool = true, createsTables: Bool = false, logger: Logger = Logger(label: "snapsync"),
        now: @escaping @Sendable () -> Instant = { Instant.now }
    ) async throws -> SnapshotStore {
        let walk = OpeningWalk(
            database: database, container: nil, setup: nil, createsDatabase: createsDatabase, createsTables: createsTables, backend: nil, isLocalOnly: true,
            logger: logger
        ) { try SyncEngine(database: $0, gate: GateOptions(isLocalOnly: true), logger: logger, now: now) }
        return try await WorkerThreads.host { try await walk.run() }
    }

    /// Makes a store in memory, for previews and tests: it is never published, and goes with the last reference to it.
    ///
    /// - Parameter createsTables: whether to make the built-in tables.
    /// - Throws: ``SyncError`` if the system has no place for it.
    public static func inMemory(
        createsTables: Bool = false, logger: Logger = Logger(label: "snapsync"), now: @escaping @Sendable () -> Instant = { Instant.now }
    ) throws -> SnapshotStore {
        try OpeningWalk(
            database: ":memory:", container: nil, setup: nil, createsDatabase: true, createsTables: createsTables, backend: nil, logger: logger
        ) { try SyncEngine(database: $0, logger: logger, now: now) }.standIn(after: [])
    }
}
