import CloudStore
import LocalStore
public import ObjectCloud
public import SnapshotEngine
import SnapshotModel
public import SnapshotVersions
import StrictText

/// The state of a database and of its zone, and how far the database is behind.
public struct StatusReport: Sendable, Encodable {
    public struct Dataset: Sendable, Encodable {
        public let name: String
        /// The entity count of the version that was last imported or exported; nil before the first.
        public let recordCount: Int?
        /// The `syncTimestamp` of the container that was last imported or exported; nil before the first.
        public let syncTimestamp: String?
        /// How many entities were changed here since.
        public let changes: Int
        /// Whether every change since is logged; if not, the next sync compares all rows.
        public let isTracked: Bool
        /// Whether no other device will get those changes: at a reader, of a dataset that readers may not edit.
        public let changesStay: Bool
        /// The size of the zone's newest snapshot asset, in bytes; nil if it has none.
        public let assetSize: Int?
    }

    public struct OtherDevice: Sendable, Encodable {
        public let device: String
        public let role: String
        /// The version that it last reported or has published since; nil before its first.
        public let version: Int?
        public let reportedAt: String
        /// How many versions with data it lacks.
        public let behind: Int
        /// The age of the report, in seconds. A device reports when it has a new version, and at least daily.
        public let reportAge: Int
        /// In a signed zone, whether a member signed the report; nil in other zones.
        public let isMember: Bool?

        init(_ report: DeviceReport, _ versions: DataVersions, now: Instant) {
            device = report.device
            role = report.role
            version = versions.held(by: report.device, reported: report.token?.number)
            reportedAt = report.clock.description
            behind = versions.count(after: version ?? 0)
            reportAge = report.clock.age(at: now)
            isMember = report.isMember
        }
    }

    /// The error of the last run.
    public struct Failure: Sendable, Encodable {
        public let at: String
        /// The name of a ``SyncError/Code``.
        public let code: String
        public let step: String?
        public let place: String
        public let reason: String
        public let hint: String?
    }

    /// A restore check of a version.
    public struct RestoreCheck: Sendable, Encodable {
        public let at: String
        public let version: Int
        /// How many problems it found.
        public let problems: Int
    }

    /// The promised interval between new versions of a signed zone, and the newest one received.
    public struct Freshness: Sendable, Encodable {
        /// In seconds.
        public let interval: Int
        /// The publisher's clock in the newest version received; nil before the first.
        public let newest: String?
        /// Whether that is more than three intervals ago by this device's clock.
        public let isLate: Bool
    }

    /// A zone that this database has left.
    public struct LeftZone: Sendable, Encodable {
        public let zone: String
        /// The last version of it that this database had; nil if there was none.
        public let version: Int?
        /// Whether this database has removed the zone's data. If not, it may still be readable; `doctor` checks that.
        public let isRemoved: Bool
    }

    /// A successful run.
    public struct Run: Sendable, Encodable {
        public let at: String
        public let milliseconds: Int
    }

    public let database: String
    public let cloud: String
    public let zone: String
    public let role: String
    public let device: String
    public let journalMode: String
    /// The version that was last applied or published here; nil before the first.
    public let version: Int?
    /// The zone's newest version; nil if it has none.
    public let newestVersion: Int?
    /// How many versions with data this database lacks; nil if the cloud was not read.
    public let behind: Int?
    /// What the database shows instead of the newest version, as a sentence; nil if it follows the cloud.
    public let view: String?
    /// When a run last completed the work of the role; nil before the first time.
    public let lastSuccess: String?
    /// How long ago that was, in seconds; nil before the first time.
    public let lastSuccessAge: Int?
    /// Since when this reader has not been able to send its messages; nil if the last attempt succeeded.
    public let unsentSince: String?
    /// The error of the last run if it failed after the last success; nil otherwise.
    public let lastError: Failure?
    /// The last successful export, whether or not it published anything.
    public let lastExport: Run?
    /// The last successful import, whether or not anything was new.
    public let lastImport: Run?
    /// The interval of scheduled syncs in seconds, as given to `schedule`; nil if none was given.
    public let interval: Int?
    /// The maximum size of an asset, in bytes.
    public let assetLimit: Int
    /// Which versions this device keeps automatically; nil if it removes none on its own.
    public let retention: RetentionReport?
    /// The last restore check (``SnapshotInspector/checkRestore(version:progress:)``); nil before the first.
    public let lastRestoreCheck: RestoreCheck?
    public let datasets: [Dataset]
    /// The reports of the zone's devices, including this one.
    public let devices: [OtherDevice]
    /// The signature of the zone; nil if it is not signed or the cloud was not read.
    public let signature: SignatureReport?
    /// Who else can read every row of a zone that is not sealed, as a sentence: whoever can read its bucket, or a copy of its replicated folder.
    /// Nil in a sealed zone, elsewhere, and if the cloud was not read.
    public let exposure: String?
    /// Whether this database is synced and, if not, why.
    public let gate: GateReport
    /// Why the cloud could not be read; nil if it was read or if the gate is closed.
    public let cloudProblem: CloudProblem?
    /// The promised interval between new versions of the signed zone, and the age of the newest one received; nil if none was promised.
    public let freshness: Freshness?
    /// The zones that this database has left because they were signed or sealed, oldest first.
    public let earlierZones: [LeftZone]
    /// The successor zone in which this device waits for approval; nil if it waits for none.
    public let nextZone: String?
    /// What `undo` would restore, as a sentence; nil if nothing was replaced on purpose.
    public let undo: String?
    /// The backups of earlier data beside the database, newest first.
    public let copies: [LocalBackupReport]
    /// How many losing edits are open, that is neither taken nor cleared (``SyncEngine/conflicts(all:)``).
    public let conflicts: Int
    /// The numbers of messages to the publisher, and of changes that no message type carries.
    public internal(set) var messages = MessageCounts()
    /// The number of requests and bytes that this report has cost at the bucket; nil with a directory.
    public package(set) var requests: RequestUsage?
}

