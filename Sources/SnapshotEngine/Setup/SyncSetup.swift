import CloudStore
import DirectoryCloud
import Foundation
import LocalStore
import Logging
import ObjectCloud
public import SnapshotModel
import SnapshotVersions
import StrictText

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
    /// Whether it is accepted that several devices give one integer key to different rows, in tables in which SQLite makes the keys.
    public var sharesKeys = false
    /// Whether sync is on from the start. Off unless asked for: the user is to say so, by this or by ``SyncGate/setPreference(_:)``.
    public var enables: Bool
    /// An application's settings file that the choice is bound to; nil if to none.
    public var preference: FilePreference?
    /// The path of a file that states the entitlement (``FileEntitlement``); nil if nothing restricts who may sync.
    public var entitlementFile: String?

    /// The container identifier of a cloud that is made where none was asked for.
    public static let standardContainer = "iCloud.org.snapsync"

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
        self.enables = enables
        self.preference = preference
        self.entitlementFile = entitlementFile
    }
}

/// What `init` did.
public struct SetupReport: Sendable, Encodable {
    public let database: String
    public let cloud: String
    public let cloudUUID: String
    public let zone: String
    public let role: String
    public let device: String
    public let datasets: [String]
    /// The tables that were made.
    public let tablesMade: [String]
    /// The database's journal mode, which `init` leaves as it is in a database that was there before.
    public let journalMode: String
    /// Whether a cloud was made in the directory.
    public let cloudMade: Bool
    /// Whether sync is on.
    public let isEnabled: Bool
    /// The application's triggers of the tables that travel, and what becomes of them at an import.
    public let triggers: [TriggerReport]
    /// How many edits that waited since `detach` are tracked again.
    public internal(set) var changesTaken = 0
    /// The number of this device's range of new keys in its zone, from 0; nil if it has none.
    public internal(set) var keyRange: Int?
    /// What deserves attention, in words.
    public internal(set) var warnings: [String] = []
    /// The tables as they were described, if the description was made from the database. Not part of the JSON; ``DescribeReport`` has its own.
    public internal(set) var described: DescribeReport?

    enum CodingKeys: String, CodingKey {
        case database, cloud, cloudUUID, zone, role, device, datasets, tablesMade, journalMode, cloudMade, isEnabled, triggers, changesTaken, keyRange, warnings
    }
}

