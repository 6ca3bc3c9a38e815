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

/// The rows that the engine's imports change, as a sequence: one element for each import, or one for several if the consumer is slow.
///
///     for await changes in engine.changeNotices() {
///         for one in changes { one.isEverything ? reload(one.dataset) : reload(one.dataset, one.inserted.union(one.updated), without: one.deleted) }
///     }
///
/// An element has the changed datasets, sorted by name. Changes that the consumer has not fetched yet are combined into one element. The sequence
/// begins with the call of ``SyncEngine/changeNotices(keyLimit:)``, and ends with the task that iterates. It is for one consumer.
public struct ChangeNotices: AsyncSequence, Sendable {
    public typealias Element = [DatasetChanges]
    public typealias Failure = Never

    private let listener: ChangeListener

    init(_ listener: ChangeListener) { self.listener = listener }

    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let listener: ChangeListener
        fileprivate var wakes: AsyncStream<Void>.AsyncIterator

        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> [DatasetChanges]? {
            while await wakes.next(isolation: actor) != nil {
                let changes = listener.fetch()
                if !changes.isEmpty { return changes }
            }
            return nil
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(listener: listener, wakes: listener.wakes.makeAsyncIterator()) }
}

extension SyncEngine {
    /// Reports, from now on, which rows this engine's imports change. These are ``sync(allowing:progress:)``,
    /// ``importNewest(allowing:progress:)``, messages, restores, and everything else that writes rows that the application has not written
    /// itself.
    ///
    /// Each import is reported after its transaction has committed. Imports by another engine or another process are not reported.
    ///
    /// - Parameter keyLimit: the largest number of keys of a dataset in one element. If a dataset has more changed keys, or an import writes more
    ///   than 100,000 of its rows, the element says that everything changed (``DatasetChanges/isEverything``).
    public func changeNotices(keyLimit: Int = 1000) -> ChangeNotices {
        let listener = ChangeListener(keyLimit: keyLimit)
        database.listeners.add(listener)
        return ChangeNotices(listener)
    }
}