extension StatusReport: RequestCounting {}

extension StatusReport {
    /// Checks that the last success is recent enough, and that a reader's messages could be sent at the last attempt.
    ///
    /// - Parameter maximumAge: its maximum age; nil means three of the scheduler's intervals.
    /// - Throws: ``SyncError`` with `.tryAgainLater` if it is too old, there was none, or messages could not be sent, `.refused` if neither an age nor an interval is known.
    public func verifyFresh(within maximumAge: Duration? = nil) throws {
        guard let limit = maximumAge.map({ Int($0.components.seconds) }) ?? interval.map({ $0 * 3 }) else {
            throw SyncError(
                .refused, at: database, "the greatest age of the last success is not set",
                hint: "say --max-age 45m, or set an interval up with snapsync schedule")
        }
        let rule = maximumAge == nil ? "three intervals of \(AgeText.words(seconds: interval ?? 0))" : "\(AgeText.words(seconds: limit))"
        let hint = lastError.map { "the last error was: \($0.place): \($0.reason)" } ?? "see that snapsync sync runs: cron, systemd or snapsync watch"
        guard let age = lastSuccessAge else { throw SyncError(.tryAgainLater, at: database, "it was never synced", hint: hint) }
        guard age <= limit else {
            throw SyncError(.tryAgainLater, at: database, "the last success is \(AgeText.words(seconds: age)) old, more than \(rule)", hint: hint)
        }
        if let unsentSince {
            throw SyncError(.tryAgainLater, at: database, "messages of this device could not be sent since \(unsentSince)", hint: hint)
        }
    }
}

/// Collects a ``StatusReport``.
struct StatusReporter: Sendable {
    let device: SyncContext
    let gate: GateReport

    func run() async throws -> StatusReport {
        let local: LocalStatus
        do {
            local = try SyncError.at(.read) { try LocalStatus(device.database, now: device.now()) }
        } catch {
            // A synced table that is gone has more to say than SQLite's words for it.
            try MissingTables.verify(device.settings.datasets, of: device.settings, in: device.database)
            throw error
        }
        let copies = try await LocalBackups(device: device).all()
        guard gate.isOpen else { return StatusReport(device.database.path, local, nil, gate, nil, copies: copies) }
        do {
            var report = StatusReport(device.database.path, local, try await ZoneFacts(device), gate, nil, copies: copies)
            report.messages = try await MessageCounts(device)
            return report
        } catch {
            let problem = waiting(local, SyncError(error, step: .fetch))
            return StatusReport(device.database.path, local, nil, gate, CloudProblem(problem), copies: copies)
        }
    }

    /// What keeps this device from looking: where the zone goes on in one that it waits for, that, and not the end of the zone.
    private func waiting(_ local: LocalStatus, _ error: SyncError) -> SyncError {
        guard let next = local.nextZone, error.move != nil else { return error }
        return SyncError(
            .tryAgainLater, step: .fetch, at: error.place, "it goes on as zone \(next), where this device has asked to be a member",
            hint: "on a member that publishes: snapsync member list, then snapsync member approve \(local.settings.device); then sync here")
    }
}

