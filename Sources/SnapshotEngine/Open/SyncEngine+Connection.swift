public import CloudStore
public import GRDB
package import LocalStore
public import Logging
public import SnapshotModel
import SnapshotVersions
public import StrictText

// An engine on the connection that the application itself uses for writing.
extension SyncEngine {
    /// Works on an application's own database pool or queue. The database must be a file, which is set up by its path (``setUp(_:)``).
    ///
    ///     let pool = try DatabasePool(path: path)
    ///     let engine = try SyncEngine(database: pool)
    ///     let observation = ValueObservation.tracking { try Product.fetchAll($0) }       // sees what a sync brings
    ///
    /// The engine writes through `database`, so GRDB's observations on it see every change. An observer of single rows is told that the table
    /// changed (`databaseDidChange()`). During each of its transactions, the engine turns `foreign_keys` and `recursive_triggers` off, sets
    /// `synchronous = EXTRA`, and waits for other connections' locks for up to ten seconds unless the configuration has a busy callback.
    /// Afterwards it restores everything. It adds SQL functions whose names begin with `snapsync_`. It reads on its own connections.
    ///
    /// Do not call the engine's methods inside an access to `database`.
    ///
    /// - Parameters:
    ///   - database: a `DatabasePool` or `DatabaseQueue`.
    ///   - cloud: the cloud directory, if it now has another path than at `init`; it must be the same cloud.
    ///   - gate: where the entitlement and the user's preference come from, if not from the database's settings.
    ///   - keys: holds the device's private keys, if its zone is signed.
    ///   - connectionSetup: registers the application's functions and collations on the engine's own connections.
    ///   - now: returns the current time; tests replace it.
    /// - Throws: ``SyncError`` if the database is not a file.
    public convenience init(
        database: any DatabaseWriter, cloud: String? = nil, gate: GateOptions = GateOptions(), keys: any KeyStore = FileKeyStore(),
        connectionSetup: ConnectionSetup? = nil, logger: Logger = Logger(label: "snapsync"), now: @escaping @Sendable () -> Instant = { Instant.now }
    ) throws {
        self.init(local: try Self.open(database, connectionSetup, logger), cloud: cloud, container: nil, gate: gate, keys: keys, logger: logger, now: now)
    }

    /// Works on an application's own database pool or queue, with the application's own backend.
    ///
    /// - Parameters:
    ///   - database: a `DatabasePool` or `DatabaseQueue` of a file that was set up with the backend (``setUp(_:in:)``).
    ///   - cloud: the backend.
    ///   - gate: where the entitlement and the user's preference come from, if not from the database's settings.
    ///   - connectionSetup: registers the application's functions and collations on the engine's own connections.
    ///   - now: returns the current time; tests replace it.
    /// - Throws: ``SyncError`` if the database is not a file.
    public convenience init(
        database: any DatabaseWriter, cloud: CloudDatabase, gate: GateOptions = GateOptions(), connectionSetup: ConnectionSetup? = nil,
        logger: Logger = Logger(label: "snapsync"), now: @escaping @Sendable () -> Instant = { Instant.now }
    ) throws {
        self.init(local: try Self.open(database, connectionSetup, logger), gate: gate, logger: logger, now: now, backend: cloud) { _ in cloud }
    }

    private static func open(_ database: any DatabaseWriter, _ setup: ConnectionSetup?, _ logger: Logger) throws -> LocalDatabase {
        try SyncError.at(.open) { try LocalDatabase(lent: database, setup: setup, waiting: LocalDatabase.waiting(for: database.path, logger)) }
    }
}

extension LocalDatabase {
    /// Returns a handler that logs that another program's lock delays this program.
    package static func waiting(for database: String, _ logger: Logger = Logger(label: "snapsync")) -> @Sendable () -> Void {
        { logger.notice("another program holds the lock of \(database); waiting for it, up to 10 s") }
    }
}