/// Sets a database up for syncing: settings in the database, the zone in the cloud.
package enum SyncSetup {
    /// Sets a database up.
    ///
    /// - Parameter backend: the caller's backend; nil for the cloud directory that the request names.
    static func run(_ request: SetupRequest, in backend: (any CloudDatabase)? = nil) async throws -> SetupReport {
        guard backend == nil || request.sharing == nil else {
            throw SyncError(
                .refused, step: .open, at: request.cloud, "only a cloud directory has a mode that says who may use it",
                hint: "leave sharing nil for a backend of your own")
        }
        let filed = try SyncError.at(.open) { try request.tables == nil ? schemas(request.datasets) : [] }
        let isNew = !FileManager.default.fileExists(atPath: request.database)
        let database = try SyncError.at(.open) {
            try LocalDatabase(path: request.database, creating: request.createsTables, waiting: SyncEngine.waiting(for: request.database))
        }
        let lock = try SyncError.at(.open) { try RunLock(database: request.database) }
        defer { withExtendedLifetime(lock) {} }
        let device = request.device ?? defaultDeviceName()
        var hasBegun = false

        do {
            if request.role == .peer, backend == nil, !CloudLocation.isBucket(request.cloud) {
                try ReplicatedFolder.refuse(request.cloud, isSaid: request.isReplicated)
            }
            try SyncError.at(.open) { try database.read { try refuseSetUp($0, request) } }
            let described = try request.tables.map { try DatabaseDescriber.datasets(of: database, $0, role: request.role) }
            var fromZone: ZoneDescriptions?
            if !request.assumesBuiltIn, request.datasets == nil, request.tables == nil {
                fromZone = try await zoneDescriptions(request, backend, database)
                if fromZone == nil { try refuseAssuming(request, database) }
            }
            let datasets = described?.datasets ?? fromZone?.datasets ?? filed
            let tablesMade = try SyncError.at(.open) { try prepareTables(request, datasets, fromZone, database, isNew: isNew) }
            try refuseUnwritable(request, datasets)
            if request.role == .peer { try refuseHiddenKeys(datasets, database, request) }
            let (cloud, cloudMade) = try SyncError.at(.open) { try backend.map { ($0, false) } ?? openCloud(request) }
            let probeWarnings = try await tryOut(cloud, request)
            let identity = try await SyncError.at(.open) { try await cloud.identity() }
            if let container = request.container { try SyncError.at(.open) { try ContainerIdentifier.verify(container, isThatOf: identity) } }
            let zone = ZoneID(request.zone)
            let beginning = ZoneBeginning(of: request.zone, inCloud: identity.uuid, as: device)
            hasBegun = try await SyncError.at(.open) { try await begin(beginning, zone, in: cloud, database, request) }
            do {
                try await SyncError.at(.open) {
                    try await joinZone(zone, in: cloud, as: device, request, isDirectory: backend == nil && !CloudLocation.isBucket(request.cloud))
                }
            } catch {
                // Where no zone was made, the database is left as it was.
                if hasBegun, (try? await isThere(zone, in: cloud)) == false, (try? database.write({ try $0.zoneBeginning.clear() })) != nil { hasBegun = false }
                throw error
            }
            let sharesZone = try await SyncError.at(.open) { request.role.publishes ? try await cloud.zone(zone).publishers == .many : false }
            if sharesZone { try SyncError.at(.open) { try database.read { try SharedKeys(datasets, in: $0).refuse(request) } } }
            let claim = try await NameClaim(device, in: zone, of: cloud, takesOver: request.takesOver)

            let path = backend == nil ? CloudLocation.settled(request.cloud, cloud) : request.cloud
            let settings = SyncSettings(
                cloud: path, cloudUUID: identity.uuid, scope: CloudScope.private.rawValue, zone: request.zone, role: request.role,
                device: device, datasets: datasets, replacesOwnRows: request.replacesOwnRows, adoptsOwnRows: request.adoptsOwnRows,
                container: identity.container)
            let madeZone = hasBegun
            let range = KeyRangeClaim(zone: zone, cloud: cloud, device: device)
            let keyRange = sharesZone ? try await claimKeyRange(request, datasets, range, database) : nil
            var taken = 0
            let journalMode = try SyncError.at(.open) {
                try database.write {
                    try $0.zoneBeginning.clear()
                    try $0.initialize(settings)
                    try claim.note(madeZone: madeZone, in: $0)
                    if request.isReplicated { try $0.settings.setReplicated() }
                    if let limit = request.assetLimit { try $0.settings.setAssetLimit(limit) }
                    if request.role.publishes { try $0.settings.setRetention(request.retention.flatMap { RetentionSetting($0) }) }
                    try $0.settings.setZoneDeletionPolicy(request.zoneDeletion)
                    try $0.settings.setPreference(SyncPreference(isOn: request.enables, changedAt: .now))
                    if let keyRange {
                        try $0.keyRanges.set(keyRange, of: device)
                        try $0.keyRanges.advance(datasets)
                    }
                    _ = try $0.tracking.install(datasets)
                    taken = try $0.detachedChanges.restore(for: settings)
                }
                return try database.journalMode()
            }
            let isEnabled = try setUpGate(request, database, madeZone ? beginning : nil)
            let triggers = try SyncError.at(.read) { try TriggerSurvey(path: request.database, datasets) }.triggers.map {
                TriggerReport($0, datasets: datasets)
            }
            var report = SetupReport(
                database: request.database, cloud: path, cloudUUID: identity.uuid, zone: request.zone, role: request.role.rawValue,
                device: device, datasets: datasets.map(\.name), tablesMade: tablesMade, journalMode: journalMode, cloudMade: cloudMade, isEnabled: isEnabled,
                triggers: triggers, changesTaken: taken, keyRange: keyRange?.index,
                warnings: probeWarnings
                    + (sharesZone ? try SyncError.at(.read) { try database.read { try SharedKeys(datasets, in: $0).warnings(request) } } : []))
            report.described = described.map { DescribeReport($0, database: request.database) }
            return report
        } catch {
            // A database that this call made, and that is of no use, is not left behind; one that knows whose zone was made is of use.
            if isNew, !hasBegun { database.remove() }
            throw error
        }
    }

    /// What the zone says about its datasets; nil where it is for this device to say.
    private static func zoneDescriptions(_ request: SetupRequest, _ backend: (any CloudDatabase)?, _ database: LocalDatabase) async throws
        -> ZoneDescriptions?
    {
        let zone = ZoneID(request.zone)
        let cloud: any CloudDatabase
        do {
            cloud = try backend ?? CloudLocation.open(request.cloud)
            _ = try await cloud.zone(zone)
        } catch {
            // A publisher may be about to make it.
            guard !request.role.publishes else { return nil }
            throw SyncError(error, step: .open)
        }
        if let found = try await ZoneDescriptions(zone, in: cloud) { return found }
        let hasBuiltIn = try SyncError.at(.open) {
            try database.read { transaction in
                Set(try transaction.describer.applicationTables().map(\.asciiLowercased)).isSuperset(of: DatasetSchema.builtIn.map { $0.table.asciiLowercased })
            }
        }
        guard !request.role.publishes, !hasBuiltIn else { return nil }
        let creator = try await SyncError.at(.open) { try await cloud.zone(zone) }.creator
        throw SyncError(
            .nothingThere, step: .open, at: "zone \(zone)", "nothing has been published yet, so it does not say which tables there are",
            hint: "run snapsync sync on \(creator) first, then this command again; or give a dataset file (--datasets)")
    }

    /// Refuses a database of somebody's own tables where nobody said what travels: the built-in tables are none of its business.
    private static func refuseAssuming(_ request: SetupRequest, _ database: LocalDatabase) throws {
        guard !request.assumesBuiltIn else { return }
        let tables = try SyncError.at(.open) { try database.read { try $0.describer.applicationTables() } }
        let builtIn = Set(DatasetSchema.builtIn.map { $0.table.asciiLowercased }), own = Set(tables.map(\.asciiLowercased))
        guard !own.isEmpty, !own.isSuperset(of: builtIn), !(request.createsTables && own.isSubset(of: builtIn)) else { return }
        throw SyncError(
            .refused, step: .open, at: request.database,
            "nothing says which of its \(tables.count == 1 ? "tables" : "\(tables.count) tables") travel: it does not have the built-in ones, \(builtIn.sorted().joined(separator: " and "))",
            hint: "add --tables all; snapsync describe --db \(DatabaseDescriber.shellWord(request.database)) shows what travels then")
    }

    private static func refuseSetUp(_ transaction: LocalTransaction, _ request: SetupRequest) throws {
        guard try !transaction.settings.exists() else {
            throw SyncError(
                .refused, step: .open, at: request.database, "this database is set up for syncing already",
                hint: "snapsync status shows how; snapsync detach takes it out again")
        }
    }

    /// The device's range of keys, if it asks for one and a table can have it.
    private static func claimKeyRange(_ request: SetupRequest, _ datasets: [DatasetSchema], _ claim: KeyRangeClaim, _ database: LocalDatabase) async throws
        -> DeviceKeyRange?
    {
        let tables = try SyncError.at(.read) { try database.read { try SharedKeys(datasets, in: $0).autoincrement } }
        guard request.takesKeyRange, !tables.isEmpty else { return nil }
        try ClockGuard.verify(.now)
        return try await claim.run { range in
            try SyncError.at(.read) { try database.read { try $0.keyRanges.isUsed(range, by: tables) } }
        }
    }

    /// Binds the choice and names the entitlement, as asked for. Returns whether sync is on.
    ///
    /// - Parameter beginning: what the next `init` must know if this one ends here: that this database made the zone.
    private static func setUpGate(_ request: SetupRequest, _ database: LocalDatabase, _ beginning: ZoneBeginning?) throws -> Bool {
        let gate = SyncGate(database: database, options: GateOptions(), now: { .now }, logger: Logger(label: "snapsync"))
        do {
            try gate.setEntitlementFile(request.entitlementFile)
            try gate.bind(to: request.preference)
            try SyncError.at(.open) { try gate.reconcile() }
            return try SyncError.at(.read) { try database.read { try $0.settings.preference().isOn } }
        } catch {
            // Half set up is not set up.
            try SyncError.at(.open) {
                try database.write {
                    try $0.detach()
                    if let beginning { try $0.zoneBeginning.record(beginning) }
                }
            }
            throw error
        }
    }

    /// The datasets that a file describes, or the built-in ones.
    static func schemas(_ path: String?) throws -> [DatasetSchema] {
        guard let path else { return DatasetSchema.builtIn }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw SyncError(.nothingThere, step: .open, at: path, "the dataset file cannot be read", hint: "check the path given with --datasets")
        }
        do {
            return try DatasetFile.decode(data)
        } catch {
            throw SyncError(.refused, step: .open, at: path, DatasetFile.explain(error), hint: "docs/datasets.md describes the dataset file")
        }
    }

    private static func prepareTables(
        _ request: SetupRequest, _ datasets: [DatasetSchema], _ fromZone: ZoneDescriptions?, _ database: LocalDatabase, isNew: Bool
    ) throws -> [String] {
        if isNew { try database.useWAL() }
        return try database.write { transaction in
            try refuseSetUp(transaction, request)
            let made = !request.createsTables ? [] : try fromZone?.createTables(in: transaction) ?? transaction.tables.createBuiltIn()
            if request.role == .peer { try SharedKeys(datasets, in: transaction).refuse(request) }
            for schema in datasets {
                let shape = try transaction.tables.check(of: schema)
                if let description = fromZone?.descriptions.first(where: { $0.schema == schema }) { try transaction.tables.check(description) }
                guard request.role == .reader else { continue }
                try SyncGuards.refuseUndescribedColumns(shape, schema, at: request.database)
                // Its first import would refuse them; by then the settings stand.
                guard schema.merge == .replace, !request.replacesOwnRows, !request.adoptsOwnRows else { continue }
                if try transaction.rows.hasRows(schema) {
                    throw FirstImport.undecidedRows(of: schema, at: request.database, step: .open, hint: "run the same command with")
                }
            }
            return made
        }
    }

    /// An import cannot write a table whose indexes, checks or computed columns need what only the application registers with SQLite.
    private static func refuseUnwritable(_ request: SetupRequest, _ datasets: [DatasetSchema]) throws {
        let survey = try SyncError.at(.open) { try TriggerSurvey(path: request.database, datasets) }
        for schema in datasets {
            guard let reason = survey.unwritable[schema.name], request.role != .writer || survey.needsForKeys[schema.name] != nil else { continue }
            throw SyncError(
                .refused, step: .open, at: "\(request.database), table \(schema.table)",
                "dataset \(schema.name): the table cannot be written without the application: SQLite says \(survey.needsForKeys[schema.name] ?? reason)",
                hint: "rebuild the table, or its index, without what only the application registers; or leave the table out of the dataset file")
        }
    }

    /// Two peers that insert would give different rows one rowid, and no row could be told from another.
    private static func refuseHiddenKeys(_ datasets: [DatasetSchema], _ database: LocalDatabase, _ request: SetupRequest) throws {
        let hidden = try SyncError.at(.open) { try database.read { transaction in try datasets.filter { try transaction.tables.hasHiddenKey($0) } } }
        guard let schema = hidden.first else { return }
        throw SyncError(
            .refused, step: .open, at: "\(request.database), table \(schema.table)",
            "dataset \(schema.name): the table has no key but the rowid, and two peers would give different rows the same one",
            hint: "let one device write the table (--role writer and --role reader), give it a PRIMARY KEY, or leave it out of the dataset file")
    }

    private static func openCloud(_ request: SetupRequest) throws -> (any CloudDatabase, made: Bool) {
        guard request.role.publishes else { return (try CloudLocation.open(request.cloud), false) }
        guard request.sharing == nil || !CloudLocation.isBucket(request.cloud) else {
            throw CloudError(
                .invalidArguments, at: request.cloud, "a bucket has no mode that says who may use it", hint: "leave --share out; the bucket's policy decides")
        }
        let (cloud, isNew) = try CloudLocation.create(
            at: request.cloud, container: request.container ?? SetupRequest.standardContainer,
            sharing: request.sharing.flatMap { DirectorySharing(rawValue: $0.rawValue) })
        return (cloud, isNew)
    }

    /// Tries a bucket out before anybody publishes there. Returns warnings.
    ///
    /// - Throws: ``SyncError`` with `.refused` where several devices are to publish and the store may let two of them win one number.
    private static func tryOut(_ cloud: any CloudDatabase, _ request: SetupRequest) async throws -> [String] {
        guard request.role.publishes, let bucket = cloud as? ObjectCloud else { return [] }
        let probe = try await SyncError.at(.open) { try await bucket.probe() }
        let broken = probe.findings.filter { !$0.isKept }.map(\.observation)
        guard !broken.isEmpty else { return [] }
        guard request.role != .peer || probe.isSafeForMany else {
            throw SyncError(
                .refused, step: .open, at: request.cloud, "several devices cannot publish in this store: \(broken.joined(separator: "; "))",
                hint: "let one device publish (--role writer, the others --role reader), or use a store with conditional writes")
        }
        return broken.map { "the store does not keep what a cloud needs: \($0); let this device alone publish" }
    }

    private static func joinZone(_ zone: ZoneID, in cloud: any CloudDatabase, as device: String, _ request: SetupRequest, isDirectory: Bool) async throws {
        guard request.role.publishes else {
            _ = try await cloud.zone(zone)
            return
        }
        let info = try await cloud.createZone(zone, creator: device, publishers: request.role == .peer ? .many : .one)
        if info.publishers == .many {
            if isDirectory { try ReplicatedFolder.refuse(request.cloud, isSaid: request.isReplicated) }
            return
        }
        guard info.creator != device || request.role == .peer else { return }
        throw SyncError(
            .refused, step: .open, at: "zone \(zone)", "its one publisher is the device \(info.creator)",
            hint: request.role == .peer
                ? "a zone keeps the rule that it was made with: join as a reader (--role reader), or make another zone with peers alone (--zone)"
                : "join as a reader (--role reader), choose another zone (--zone), or give that device's name if it is this one (--device \(info.creator))")
    }

    /// Notes that this database is about to make the zone. Whether it is, or was when an earlier `init` ended too early.
    private static func begin(_ beginning: ZoneBeginning, _ zone: ZoneID, in cloud: any CloudDatabase, _ database: LocalDatabase, _ request: SetupRequest)
        async throws -> Bool
    {
        guard request.role.publishes else { return false }
        if try await isThere(zone, in: cloud) {
            // With a version in it, it is to be imported first, whoever made it.
            guard try database.read({ try $0.zoneBeginning.contains(beginning) }) else { return false }
            return try await cloud.records(in: zone).token == nil
        }
        try database.write { try $0.zoneBeginning.record(beginning) }
        return true
    }

    private static func isThere(_ zone: ZoneID, in cloud: any CloudDatabase) async throws -> Bool {
        do {
            _ = try await cloud.zone(zone)
            return true
        } catch let error as CloudError where error.code == .zoneNotFound {
            return false
        }
    }

    /// The machine's name, made fit for a file name, and eight random digits, for a machine may hold many databases.
    private static func defaultDeviceName() -> String {
        machineName() + "-" + String(UInt32.random(in: 0x1000_0000...UInt32.max), radix: 16)
    }

    /// The machine's name, made fit for a file name.
    package static func machineName() -> String {
        let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
        let host = String(ProcessInfo.processInfo.hostName.prefix { $0 != "." }.filter(allowed.contains).prefix(40))
        return host.isEmpty ? "device" : host
    }
}