extension StatusReport {
    init(_ database: String, _ local: LocalStatus, _ zone: ZoneFacts?, _ gate: GateReport, _ problem: CloudProblem?, copies: [LocalBackupReport]) {
        self.database = database
        cloud = local.settings.cloud
        self.zone = local.settings.zone
        role = local.settings.role.rawValue
        device = local.settings.device
        journalMode = local.journalMode
        version = local.applied?.number
        newestVersion = zone?.newest?.number
        behind = zone.map { $0.versions.count(after: local.applied?.number ?? 0) }
        view = local.view
        lastSuccess = local.lastSuccess?.description
        lastSuccessAge = local.successAge
        unsentSince = local.unsentSince?.description
        lastError = local.lastFailure.map(Failure.init)
        lastExport = local.lastExport.map(Run.init)
        lastImport = local.lastImport.map(Run.init)
        interval = local.operators.interval
        assetLimit = local.operators.assetLimit
        retention = local.operators.retention.map {
            RetentionReport(keepLast: $0.keepLast, keepWithin: $0.keepWithin, lastRun: local.lastRetention?.description)
        }
        lastRestoreCheck = local.lastRestoreCheck.map { RestoreCheck(at: $0.at.description, version: $0.version, problems: $0.problemCount) }
        datasets = zip(local.settings.datasets, local.changes).map { schema, changes in
            let state = local.states.first { $0.name == schema.name }
            return Dataset(
                name: schema.name, recordCount: state?.recordCount, syncTimestamp: state?.syncTimestamp.description, changes: changes.count,
                isTracked: changes.isTracked, changesStay: local.settings.role == .reader && schema.messages.isEmpty,
                assetSize: zone?.assetSize(of: schema.recordName))
        }
        devices = zone.map { zone in zone.reports.map { OtherDevice($0, zone.versions, now: local.now) } } ?? []
        signature = zone?.signature
        let readers =
            zone != nil && zone?.signature?.isSealed != true
            ? StoreReaders(cloud: local.settings.cloud, isSaidReplicated: local.operators.isReplicated) : nil
        exposure = readers.map { "not sealed, and \($0.place): whoever can read \($0.what) can read every row" }
        self.gate = gate
        cloudProblem = problem
        freshness = local.freshness.map {
            Freshness(interval: $0.interval, newest: $0.newest?.description, isLate: local.settings.role == .reader && $0.silence(at: local.now) != nil)
        }
        earlierZones = local.earlierZones.map { LeftZone(zone: $0.zone, version: $0.version?.number, isRemoved: $0.isPruned) }
        nextZone = local.nextZone
        undo = local.undo.map { "the state before the \($0.act), of \($0.at)" }
        self.copies = copies
        conflicts = local.conflicts
    }
}

extension StatusReport.Failure {
    init(_ failure: RunFailure) {
        self.init(at: failure.at.description, code: failure.code, step: failure.step, place: failure.place, reason: failure.reason, hint: failure.hint)
    }
}

extension StatusReport.Run {
    init(_ run: RunRecord) {
        self.init(at: run.at.description, milliseconds: Int(run.microseconds / 1000))
    }
}

/// Why the cloud could not be read, in a report whose local part is known.
public struct CloudProblem: Sendable, Encodable {
    /// The error's code.
    public let code: String
    public let place: String
    public let reason: String
    public let hint: String?
    /// The error itself.
    public var error: SyncError { cause }
    private let cause: SyncError

    init(_ error: SyncError) {
        code = error.code.name
        place = error.place
        reason = error.reason
        hint = error.hint
        cause = error
    }

    private enum CodingKeys: String, CodingKey { case code, place, reason, hint }
}

/// Which versions a publisher keeps automatically, and when it last searched for others.
public struct RetentionReport: Sendable, Encodable {
    /// How many states of the data are kept; nil if there is no limit by number.
    public let keepLast: Int?
    /// The maximum age of kept versions, in seconds; nil if there is no limit by age.
    public let keepWithin: Int?
    /// When old versions were last searched for; nil before the first time.
    public let lastRun: String?
}

/// Where others than the zone's devices can read the files of a cloud: in a bucket, or in the copies of a folder that a tool replicates.
struct StoreReaders: Sendable {
    /// Where they can, as the end of a sentence.
    let place: String
    /// What they read there.
    let what: String

    /// Returns nil if nothing indicates that others can read the files.
    ///
    /// - Parameters:
    ///   - tool: the name of the tool that replicates the directory, if one was found.
    ///   - isSaidReplicated: whether the user said at `init` that a tool replicates the directory.
    init?(isBucket: Bool, tool: String?, isSaidReplicated: Bool) {
        if isBucket {
            (place, what) = ("its cloud is a bucket", "the bucket")
        } else if tool != nil || isSaidReplicated {
            (place, what) = ("\(tool ?? "a tool") replicates its folder", "a copy of the folder")
        } else {
            return nil
        }
    }

    /// The readers of a cloud that the settings name.
    init?(cloud: String, isSaidReplicated: Bool) {
        let isBucket = CloudLocation.isBucket(cloud)
        // A backend that an application passes has a name, not a path.
        self.init(
            isBucket: isBucket, tool: !isBucket && cloud.exact.hasPrefix("/") ? ReplicatedFolder.tool(of: cloud)?.name : nil, isSaidReplicated: isSaidReplicated
        )
    }
}
