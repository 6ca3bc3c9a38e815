public import CloudStore
public import GRDB
import LocalTables
package import Logging
import ObjectCloud
public import SnapshotModel
import SnapshotVersions
import StrictText

/// Where a database is synced: a shared folder, a bucket, memory, or your own backend.
public struct SyncLocation: Sendable {
    /// The text that the settings store.
    let text: String
    /// The backend; nil for a folder or a bucket.
    let backend: CloudDatabase?

    /// A shared folder. The device that creates the zone creates the folder's last part if it is missing.
    public static func folder(_ path: String) -> SyncLocation { SyncLocation(text: path, backend: nil) }

    /// A bucket: `s3://BUCKET/PREFIX`, with `?endpoint=URL` unless it is at AWS.
    public static func bucket(_ url: String) -> SyncLocation { SyncLocation(text: url, backend: nil) }

    /// A new location in memory, for tests. Pass the same value to several engines to sync them.
    public static func memory() -> SyncLocation { backend(MemoryCloudDatabase(), name: "memory") }

    /// Your own backend.
    ///
    /// - Parameter name: its name in reports.
    public static func backend(_ cloud: CloudDatabase, name: String) -> SyncLocation { SyncLocation(text: name, backend: cloud) }
}

extension SyncEngine {
    /// Opens a database for syncing, and sets it up the first time.
    ///
    ///     let pool = try DatabasePool(path: path)
    ///     let sync = try await SyncEngine(pool, location: .folder("/mnt/share/app"), role: .peer, tables: .all(except: ["drafts"]))
    ///     try sync.setEnabled(settings.wantsSync)
    ///
    /// The first time, it stores the settings in the database and creates the zone, or joins it: a writer or first peer chooses the tables, and all
    /// others get the zone's tables, which are created if they are missing. The location must be reachable then. Later it only opens the
    /// database, without the location. Call it after your migrations, and not inside an access to `database`. Sync is off until ``setEnabled(_:)``.
    ///
    /// - Parameters:
    ///   - database: a pool or queue of a file.
    ///   - tables: the tables of a new zone. An existing zone's tables stay as they are.
    ///   - zone: the zone to create or join; nil takes the location's only zone, and `main` in a new location.
    ///   - complete: changes the other settings of the first time, such as ``SetupRequest/sharesKeys``.
    /// - Throws: ``SyncError``; with `.refused` if the database is set up with another role or location.
    public convenience init(
        _ database: any DatabaseWriter, location: SyncLocation, role: SyncRole, tables: TableChoice = .all, zone: String? = nil,
        options: EngineOptions = EngineOptions(), completing complete: (inout SetupRequest) -> Void = { _ in }
    ) async throws {
        var options = options
        let probe = try SyncEngine(database: database, cloud: location.backend, options: options)
        let settings = try await WorkerThreads.host { try probe.database.read { try $0.settings.exists() ? $0.settings.read() : nil } }
        if let settings {
            options.cloudPath = try await WorkerThreads.host { try await location.verify(settings, role, at: database.path) } ?? options.cloudPath
        } else {
            let zone = if let zone { zone } else { try await WorkerThreads.host { try await location.newZone() } }
            var request = SetupRequest(database: database.path, cloud: location.text, role: role, zone: zone, createsTables: true)
            (request.assumesBuiltIn, request.joins, request.tablesOfNewZone) = (false, role == .reader, tables)
            (request.connectionSetup, request.keyStore, request.container) = (options.connectionSetup, options.keys, options.container)
            complete(&request)
            _ = try await Self.setUp(request, in: location.backend)
        }
        try self.init(database: database, cloud: location.backend, options: options)
    }

    /// Turns sync on or off, for this engine and every other program that opens the database.
    public func setEnabled(_ isEnabled: Bool) throws { try gate.setPreference(isEnabled) }
}

extension SyncLocation {
    /// The zone that a device creates or joins if it names none.
    ///
    /// - Throws: ``SyncError`` with `.refused` if there are several.
    fileprivate func newZone() async throws -> String {
        // The set-up creates a missing location, or reports why it cannot be read.
        guard let cloud = try? backend ?? CloudLocation.open(text) else { return ZoneID.main }
        return try await cloud.zoneName()
    }

    /// Checks that a database is set up with this location and a role.
    ///
    /// - Returns: the path of a folder that is now at another place than at the set-up; nil if it has not moved.
    /// - Throws: ``SyncError`` with `.refused`.
    fileprivate func verify(_ settings: SyncSettings, _ role: SyncRole, at path: String) async throws -> String? {
        func refusal(_ stored: String, _ given: String) -> SyncError {
            SyncError(
                .refused, step: .open, at: path, "the database is set up \(stored), not \(given)",
                hint: "pass what it was set up with, or detach the database and set it up again")
        }
        guard settings.role == role else { throw refusal("as a \(settings.role.rawValue)", "as a \(role.rawValue)") }
        let other = refusal("with \(settings.cloud)", "with \(text)")
        if let backend {
            let found = try? await backend.identity().uuid
            guard settings.cloud.exact == text.exact, found ?? settings.cloudUUID == settings.cloudUUID else { throw other }
        } else if CloudLocation.isBucket(text) {
            guard let stored = try? BucketLocation(settings.cloud), case let given = try BucketLocation(text),
                stored.bucket == given.bucket, stored.prefix == given.prefix, given.endpoint ?? stored.endpoint == stored.endpoint
            else { throw other }
        } else if settings.cloud.exact != CloudLocation.canonical(text).exact {
            // An application's folders may move, and shares may be mounted elsewhere.
            guard (try? CloudLocation.open(text, expecting: settings.cloudUUID)) != nil else { throw other }
            return text
        }
        return nil
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
    /// The rows that this engine's imports change from now on: the elements of ``changeNotices(keyLimit:)``, one table at a time.
    ///
    ///     for await change in sync.changes where change.table == "products" { reload(change.keys) }
    public var changes: some AsyncSequence<DatasetChanges, Never> & Sendable {
        changeNotices().flatMap { changes in
            AsyncStream { stream in
                for one in changes { stream.yield(one) }
                stream.finish()
            }
        }
    }

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
