public import CloudStore
package import CommitLog
package import StrictText
import Synchronization

/// A cloud in CloudKit: the private database of the user's container, and the public one for what everybody may see.
///
///     let cloud = try await CloudKitCloud.create(in: AppleDatabase(container.privateCloudDatabase), container: "iCloud.org.example.board")
///     let engine = try SyncEngine(database: path, cloud: cloud)
///
/// Each file of a directory cloud is a record here, saved only if no record has its name: that is the commit point. No record is ever saved
/// again. CloudKit itself is reached through a ``CloudKitDatabase`` that the application implements. Source: docs/cloudkit.md.
public final class CloudKitCloud: CloudDatabaseDecorator {
    package let base: ObjectStoreCloud
    /// What does the work on any store of objects.
    public var wrapped: any CloudDatabase { base }
    private let database: any CloudKitDatabase
    private let pushes: ZonePushes

    /// Opens a cloud. Nothing is requested yet; without a cloud in the database, the first call throws `.notACloud`.
    ///
    /// - Parameters:
    ///   - database: the container's private database.
    ///   - publicDatabase: its public database; without it there are no zones of the public scope.
    ///   - container: the container identifier that the cloud must have; nil takes any.
    public convenience init(in database: any CloudKitDatabase, public publicDatabase: (any CloudKitDatabase)? = nil, container: String? = nil) {
        self.init(database, CloudKitStore(database, public: publicDatabase, retry: CloudKitRetry(), nonces: .system, now: { .now }), container: container)
    }

    private init(_ database: any CloudKitDatabase, _ store: CloudKitStore, container: String? = nil, found: CloudIdentity? = nil) {
        self.database = database
        base = ObjectStoreCloud(store, container: container, found: found, label: "snapsync.cloudkit")
        pushes = ZonePushes()
    }

    /// Makes a cloud in a database that has none, or opens the one that is there: for the first start of an application.
    ///
    /// - Parameter container: the container identifier: `iCloud.` and the reverse-DNS name of the application.
    /// - Throws: ``CloudError`` with `.badContainer` if the cloud that is there has another container identifier, `.notAuthenticated`,
    ///   `.cloudUnavailable`, `.invalidArguments`.
    public static func create(
        in database: any CloudKitDatabase, public publicDatabase: (any CloudKitDatabase)? = nil, container: String
    ) async throws -> CloudKitCloud {
        try await create(in: database, public: publicDatabase, container: container, retry: CloudKitRetry())
    }

    /// The same with other patience, other random names, another clock, and listings of private zones by queries.
    package static func create(
        in database: any CloudKitDatabase, public publicDatabase: (any CloudKitDatabase)? = nil, container: String, retry: CloudKitRetry,
        nonces: NonceSource = .system, now: @escaping @Sendable () -> Instant = { .now }, listsByQuery: Bool = false
    ) async throws -> CloudKitCloud {
        _ = try ContainerIdentifier(container)
        let store = CloudKitStore(database, public: publicDatabase, retry: retry, nonces: nonces, now: now, listsByQuery: listsByQuery)
        let cloud = CloudKitCloud(database, store)
        let made = try await cloud.base.blocking { try ObjectStoreCloud.makeMarker(in: store, container: container, nonces: nonces) }
        try ContainerIdentifier.verify(container, isThatOf: made.identity)
        return CloudKitCloud(database, store, found: made.identity)
    }

    /// The state of the user's account, as CloudKit says.
    public func accountStatus() async -> AccountStatus {
        do {
            return try await database.accountStatus()
        } catch {
            return .couldNotDetermine
        }
    }

    /// Says that a push of CloudKit came for a zone: whoever waits for changes of it (``SyncWatcher``, subscriptions) looks at once.
    ///
    /// - Parameter zone: the zone that the notification names; nil wakes for all.
    public func receivedPush(for zone: ZoneID? = nil) { pushes.send(zone) }

    /// The pushes that the application hands in. Apple promises no push, so a poll does the rest.
    public func events(in zone: ZoneID, _ handler: @escaping @Sendable (ZoneHint) -> Void) -> (any ZoneEventSource)? {
        pushes.listen(to: zone, handler)
    }
}

extension CloudKitCloud: ObjectBackedCloud {
    package var location: String { base.location }
}

/// Hands pushes to whoever listens.
private final class ZonePushes: Sendable {
    private let sources = Mutex<[(zone: ZoneID, source: WeakSource)]>([])

    private struct WeakSource: Sendable {
        weak let source: Source?
    }

    private final class Source: ZoneEventSource {
        let handler: @Sendable (ZoneHint) -> Void

        init(_ handler: @escaping @Sendable (ZoneHint) -> Void) { self.handler = handler }

        func arm() -> String? { "CloudKit promises no push" }
    }

    func listen(to zone: ZoneID, _ handler: @escaping @Sendable (ZoneHint) -> Void) -> any ZoneEventSource {
        let source = Source(handler)
        sources.withLock { sources in
            sources.removeAll { $0.source.source == nil }
            sources.append((zone, WeakSource(source: source)))
        }
        return source
    }

    func send(_ zone: ZoneID?) {
        let listening = sources.withLock { sources in sources.filter { zone == nil || $0.zone == zone }.compactMap(\.source.source) }
        for source in listening { source.handler(.anything) }
    }
}
