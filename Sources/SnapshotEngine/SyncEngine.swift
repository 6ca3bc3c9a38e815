public import CloudStore
import DirectoryCloud
public import GRDB
import LocalStore
package import LocalTables
package import Logging
import MaterializedViews
package import ObjectCloud
import SnapshotFormat
public import SnapshotModel
import SnapshotVersions
package import StrictText
public import SyncRuns
import Synchronization

/// Syncs one SQLite database with a cloud directory or another backend, according to the settings in the database.
///
///     _ = try await SyncEngine.setUp(SetupRequest(database: "app.db", cloud: "/mnt/share", role: .writer, enables: true))
///     let engine = try SyncEngine(database: "app.db")
///     let report = try await engine.export()
///
/// Every method that changes something holds a lock against other runs on the same database (`tryAgainLater`). Every error is a ``SyncError``.
/// After an error, the data and the change token are as they were before the call.
public final class SyncEngine: Sendable {
    package let database: LocalDatabase
    /// The backend that the caller passed; nil for a cloud directory or a bucket.
    package let backend: CloudDatabase?
    package let options: EngineOptions
    package let openCloud: @Sendable (SyncSettings) throws -> CloudDatabase
    /// Counts the requests to buckets that this engine opens.
    package let requests: RequestMeter
    /// Notices about zones that this database moved to, until a run reports them.
    let moves = Mutex<[String]>([])
    /// The active runs, and why the last one failed.
    package let activity = RunActivity()
    /// Decides before each run whether this database is synced.
    public let gate: SyncGate

    package var now: @Sendable () -> Instant { options.now }
    package var logger: Logger { options.logger }
    package var keyStore: any KeyStore { options.keys }

    /// Opens a database that is set up (``setUp(_:in:)``).
    ///
    /// - Parameters:
    ///   - database: the SQLite file.
    ///   - cloud: the application's own backend, on any store that satisfies the contract that the module StoreConformance checks. Nil opens the
    ///     directory or bucket that the settings name. A run that may change something refuses another cloud than that of the set-up.
    /// - Throws: ``SyncError`` if the database cannot be opened.
    public convenience init(database path: String, cloud: CloudDatabase? = nil, options: EngineOptions = EngineOptions()) throws {
        let waiting = LocalDatabase.waiting(for: path, options.logger)
        self.init(try SyncError.at(.open) { try LocalDatabase(path: path, setup: options.connectionSetup, waiting: waiting) }, cloud, options: options)
    }

    /// Works on an application's own database pool or queue. The database must be a file, which is set up by its path (``setUp(_:in:)``).
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
    /// - Throws: ``SyncError`` if the database is not a file.
    public convenience init(database: any DatabaseWriter, cloud: CloudDatabase? = nil, options: EngineOptions = EngineOptions()) throws {
        let waiting = LocalDatabase.waiting(for: database.path, options.logger)
        self.init(try SyncError.at(.open) { try LocalDatabase(lent: database, setup: options.connectionSetup, waiting: waiting) }, cloud, options: options)
    }

    private init(_ database: LocalDatabase, _ cloud: CloudDatabase?, options: EngineOptions) {
        let requests = RequestMeter(), kept = Mutex<(settings: SyncSettings, cloud: CloudDatabase)?>(nil)
        (self.database, backend, self.options, self.requests) = (database, cloud, options, requests)
        gate = SyncGate(database: database, options: options.gate, now: options.now, logger: options.logger)
        openCloud = { settings in
            if let cloud { return cloud }
            if let open = options.openCloud { return try open(settings) }
            if let kept = kept.withLock(\.self), kept.settings.cloud.exact == settings.cloud.exact, kept.settings.cloudUUID == settings.cloudUUID {
                return kept.cloud
            }
            let opened = try CloudLocation.open(
                options.cloudPath ?? settings.cloud, expecting: settings.cloudUUID, container: settings.container, meter: requests)
            if options.keepsCloud { kept.withLock { $0 = (settings, opened) } }
            return opened
        }
    }

    /// Sets a database up for syncing: stores the settings in the database, and creates or joins the zone in the cloud.
    ///
    ///     let cloud = MemoryCloudDatabase()
    ///     _ = try await SyncEngine.setUp(SetupRequest(database: "app.db", cloud: "memory", role: .writer, enables: true), in: cloud)
    ///     let engine = try SyncEngine(database: "app.db", cloud: cloud)
    ///
    /// - Parameter cloud: the application's own backend, whose name in reports is ``SetupRequest/cloud``; nil for a directory or a bucket.
    /// - Throws: ``SyncError``; with `.refused` for a request that only a directory can fulfil (``SetupRequest/sharing``).
    public static func setUp(_ request: SetupRequest, in cloud: CloudDatabase? = nil) async throws -> SetupReport {
        try await WorkerThreads.host { try await SyncSetup.run(request, in: cloud) }
    }

