import CloudStore
import DirectoryCloud
import Foundation
import LocalStore
import LocalTables
import Logging
import MaterializedViews
import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

/// Sets a database up for syncing: stores the settings in the database, and creates or joins the zone in the cloud.
package enum SyncSetup {
    /// Sets a database up.
    ///
    /// - Parameter backend: the caller's backend; nil for the cloud that the request names.
    static func run(_ asked: SetupRequest, in backend: CloudDatabase? = nil) async throws -> SetupReport {
        let request = try await asked.followingZone(in: backend)
        let filed = try request.tables == nil ? DatasetChoice.schemas(request.datasets) : []
        let isNew = !FileManager.default.fileExists(atPath: request.database)
        let database = try LocalDatabase(
            path: request.database, creating: request.createsTables || request.views != nil, setup: request.connectionSetup,
            waiting: LocalDatabase.waiting(for: request.database))
        let lock = try RunLock(database: request.database)
        defer { withExtendedLifetime(lock) {} }
        var hasBegun = false

        do {
            if request.role == .peer, backend == nil, !CloudLocation.isBucket(request.cloud) {
                try ReplicatedFolder.refuse(request.cloud, isSaid: request.isReplicated)
            }
            try database.read { try refuseSetUp($0, request) }
            let audience = try request.views.map { try MaterializedViews.create($0.queries, from: $0.source, in: database) }
            let trusted = try await SignedZoneSetup.verifyTrust(request, backend)
            let join = try await SealedJoin(request, backend, trusting: trusted)
            let choice = try await DatasetChoice(request, filed: filed, backend: join?.cloud ?? backend, in: database)
            let datasets = choice.datasets
            let (tablesMade, fromText) = try prepareTables(request, choice, in: database, isNew: isNew)
            try refuseUnwritable(request, datasets, in: database)
            try audience?.refuseEdits(of: datasets)
            if request.role == .peer { try refuseHiddenKeys(datasets, in: database, for: request) }
            let (cloud, cloudMade, found) = try backend.map { ($0, false, nil) } ?? openCloud(request)
            let probeWarnings = if let found { found } else { try await BucketTrial.run(in: cloud, for: request.role, at: request.cloud) }
            let identity = try await cloud.identity()
            if let container = request.container { try ContainerIdentifier.verify(container, isThatOf: identity) }
            let zone = ZoneID(request.zone)
            let name: DeviceName
            if let join { name = join.name } else { name = try await DeviceName(request, in: zone, of: cloud, identity, isStable: request.isSealed) }
            let device = name.name
            let beginning = ZoneBeginning(of: request.zone, inCloud: identity.uuid, as: device)
            hasBegun = try await begin(beginning, of: zone, in: cloud, database: database, for: request)
            do {
                try await joinZone(zone, in: cloud, as: device, request, isDirectory: backend == nil && !CloudLocation.isBucket(request.cloud))
            } catch {
                // No zone was made, so leave the database as it was.
                if hasBegun, (try? await isThere(zone, in: cloud)) == false, (try? database.write({ try $0.zoneBeginning.clear() })) != nil { hasBegun = false }
                throw error
            }
            let sharesZone = request.role.publishes ? try await cloud.zone(zone).publishers == .many : false
            if sharesZone { try database.read { try SharedKeys(datasets, in: $0).refuse(request) } }
            let signed = try await SignedZoneSetup(request, zone, in: cloud, uuid: identity.uuid, as: device, trusting: trusted)
            let claim = try await NameClaim(
                device, in: zone, of: cloud, takesOver: request.takesOver, detached: name.detached,
                keys: signed?.zone.authority.knowledge.own)
            let nonce = NonceSource.system.uuid()
            try await signed?.request(request.role.rawValue, nonce: nonce)

            let path = backend == nil ? CloudLocation.canonical(request.cloud, cloud) : request.cloud
            let settings = SyncSettings(
                cloud: path, cloudUUID: identity.uuid, scope: CloudScope.private.rawValue, zone: request.zone, role: request.role,
                device: device, datasets: datasets, replacesOwnRows: request.replacesOwnRows, adoptsOwnRows: request.adoptsOwnRows,
                container: identity.container)
            let madeZone = hasBegun
            let range = KeyRangeClaim(zone: zone, cloud: signed?.zone.opened ?? cloud, device: device)
            let keyRange = sharesZone ? try await claimKeyRange(request, of: datasets, by: range, in: database) : nil
            var taken = 0
            try database.write {
                try $0.zoneBeginning.clear()
                try $0.initialize(settings)
                try claim.record(madeZone: madeZone, in: $0)
                if let signed {
                    try $0.state.zoneKnowledge.set(SignedZone.text(signed.zone.authority.knowledge))
                    if request.isFresh, madeZone { try $0.state.freshness.set(FreshnessNote(interval: FreshnessRecord.standardInterval, newest: nil)) }
                    if let seen = signed.report.isMember ? claim.requestNonce : nonce {
                        try $0.state.reportNonces.set(ReportNonces(seen: seen, next: NonceSource.system.uuid()))
                    }
                }
                if request.isReplicated { try $0.settings.replicated.set("1") }
                if let limit = request.assetLimit { try $0.settings.assetLimit.set("\(limit)") }
                if request.role.publishes { try $0.settings.setRetention(request.retention.flatMap { RetentionSetting($0) }) }
                try $0.settings.setPreference(SyncPreference(request.choice, changedAt: request.choice == .undecided ? nil : .now))
                try $0.settings.setEntitlementFile(request.entitlementFile.map(SyncGate.absolutePath))
                if let keyRange {
                    try $0.keyRanges.set(keyRange, of: device)
                    try $0.keyRanges.advance(datasets)
                }
                _ = try $0.tracking.install(datasets)
                taken = try $0.detachedChanges.restore(for: settings)
                try $0.state.audience.set(audience)
                try $0.settings.setDescriptionSource(choice.described != nil ? .database : choice.fromZone != nil ? .zone : .file)
                try $0.state.setTablesSeen()
            }
            try MaterializedViews(database)?.register(connectionSetup: request.connectionSetup)
            var report = try SetupReport(database, path: request.database)
            (report.tablesMade, report.cloudMade, report.changesTaken, report.keyRange) = (tablesMade, cloudMade, taken, keyRange?.index)
            report.warnings =
                (request.zone == asked.zone ? [] : ["zone \(asked.zone) goes on as zone \(request.zone), which this device joins"])
                + probeWarnings + name.warnings + (sharesZone ? try database.read { try SharedKeys(datasets, in: $0).warnings(request) } : [])
            report.schemaMade = fromText.made
            report.schemaLeftOut = fromText.leftOut
            if !request.runsSchema, !tablesMade.isEmpty {
                report.schemaRest = (try? choice.fromZone?.schemaText())?.statements.filter { $0.type != .table }.map(\.title) ?? []
            }
            report.signature = signed?.report
            report.readerEdits = datasets.filter { $0.statedMessages?.isEmpty == false }.map(\.name)
            report.isReturning = claim.isReturning
            DetachedDevice.remove(besides: request.database)
            report.described = choice.described.map { DescribeReport($0, database: request.database) }
            return report
        } catch {
            // Do not leave a new, unusable database behind. Keep it if it records which zone it made.
            if isNew, !hasBegun { database.remove() }
            throw error
        }
    }

    private static func refuseSetUp(_ transaction: LocalTransaction, _ request: SetupRequest) throws {
        guard try !transaction.settings.exists() else {
            throw SyncError(
                .refused, step: .open, at: request.database, "this database is set up for syncing already",
                hint: "snapsync status shows how; snapsync detach takes it out again")
        }
    }

    /// Returns the device's range of keys, if it asks for one and a table can use it.
    private static func claimKeyRange(_ request: SetupRequest, of datasets: [DatasetSchema], by claim: KeyRangeClaim, in database: LocalDatabase) async throws
        -> DeviceKeyRange?
    {
        let tables = try database.read { try SharedKeys(datasets, in: $0).autoincrement }
        guard request.takesKeyRange, !tables.isEmpty else { return nil }
        try ClockGuard.verify(.now)
        return try await claim.run { range in
            try database.read { try $0.keyRanges.isUsed(range, by: tables) }
        }
    }

    private static func prepareTables(
        _ request: SetupRequest, _ choice: DatasetChoice, in database: LocalDatabase, isNew: Bool
    ) throws -> (tables: [String], fromText: SchemaTextResult) {
        if isNew { try database.useWAL() }
        return try database.write { transaction in
            try refuseSetUp(transaction, request)
            var made: [String] = [], fromText = SchemaTextResult()
            if request.createsTables, request.runsSchema, let zone = choice.fromZone {
                (made, fromText) = try zone.createTablesFromText(in: transaction)
            } else if request.createsTables {
                made = try choice.fromZone?.createTables(in: transaction) ?? (choice.described == nil ? transaction.tables.createBuiltIn() : [])
            }
            if request.role == .peer { try SharedKeys(choice.datasets, in: transaction).refuse(request) }
            if request.role.publishes, choice.fromZone == nil {
                try ReaderEdits.refuse(choice.datasets, sharesKeys: request.sharesKeys, in: transaction, at: request.database)
            }
            for schema in choice.datasets {
                let shape = try transaction.tables.check(of: schema)
                if let description = choice.fromZone?.descriptions.first(where: { $0.schema == schema }) { try transaction.tables.check(description) }
                guard request.role == .reader else { continue }
                try SyncGuards.refuseUnfillableColumns(shape, schema, at: request.database)
                // The first import would refuse these rows. Refuse them now, before the settings are stored.
                guard schema.merge == .replace, !request.replacesOwnRows, !request.adoptsOwnRows else { continue }
                if try transaction.rows.hasRows(schema) {
                    throw FirstImport.undecidedRows(of: schema, at: request.database, step: .open, hint: "run the same command with")
                }
            }
            return (made, fromText)
        }
    }

    /// Refuses tables that imports cannot write, because their indexes, checks or computed columns need functions that only the application
    /// registers.
    private static func refuseUnwritable(_ request: SetupRequest, _ datasets: [DatasetSchema], in database: LocalDatabase) throws {
        let survey = try TriggerSurvey(database, datasets)
        for schema in datasets {
            guard let reason = survey.unwritable[schema.name], request.role != .writer || survey.needsForKeys[schema.name] != nil else { continue }
            throw SyncError(
                .refused, step: .open, at: "\(request.database), table \(schema.table)",
                "dataset \(schema.name): the table cannot be written without the application: SQLite says \(survey.needsForKeys[schema.name] ?? reason)",
                hint: "rebuild the table, or its index, without what only the application registers; or leave the table out (--exclude, or the dataset file)")
        }
    }

    /// Refuses tables without a key at a peer: two peers would give one rowid to different rows, which could then not be told apart.
    private static func refuseHiddenKeys(_ datasets: [DatasetSchema], in database: LocalDatabase, for request: SetupRequest) throws {
        let hidden = try database.read { transaction in try datasets.filter { try transaction.tables.hasHiddenKey($0) } }
        guard let schema = hidden.first else { return }
        throw SyncError(
            .refused, step: .open, at: "\(request.database), table \(schema.table)",
            "dataset \(schema.name): the table has no key but the rowid, and two peers would give different rows the same one",
            hint: "let one device publish (init without --peers, and join), give the table a PRIMARY KEY, or leave it out (--exclude, or the dataset file)")
    }

    /// Opens the cloud. For a publisher, makes it if it is missing and the place keeps the promises that the role needs. Returns warnings if the
    /// place was tested.
    private static func openCloud(_ request: SetupRequest) throws -> (CloudDatabase, made: Bool, warnings: [String]?) {
        guard request.role.publishes else { return (try CloudLocation.open(request.cloud), false, nil) }
        var warnings: [String]?
        let (cloud, isNew) = try CloudLocation.create(at: request.cloud, container: request.container ?? SetupRequest.standardContainer) {
            warnings = try BucketTrial.verdict($0, for: request.role, at: request.cloud)
        }
        return (cloud, isNew, warnings)
    }

    private static func joinZone(_ zone: ZoneID, in cloud: CloudDatabase, as device: String, _ request: SetupRequest, isDirectory: Bool) async throws {
        guard request.role.publishes else {
            _ = try await cloud.zone(zone)
            return
        }
        let publishers: PublisherRule = request.role == .peer ? .many : .one
        let info: ZoneInfo
        if request.isSigned || request.isSealed {
            info = try await cloud.createSignedZone(zone, creator: device, publishers: publishers, protection: request.protection)
        } else {
            info = try await cloud.createZone(zone, creator: device, publishers: publishers)
        }
        if info.publishers == .many {
            if isDirectory { try ReplicatedFolder.refuse(request.cloud, isSaid: request.isReplicated) }
            return
        }
        guard info.creator != device || request.role == .peer else { return }
        throw otherPublisher(info, request)
    }

    /// Returns the error for a device that cannot publish in a zone with one publisher.
    static func otherPublisher(_ info: ZoneInfo, _ request: SetupRequest) -> SyncError {
        SyncError(
            .refused, step: .open, at: info.id.place, "its one publisher is the device \(info.creator)",
            hint: request.role == .peer
                ? "a zone keeps the rule that it was made with: join as a reader (snapsync join LOCATION), or make another zone with peers alone (--zone)"
                : "join as a reader (snapsync join LOCATION), choose another zone (--zone), or give that device's name if it is this one (--name \(info.creator))"
        )
    }

    /// Records that this database is about to make the zone. Returns whether it makes the zone now, or made it in an earlier `init` that failed.
    private static func begin(_ beginning: ZoneBeginning, of zone: ZoneID, in cloud: CloudDatabase, database: LocalDatabase, for request: SetupRequest)
        async throws -> Bool
    {
        guard request.role.publishes else { return false }
        if try await isThere(zone, in: cloud) {
            // If the zone has a version, that must be imported first, whoever made the zone.
            guard try database.read({ try $0.zoneBeginning.contains(beginning) }) else { return false }
            return try await cloud.records(in: zone).token == nil
        }
        try database.write { try $0.zoneBeginning.record(beginning) }
        return true
    }

    private static func isThere(_ zone: ZoneID, in cloud: CloudDatabase) async throws -> Bool {
        do {
            _ = try await cloud.zone(zone)
            return true
        } catch let error as CloudError where error.code == .zoneNotFound {
            return false
        }
    }
}
