public import CloudStore
public import GRDB
import LocalStore
public import Logging
import SnapshotVersions
public import StrictText

// An engine on the connection that the application itself writes through.
extension SyncEngine {
    /// Works on an application's own database pool or queue, which must be of a file. The file is set up by its path (``setUp(_:)``).
    ///
    ///     let pool = try DatabasePool(path: path)
    ///     let engine = try SyncEngine(database: pool)
    ///     let observation = ValueObservation.tracking { try Product.fetchAll($0) }       // sees what a sync brings
    ///
    /// What the engine writes, it writes through `database`, so GRDB's observations there see it. An observer that asks for single rows is told that
    /// the table changed (`databaseDidChange()`). For the time of each of its transactions the engine turns `foreign_keys` and
    /// `recursive_triggers` off, sets `synchronous = EXTRA`, and waits for other connections' locks for up to ten seconds unless the configuration has
    /// a busy callback; then everything is as before. It adds SQL functions whose names begin with `snapsync_`. It reads on connections of its own.
    ///
    /// Call no method of the engine from within an access of `database`.
    ///
    /// - Parameters:
    ///   - database: a `DatabasePool` or `DatabaseQueue`.
    ///   - cloud: the cloud directory, if it now has another path than at `init`; it must be the same cloud.
    ///   - gate: who says whether the user may and wants to sync, where that is not in the database's settings.
    ///   - keys: where the device's private keys lie, if its zone is signed.
    ///   - now: the time, for tests.
    /// - Throws: ``SyncError`` if the database is not a file.
    public convenience init(
        database: any DatabaseWriter, cloud: String? = nil, gate: GateOptions = GateOptions(), keys: any KeyStore = FileKeyStore(),
        logger: Logger = Logger(label: "snapsync"), now: @escaping @Sendable () -> Instant = { Instant.now }
    ) throws {
        self.init(local: try Self.open(database, logger), cloud: cloud, gate: gate, keys: keys, logger: logger, now: now)
    }

    /// Works on an application's own database pool or queue, with a backend of the application's own.
    ///
    /// - Parameters:
    ///   - database: a `DatabasePool` or `DatabaseQueue` of a file that was set up with the backend (``setUp(_:in:)``).
    ///   - cloud: the backend.
    ///   - gate: who says whether the user may and wants to sync, where that is not in the database's settings.
    ///   - now: the time, for tests.
    /// - Throws: ``SyncError`` if the database is not a file.
    public convenience init(
        database: any DatabaseWriter, cloud: any CloudDatabase, gate: GateOptions = GateOptions(), logger: Logger = Logger(label: "snapsync"),
        now: @escaping @Sendable () -> Instant = { Instant.now }
    ) throws {
        self.init(local: try Self.open(database, logger), gate: gate, logger: logger, now: now, backend: cloud) { _ in cloud }
    }

    private static func open(_ database: any DatabaseWriter, _ logger: Logger) throws -> LocalDatabase {
        try SyncError.at(.open) { try LocalDatabase(lent: database, waiting: waiting(for: database.path, logger)) }
    }
}