    /// Describes the tables of a database as datasets. Changes nothing; each table is read once.
    ///
    /// - Parameters:
    ///   - tables: the tables to describe, and the user's decisions about them.
    ///   - connectionSetup: registers the application's functions and collations.
    /// - Throws: ``SyncError`` with `.refused` if a named table or column does not exist.
    public static func describe(_ database: String, tables: TableChoice = TableChoice(), connectionSetup: ConnectionSetup? = nil) throws -> DescribeReport {
        try SyncError.at(.open) {
            let local = try LocalDatabase(path: database, setup: connectionSetup, waiting: LocalDatabase.waiting(for: database))
            return DescribeReport(try DatabaseDescriber.describe(local, tables), database: database)
        }
    }

    /// Removes from the database everything that ``setUp(_:)`` and later runs added to it.
    public func detach() throws -> DetachReport {
        try lockedHere {
            try MaterializedViews(database)?.unregister(connectionSetup: options.connectionSetup)
            let (settings, kept, files): (SyncSettings?, Int, [String]) = try database.write { transaction in
                // An application that drops tables that it does not know leaves our triggers, with which nobody can write its own.
                try transaction.settings.restoreTables()
                if try !transaction.settings.exists(), try !transaction.triggeredTables().isEmpty {
                    try transaction.detach()
                    return (nil, 0, [])
                }
                var settings = try transaction.settings.read()
                settings.datasets = try settings.datasets.compactMap(transaction.tables.remaining)
                let kept = try transaction.detachedChanges.keep(of: settings)
                let files = try DisplacedRowsFile.keepLost(of: settings.datasets, in: transaction, database: database.path, now: now())
                // Write the file before the tables are dropped: if we crash in between, the next detach overwrites the file, and the device's
                // name is not lost.
                let device = try DetachedDevice(settings, nonces: transaction.state.reportNonces(), database: database.path)
                try device.write(besides: database.path)
                try transaction.detach()
                return (settings, kept, files.map(\.path))
            }
            return DetachReport(
                database: database.path, zone: settings?.zone, cloud: settings?.cloud, device: settings?.device, keptChanges: kept, keptFiles: files)
        }
    }

    /// Sets the largest size of an asset, in bytes, for all later runs.
    package func setAssetLimit(_ byteCount: Int) throws {
        try database.write { transaction in
            _ = try transaction.settings.read()
            try transaction.settings.assetLimit.set("\(byteCount)")
        }
    }

    /// Publishes a version, if anything is new. For writers and peers only; a peer that is behind must call ``sync(allowing:progress:)``.
    ///
    /// - Parameters:
    ///   - isFull: writes every dataset whole, changed or not. Use it if an asset in the cloud is damaged or missing.
    ///   - allowed: the datasets that may lose more than half of their entities, for example after an application's own "clear all".
    public func export(
        isFull: Bool = false, allowing allowed: ShrinkApproval = .none, progress: ProgressHandler? = nil
    ) async throws -> ExportReport {
        try await countingRequests {
            try await run {
                let context = try await updatedContext()
                let export = ExportRun(
                    context: context, isFull: isFull, isOneOfMany: try await context.isOneOfMany(), progress: progress, allowed: allowed)
                return try await retaining(export.run())
            }
        }
    }

    /// Imports the newest version, if it is not applied yet.
    ///
    /// - Parameter allowed: the datasets that may lose more than half of their entities although no commit approves it.
    public func importNewest(allowing allowed: ShrinkApproval = .none, progress: ProgressHandler? = nil) async throws -> ImportReport {
        try await countingRequests { try await importUpdates(allowed, progress) }
    }

    private func importUpdates(_ allowed: ShrinkApproval, _ progress: ProgressHandler?) async throws -> ImportReport {
        try await run {
            try await adoptingUnknownColumns(updatedContext()) { context in
                let report = try await ImportRun(context: context, progress: progress, allowed: allowed).importNewest()
                let stale = context.settings.role == .reader ? try context.staleness() : nil
                return stale.map { report.warning($0) } ?? report
            }
        }
    }

