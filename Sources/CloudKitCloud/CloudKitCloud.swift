public import CloudStore
package import StrictText
import Synchronization

/// A cloud in CloudKit: the private database of the user's container, and its public database for zones that everybody may see.
///
///     let cloud = try await CloudKitCloud.create(in: AppleDatabase(container.privateCloudDatabase), container: "iCloud.org.example.board")
///     let engine = try SyncEngine(database: path, cloud: cloud)
///
/// Each file of a directory cloud is a record here. It is saved only if no record has its name; that save is the commit point. No record is
/// ever saved again. The application implements a ``CloudKitDatabase``, through which CloudKit is reached. Source: docs/from-cloudkit.md.
// SAFETY (@unchecked Sendable): as its superclass.
public final class CloudKitCloud: CloudDatabase, @unchecked Sendable {
    private let records: CloudKitStore

    /// Opens a cloud. No request is sent yet; if the database contains no cloud, the first call throws `.notACloud`.
    ///
    /// - Parameters:
    ///   - database: the container's private database.
    ///   - publicDatabase: the container's public database; without it there are no zones of the public scope.
    ///   - container: the container identifier that the cloud must have; nil accepts any.
    public convenience init(in database: any CloudKitDatabase, public publicDatabase: (any CloudKitDatabase)? = nil, container: String? = nil) {
        self.init(CloudKitStore(database, public: publicDatabase, retry: CloudKitStore.standardRetry, nonces: .system, now: { .now }), container: container)
    }

    private init(_ records: CloudKitStore, container: String? = nil, found: CloudIdentity? = nil) {
        self.records = records
        super.init(records, container: container, found: found)
    }

    /// Creates a cloud in a database that has none, or opens the existing one: for the first start of an application.
    ///
    /// - Parameter container: the container identifier: `iCloud.` and the reverse-DNS name of the application.
    /// - Throws: ``CloudError`` with `.badContainer` if the existing cloud has another container identifier, `.notAuthenticated`,
    ///   `.cloudUnavailable`, `.invalidArguments`.
    public static func create(
        in database: any CloudKitDatabase, public publicDatabase: (any CloudKitDatabase)? = nil, container: String
    ) async throws -> CloudKitCloud {
        try await create(in: database, public: publicDatabase, container: container, retry: CloudKitStore.standardRetry)
    }

    /// The same with a given retry policy, source of random names and clock, and optionally with queries for the listings of private zones.
    package static func create(
        in database: any CloudKitDatabase, public publicDatabase: (any CloudKitDatabase)? = nil, container: String, retry: RetryPolicy,
        nonces: NonceSource = .system, now: @escaping @Sendable () -> Instant = { .now }, listsByQuery: Bool = false
    ) async throws -> CloudKitCloud {
        _ = try ContainerIdentifier(container)
        let store = CloudKitStore(database, public: publicDatabase, retry: retry, nonces: nonces, now: now, listsByQuery: listsByQuery)
        let made = try await CloudKitCloud(store).blocking { try makeMarker(in: $0, container: container, nonces: nonces) }
        try ContainerIdentifier.verify(container, isThatOf: made.identity)
        return CloudKitCloud(store, found: made.identity)
    }

    /// Tells the cloud that a CloudKit push arrived. Everything that waits for changes of the zone (``SyncWatcher``) checks it at once.
    ///
    /// - Parameter zone: the zone that the notification names; nil stands for all zones.
    public func receivedPush(for zone: ZoneID? = nil) { records.pushes.send(zone) }
}

/// Passes pushes to the listeners.
final class ZonePushes: Sendable {
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
