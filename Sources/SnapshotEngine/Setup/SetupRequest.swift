public import CloudStore
public import SnapshotModel
package import MaterializedViews
import SnapshotVersions
import SyncRuns

/// The options of `init`.
public struct SetupRequest: Sendable {
    /// The SQLite file.
    public var database: String
    /// The cloud directory or bucket; for your own backend, a name for reports.
    public var cloud: String
    public var role: SyncRole
    /// The device's name; nil makes one from the machine's name and a random part.
    public var device: String?
    public var zone: String
    /// `iCloud.` and the application's reverse-DNS name. A new cloud gets it, and an existing cloud must have it. nil accepts any cloud, and
    /// makes a new one for ``standardContainer``.
    public var container: String?
    /// The path of a dataset file; nil means the built-in datasets, unless ``tables`` is set.
    public var datasets: String?
    /// The tables to sync, if their description is made from the database; nil if it is not.
    public var tables: TableChoice?
    /// The queries that fill the tables, and the database that they read; nil for a database with tables of its own.
    package var views: (source: String, queries: [ViewQuery])?
    /// The tables that a reader takes of the zone's.
    public var zoneTables = TableChoice.all
    /// Whether to use the built-in datasets if no file and no choice of tables is given. If false, the zone's are used, and in a new zone all tables that
    /// can be synced, or with ``createsTables`` the built-in ones.
    public var assumesBuiltIn = true
    /// Whether the zone must have a version, whose description is used.
    package var joins = false
    /// The tables to describe if the zone is new; nil means all, and with ``createsTables`` the built-in ones.
    package var tablesOfNewZone: TableChoice?
    /// Whether to create the database and the built-in tables if they are missing.
    public var createsTables = false
    /// With ``createsTables``: whether to run the zone's SQL text, which makes the tables as the publisher's are, and the indexes, views and triggers.
    public var runsSchema = false
    /// Whether the first import may replace existing rows.
    public var replacesOwnRows = false
    /// Whether the first import keeps rows that the cloud does not know. A publisher always keeps them, unless it replaces them.
    public var adoptsOwnRows = false
    /// Whether the device may take a name under which another database has reported, for example after that database was lost.
    public var takesOver = false
    /// The largest size of an asset, in bytes; nil means CloudKit's limit of 250,000,000.
    public var assetLimit: Int?
    /// The versions that this device keeps automatically, checked after a publish and at most once a day; nil removes none automatically. Only
    /// for a role that publishes.
    public var retention: RetentionPolicy?
    /// Whether a tool gives each device its own copy of the directory although nothing in the directory shows it, for example behind a bind
    /// mount. No device may then be a peer.
    public var isReplicated = false
    /// Whether new rows of tables with AUTOINCREMENT get keys from a range that only this device has. For publishers of a zone with several
    /// publishers.
    public var takesKeyRange = false
    /// Whether the user accepts that several devices may give one integer key to different rows, in tables in which SQLite assigns the keys. This
    /// concerns peers, and readers that may insert (``readerEdits``).
    public var sharesKeys = false
    /// The tables whose rows readers may edit, if ``tables`` is set; nil leaves this to the description.
    public var readerEdits: ReaderEdits?
    /// Whether a new zone is signed: keys decide who may publish and send messages. An existing zone says itself whether it is signed.
    public var isSigned = false
    /// Whether a new zone is sealed: the store cannot read its contents. A sealed zone is signed as well.
    public var isSealed = false
    /// Whether a new sealed zone pads what it encrypts, so that the store learns sizes only roughly.
    public var isPadded = false
    /// Whether a new sealed zone gives its members the keys by X-Wing, so that a quantum computer alone does not read them.
    public var isPostQuantum = false
    /// The protection of a new zone.
    package var protection: ZoneProtection {
        let parts: [(Bool, ZoneProtection)] = [
            (isSigned, .signed), (isSealed, [.signed, .sealed]), (isPadded, .padded), (isPostQuantum, .postQuantum),
        ]
        return ZoneProtection(parts.filter(\.0).map(\.1))
    }
    /// Whether the publishers of a new zone publish a version at least once a day (``SyncMembers/setFreshness(_:)``).
    public var isFresh = false
    /// The recovery code of a sealed zone. With it a device can read the zone without approval, if all other devices are lost.
    public var recovery: RecoveryCode?
    /// The fingerprint of a signed zone's creator; nil trusts the first one that is met. If it is given, an unsigned zone is refused.
    public var trust: KeyFingerprint?
    /// Registers the application's functions and collations on the connections of the set-up; give it to the engine, too.
    public var connectionSetup: ConnectionSetup?
    /// Stores the private keys of the device, if the zone is signed.
    public var keyStore: any KeyStore = FileKeyStore()
    /// The user's choice about syncing. It is undecided by default, so that the user decides, here or through ``SyncGate/setPreference(_:)``.
    public var choice: SyncChoice
    /// Whether ``choice`` is on; false makes it undecided.
    public var enables: Bool {
        get { choice == .on }
        set { choice = newValue ? .on : .undecided }
    }
    /// The path of a file that states the entitlement (``FileEntitlement``); nil if nothing restricts who may sync.
    public var entitlementFile: String?

    /// The container identifier of a new cloud if none was requested.
    public static let standardContainer = "iCloud.org.snapsync"

    /// - Parameter enables: whether sync is on from the start; otherwise ``choice`` is undecided.
    public init(
        database: String, cloud: String, role: SyncRole, device: String? = nil, zone: String = "ZentikSyncZone", createsTables: Bool = false,
        enables: Bool = false
    ) {
        (self.database, self.cloud, self.role, self.device, self.zone) = (database, cloud, role, device, zone)
        self.createsTables = createsTables
        choice = enables ? .on : .undecided
    }
}

extension SetupRequest {
    /// Returns the request for the zone that continues the requested zone, if that was signed or sealed since.
    ///
    /// If the requested zone is signed and its creator is trusted, the next zone's creator is trusted as well, because a member has signed its
    /// fingerprint. If the requested zone is not signed, nothing carries over: the trusted words must be those of the next zone's creator.
    ///
    /// - Throws: ``SyncError`` with `.dataRefused` if the zone is signed by another creator than the trusted one.
    func followingZone(in backend: CloudDatabase?) async throws -> SetupRequest {
        guard let cloud = try? backend ?? CloudLocation.open(cloud) else { return self }
        var request = self
        for _ in 0..<8 {
            let id = ZoneID(request.zone)
            do {
                _ = try await cloud.changes(since: nil, in: id)
                return request
            } catch let error as CloudError {
                // Any other error is reported by the code that needs the zone.
                guard let successor = error.successor else { return request }
                // Reading the zone has verified its list of members.
                if let trust = request.trust,
                    cloud.authorities.authority(of: id).knowledge.creator == trust.words
                {
                    request.trust = KeyFingerprint(successor.creator)
                }
                request.zone = successor.zone
            } catch {
                return request
            }
        }
        return request
    }
}