    /// Imports a container file, gzip or plain JSON, from this program or another, without a cloud.
    ///
    /// If the database was not set up, the datasets come from `datasets`, a dataset file, or are the built-in ones.
    ///
    /// - Parameter adds: whether the file's rows are only added: those that the table lacks or has in an earlier form, as edits of this device. So it is
    ///   with every file that was kept beside the database.
    package func importFile(
        _ path: String, datasets: String? = nil, acceptsOlder: Bool = false, adds: Bool = false, progress: ProgressHandler? = nil
    ) async throws -> ImportReport {
        try await locked {
            let settings = try database.read { try adds || $0.settings.exists() ? $0.settings.read() : nil }
            let schemas = try settings?.datasets ?? DatasetChoice.schemas(datasets)
            let importer = FileImporter(database: database, schemas: schemas, role: settings?.role, acceptsOlder: acceptsOlder, progress: progress)
            return try importer.run(path, adds: adds)
        }
    }

    /// Does what the device's role requires: a writer publishes, a reader imports, a peer does both.
    public func sync(allowing allowed: ShrinkApproval = .none, progress: ProgressHandler? = nil) async throws -> SyncReport {
        try await activity.during { try await WorkerThreads.host { try await countingRequests { try await syncOnce(allowed, progress) } } }
    }

    private func syncOnce(_ allowed: ShrinkApproval, _ progress: ProgressHandler?) async throws -> SyncReport {
        do {
            try await gate.enter()
        } catch {
            // While sync is off, the log would get an entry for each change of a row. One tracked change for each row is enough.
            try? lockedHere { try database.write { try $0.changeLog.consolidate(of: $0.settings.read().datasets) } }
            throw error
        }
        let audiences = try await syncAudiences(allowed)
        var report = try await syncOwn(allowed, progress)
        report.audiences = try audiences.map { try $0.get() }
        return report
    }

    private func syncOwn(_ allowed: ShrinkApproval, _ progress: ProgressHandler?) async throws -> SyncReport {
        let settings = try database.read { try $0.settings.read() }
        switch settings.role {
        case .writer, .peer:
            return try await run {
                let context = try await updatedContext()
                if try await context.isOneOfMany() {
                    let report = try await PeerSync(context: context, allowed: allowed, progress: progress).run()
                    try await context.admitEarlierMembers()
                    guard let exported = report.exported else { return report }
                    return SyncReport(role: report.role, exported: try await retaining(fresh(context, exported)), imported: report.imported)
                }
                let exported = try await ExportRun(context: context, isFull: false, progress: progress, allowed: allowed).run()
                try await context.admitEarlierMembers()
                return SyncReport(role: settings.role.rawValue, exported: try await retaining(fresh(context, exported)), imported: nil)
            }
        case .reader:
            let imported = try await importUpdates(allowed, progress)
            let sent = try await sendMessages()
            var report = SyncReport(
                role: settings.role.rawValue, exported: nil, imported: sent?.warnings.reduce(imported) { $0.warning($1) } ?? imported, messages: sent)
            report.kept = try database.read { try KeptChanges.all(of: $0.settings.read().datasets, in: $0) }
            return report
        }
    }

    /// Adds the version that renews the zone's freshness promise, if nothing else was published (``SyncMembers/setFreshness(_:)``).
    private func fresh(_ context: SyncContext, _ exported: ExportReport) async throws -> ExportReport {
        guard !exported.published, let version = try await context.keepFresh() else { return exported }
        return exported.keepingFresh(as: version)
    }

    /// Returns the database, its settings and the cloud that they name.
    ///
    /// - Parameter asIfWanted: ignores the user's preference, for a user who looks before deciding on syncing. Nothing can be published then.
    /// - Throws: ``SyncError`` with `.refused` if the gate is closed; the cloud is not touched then.
    package func context(asIfWanted: Bool = false) throws -> SyncContext {
        try gate.verify(asIfWanted: asIfWanted)
        return try SyncError.at(.open) {
            let settings = try database.read { try $0.settings.read() }
            let limit = try database.read { try $0.settings.operatorSettings().assetLimit }
            let (opened, signedZone) = try open(settings, savingIn: database)
            let cloud = opened.adding(AssetLimitLayer(limit, datasets: settings.datasets)).adding(GateLayer(gate: gate))
            var context = try context(settings, cloud)
            context.signedZone = signedZone
            return context
        }
    }

    /// Opens the cloud of the settings, but writes nothing into the database. The contents of a sealed zone can be read.
    package func openToLook(_ settings: SyncSettings) throws -> (cloud: CloudDatabase, signedZone: SignedZone?) { try open(settings, savingIn: nil) }

