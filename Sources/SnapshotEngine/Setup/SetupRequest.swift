public import CloudStore
public import SnapshotModel

/// What `init` is asked to do.
public struct SetupRequest: Sendable {
    /// The SQLite file.
    public var database: String
    /// The cloud directory; for a backend of your own, a text that names it in reports.
    public var cloud: String
    public var role: SyncRole
    /// The device's name; nil makes one of the machine's name and a random part.
    public var device: String?
    public var zone: String
    /// `iCloud.` and the application's reverse-DNS name: what a cloud that is made gets, and one that is there must have. nil takes any
    /// cloud, and makes one for ``standardContainer``.
    public var container: String?
    /// The path of a dataset file; nil means the built-in datasets, unless ``tables`` says more.
    public var datasets: String?
    /// Which tables travel, if their description is to be made from the database; nil if it is not.
    public var tables: TableChoice?
    /// Whether the built-in datasets are meant where nothing says what travels. If not, a database with other tables is refused.
    public var assumesBuiltIn = true
    /// Whether to make the database and the built-in tables where they are missing.
    public var createsTables: Bool
    /// Whether the first import may replace rows that are there already.
    public var replacesOwnRows: Bool
    /// Whether the first import keeps those rows that the cloud knows nothing of; a publisher's always does, unless it replaces them.
    public var adoptsOwnRows: Bool
    /// Whether the device's name may be one that another database has reported under: after a lost one.
    public var takesOver: Bool
    /// How large an asset may be, in bytes; nil means CloudKit's limit of 250,000,000.
    public var assetLimit: Int?
    /// Which versions this device keeps by itself, after a publish and at most once a day; nil: it removes none unasked. Only for a role
    /// that publishes.
    public var retention: RetentionPolicy?
    /// What to do about the data here if the zone is deleted one day.
    public var zoneDeletion = ZoneDeletionPolicy.keep
    /// Who besides its owner may use the cloud's directory, of which it becomes the mode; nil leaves a directory that is there as it is,
    /// and makes one for its owner alone. Only for a role that publishes.
    public var sharing: CloudSharing?
    /// Whether a tool gives each device a copy of the directory although nothing in it shows that, as behind a bind mount: no device may be a peer.
    public var isReplicated = false
    /// Whether new rows of tables with AUTOINCREMENT get keys of a range that this device alone has. For a device that publishes where others do, too.
    public var takesKeyRange = false
    /// Whether it is accepted that several devices give one integer key to different rows, in tables in which SQLite makes the keys: peers, and
    /// readers that may insert (``readerEdits``).
    public var sharesKeys = false
    /// The tables whose rows readers may edit, if ``tables`` says which travel; nil leaves it to the description.
    public var readerEdits: ReaderEdits?
    /// Whether the zone that is made is signed: keys say who may publish and send messages. A zone that is there says itself whether it is.
    public var isSigned = false
    /// Whether the zone that is made is sealed: the store cannot read what it holds. Such a zone is signed, too.
    public var isSealed = false
    /// Whether the publishers of the zone that is made make a version at least once a day (``SyncEngine/setFreshness(_:)``).
    public var isFresh = false
    /// The recovery code of a sealed zone, with which a device reads it that nobody has approved: where all others are lost.
    public var recovery: RecoveryCode?
    /// The fingerprint of the creator of a signed zone; nil trusts the one that is met first. Given, a zone that is not signed is refused.
    public var trust: KeyFingerprint?
    /// Where the private keys of the device are stored, if the zone is signed.
    public var keyStore: any KeyStore = FileKeyStore()
    /// What the user has said about syncing. Undecided unless asked for: the user is to say so, by this or by ``SyncGate/setPreference(_:)``.
    public var choice: SyncChoice
    /// Whether ``choice`` is on; false makes it undecided.
    public var enables: Bool {
        get { choice == .on }
        set { choice = newValue ? .on : .undecided }
    }
    /// An application's settings file that the choice is bound to; nil if to none.
    public var preference: FilePreference?
    /// The path of a file that states the entitlement (``FileEntitlement``); nil if nothing restricts who may sync.
    public var entitlementFile: String?
    /// The public key that has to have signed that file (``LicenceKey/publicKey``); nil for a plain one.
    public var entitlementKey: String?

    /// The container identifier of a cloud that is made where none was asked for.
    public static let standardContainer = "iCloud.org.snapsync"

    /// - Parameter enables: whether sync is on from the start; else ``choice`` is undecided.
    public init(
        database: String, cloud: String, role: SyncRole, device: String? = nil, zone: String = "ZentikSyncZone",
        container: String? = nil, datasets: String? = nil, createsTables: Bool = false, replacesOwnRows: Bool = false,
        assetLimit: Int? = nil, enables: Bool = false, preference: FilePreference? = nil, entitlementFile: String? = nil,
        adoptsOwnRows: Bool = false, takesOver: Bool = false
    ) {
        self.database = database
        self.cloud = cloud
        self.role = role
        self.device = device
        self.zone = zone
        self.container = container
        self.datasets = datasets
        self.createsTables = createsTables
        self.replacesOwnRows = replacesOwnRows
        self.adoptsOwnRows = adoptsOwnRows
        self.takesOver = takesOver
        self.assetLimit = assetLimit
        choice = enables ? .on : .undecided
        self.preference = preference
        self.entitlementFile = entitlementFile
    }
}