    /// Opens the cloud of the settings. For a signed zone, the cloud gets what this device knows of the zone, and `saving` keeps what the cloud
    /// learns.
    private func open(_ settings: SyncSettings, savingIn saving: LocalDatabase?) throws -> (cloud: CloudDatabase, signedZone: SignedZone?) {
        let opened = try openCloud(settings)
        let known = try database.read { try $0.state.zoneKnowledge() }
        let signedZone = try SignedZone(of: settings, knowing: known, keyStore, in: opened)
        // In a signed zone, use the cloud that holds this device's keys: several devices may share one backend.
        return (signedZone.map { $0.opening($0.cloud, savingIn: saving) } ?? opened, signedZone)
    }

    /// Returns the context of ``context(asIfWanted:)`` after the descriptions were updated to the database's tables (``SchemaUpdate``).
    func updatedContext() async throws -> SyncContext {
        let known = try context(), refused = try known.refreshViews()
        let outcome = try await SchemaUpdate(context: known).automatic()
        var context = outcome.context
        let moved = moves.withLock { texts in
            defer { texts = [] }
            return texts
        }
        context.notices = moved + refused + outcome.notices
        return context
    }

    /// Runs `body` and stores the requests that it sent in its report.
    package func countingRequests<Report: RequestCounting>(_ body: () async throws -> Report) async throws -> Report {
        let before = requests.usage
        var report = try await body()
        report.requests = requests.usage.since(before)
        return report
    }

    /// Runs one transfer under the database's lock and records its outcome for `status`.
    ///
    /// If the zone continues elsewhere, the device follows it.
    package func run<T>(_ body: () async throws -> T) async throws -> T { try await locked { try await recorded { try await followingZone(body) } } }

    /// Runs `body` while no other run works on this database.
    package func locked<T>(_ body: () async throws -> T) async throws -> T {
        try await WorkerThreads.host {
            await gate.askForEntitlement()
            let lock = try RunLock(database: database.path)
            defer { withExtendedLifetime(lock) {} }
            try await verifyBackend()
            return try await body()
        }
    }

    /// Checks that the cloud is the application's, and that the caller's backend is the one that the database was set up with.
    ///
    /// An unreachable backend is not an error here: the run reports it where it needs the backend.
    private func verifyBackend() async throws {
        guard backend != nil || options.container != nil, try gate.standing() == .open else { return }
        if let container = options.container, let cloud = try? backend ?? openCloud(database.read { try $0.settings.read() }),
            let found = try? await cloud.identity()
        {
            try ContainerIdentifier.verify(container, isThatOf: found)
        }
        guard let backend else { return }
        let expected = try database.read { try $0.settings.exists() ? $0.settings.read().cloudUUID : nil }
        guard let expected, let found = try? await backend.identity(), found.uuid != expected else { return }
        throw SyncError(
            .refused, step: .open, at: "location \(found.uuid)", "\(database.path) was set up with another location, \(expected)",
            hint: "pass the backend that the database was set up with, or detach the database and set it up again")
    }

    /// Runs a synchronous `body` on the caller's thread while no other run works on this database.
    package func lockedHere<T>(_ body: () throws -> T) throws -> T {
        let lock = try SyncError.at(.open) { try RunLock(database: database.path) }
        defer { withExtendedLifetime(lock) {} }
        return try SyncError.at(.apply, body)
    }
}

/// The active runs of an engine, and why its last run failed.
package final class RunActivity: Sendable {
    private let facts = Mutex<(running: Int, failure: PresentableError?)>((0, nil))

    package var isRunning: Bool { facts.withLock { $0.running > 0 } }
    /// Nil after a successful run, and if sync is off.
    package var failure: PresentableError? { facts.withLock(\.failure) }

    func during<T>(_ body: () async throws -> T) async throws -> T {
        facts.withLock { $0.running += 1 }
        defer { facts.withLock { $0.running -= 1 } }
        do {
            let result = try await body()
            facts.withLock { $0.failure = nil }
            return result
        } catch {
            let shown = PresentableError(error, in: .preferred), isOff = shown.identifier?.exact.hasPrefix("gate.") == true
            if !shown.isCancellation { facts.withLock { $0.failure = isOff ? nil : shown } }
            throw error
        }
    }
}

extension SyncEngine {
    /// Runs `body`. If it fails, the database keeps the error for ``status()`` until a run succeeds.
    ///
    /// If the database cannot be written either, nothing is kept: the thrown error says enough.
    func recorded<T>(_ body: () async throws -> T) async throws -> T {
        do {
            return try await body()
        } catch {
            let error = SyncError(error)
            // The user or the entitlement closed the gate: this is not a failure of the run.
            if let decision = try? gate.standing(), decision != .open { throw error }
            if error.isSlip { throw error }
            try? database.record(
                RunFailure(at: now(), code: error.code.name, step: error.step?.rawValue, place: error.place, reason: error.reason, hint: error.hint))
            throw error
        }
    }
}
