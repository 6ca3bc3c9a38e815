import CloudStore
import LocalStore
public import ObjectCloud
public import SnapshotEngine
import SnapshotModel
import SnapshotVersions
import StrictText

/// What a database has, what the zone has, and how far they are apart.
public struct StatusReport: Sendable, Encodable {
    public struct Dataset: Sendable, Encodable {
        public let name: String
        /// How many entities the last version that was imported or exported has; nil before the first.
        public let recordCount: Int?
        /// The `syncTimestamp` of the container that was imported or exported last; nil before the first.
        public let syncTimestamp: String?
        /// How many entities were touched here since.
        public let changes: Int
        /// Whether every change since is noted; if not, the next sync compares all rows.
        public let isTracked: Bool
        /// The size of the zone's newest snapshot asset, in bytes; nil if it has none.
        public let assetSize: Int?
    }

    public struct OtherDevice: Sendable, Encodable {
        public let device: String
        public let role: String
        /// The version that it had when it reported, or has published since; nil before its first.
        public let version: Int?
        public let reportedAt: String
        /// How many versions with data came after that one.
        public let behind: Int
        /// How old the report is, in seconds. A device reports when it has something new, and daily.
        public let reportAge: Int
        /// In a signed zone: whether a member has signed the report; nil elsewhere.
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

    /// What went wrong in the last run.
    public struct Failure: Sendable, Encodable {
        public let at: String
        /// The name of a ``SyncError/Code``.
        public let code: String
        public let step: String?
        public let place: String
        public let reason: String
        public let hint: String?
    }

    /// A trial restore of a version.
    public struct RestoreCheck: Sendable, Encodable {
        public let at: String
        public let version: Int
        /// How many problems it found.
        public let problems: Int
    }

    /// How often a signed zone has a new version, and what came here.
    public struct Freshness: Sendable, Encodable {
        /// In seconds.
        public let interval: Int
        /// The publisher's clock in the newest version that came here; nil before the first.
        public let newest: String?
        /// Whether that is more than three intervals ago, by this device's clock.
        public let isLate: Bool
    }

    /// A zone that this database has left.
    public struct LeftZone: Sendable, Encodable {
        public let zone: String
        /// The last version of it that was here; nil if there was none.
        public let version: Int?
        /// Whether this database has removed what lay there; if not, it may be readable still (`doctor` looks).
        public let isRemoved: Bool
    }

    /// A run that ended well.
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
    /// The version that was applied or published last here; nil before the first.
    public let version: Int?
    /// The zone's newest version; nil if it has none.
    public let newestVersion: Int?
    /// How many versions with data this database lacks; nil if the cloud was not looked at.
    public let behind: Int?
    /// What the database shows instead of the newest version, in words; nil if it follows the cloud.
    public let view: String?
    /// When the role's work last ended well; nil before the first time.
    public let lastSuccess: String?
    /// How long ago that was, in seconds.
    public let lastSuccessAge: Int?
    /// What went wrong since; nil if nothing did.
    public let lastError: Failure?
    /// The last export that ended well, whether it published anything or not.
    public let lastExport: Run?
    /// The last import that ended well, whether anything was new or not.
    public let lastImport: Run?
    /// How often a scheduler runs a sync, in seconds, as `schedule` was told; nil if it was not.
    public let interval: Int?
    /// How large an asset may be, in bytes.
    public let assetLimit: Int
    /// Which versions this device keeps by itself; nil if it removes none unasked.
    public let retention: RetentionReport?
    /// The last trial restore (``SnapshotInspector/checkRestore(version:progress:)``); nil before the first.
    public let lastRestoreCheck: RestoreCheck?
    public let datasets: [Dataset]
    /// Commits that lost their number to another device's.
    public let forks: [ForkReport]
    /// What the zone's devices say of themselves, this one among them.
    public let devices: [OtherDevice]
    /// What makes the zone a signed one; nil if it is none, or the cloud was not looked at.
    public let signature: SignatureReport?
    /// Whether this database is synced, and why not.
    public let gate: GateReport
    /// Why the cloud could not be looked at; nil if it was, or if the gate is closed.
    public let cloudProblem: CloudProblem?
    /// At least how often the signed zone has a new version, and how old the newest is that came here; nil if nobody has promised that.
    public let freshness: Freshness?
    /// The zones that this database has left because they were signed or sealed, oldest first.
    public let earlierZones: [LeftZone]
    /// The zone in which this one goes on, while the device waits to be approved there; nil if it waits for nothing.
    public let nextZone: String?
    /// What `undo` would bring back, in words; nil if nothing was replaced on purpose.
    public let undo: String?
    /// The copies of earlier data that lie beside the database, newest first.
    public let copies: [LocalBackupReport]
    /// How many edits that lost to others nobody has taken back or cleared (``SyncEngine/conflicts(all:)``).
    public let conflicts: Int
    /// Messages to the publisher, and what no message carries.
    public internal(set) var messages = MessageCounts()
    /// The requests that this look has sent to the bucket, and their bytes; nil with a directory.
    public package(set) var requests: RequestUsage?
}

extension StatusReport: RequestCounting {}

extension StatusReport {
    /// Sees that the last success is not too old.
    ///
    /// - Parameter maximumAge: how old it may be; nil means three of the scheduler's intervals.
    /// - Throws: ``SyncError`` with `.tryAgainLater` if it is too old or there was none, `.refused` if nobody has said what is too old.
    public func verifyFresh(within maximumAge: Duration? = nil) throws {
        guard let limit = maximumAge.map({ Int($0.components.seconds) }) ?? interval.map({ $0 * 3 }) else {
            throw SyncError(
                .refused, at: database, "nobody has said how old the last success may be",
                hint: "say --max-age 45m, or set an interval up with snapsync schedule")
        }
        let rule = maximumAge == nil ? "three intervals of \(AgeText.words(seconds: interval ?? 0))" : "\(AgeText.words(seconds: limit))"
        let hint = lastError.map { "the last error was: \($0.place): \($0.reason)" } ?? "see that snapsync sync runs: cron, systemd or snapsync watch"
        guard let age = lastSuccessAge else { throw SyncError(.tryAgainLater, at: database, "it was never synced", hint: hint) }
        guard age > limit else { return }
        throw SyncError(.tryAgainLater, at: database, "the last success is \(AgeText.words(seconds: age)) old, more than \(rule)", hint: hint)
    }
}

/// Collects a ``StatusReport``.
struct StatusReporter: Sendable {
    let device: SyncContext
    let gate: GateReport

    func run() async throws -> StatusReport {
        let local = try SyncError.at(.read) { try LocalStatus(device.database, now: device.now()) }
        let copies = try await LocalBackups(device: device).all()
        guard gate.isOpen else { return StatusReport(device.database.path, local, nil, gate, nil, copies: copies) }
        do {
            var report = StatusReport(device.database.path, local, try await ZoneFacts(device), gate, nil, copies: copies)
            report.messages = try await MessageCounts(device)
            return report
        } catch {
            return StatusReport(device.database.path, local, nil, gate, CloudProblem(SyncError(error, step: .fetch)), copies: copies)
        }
    }
}

extension StatusReport {
    init(_ database: String, _ local: LocalStatus, _ zone: ZoneFacts?, _ gate: GateReport, _ problem: CloudProblem?, copies: [LocalBackups.Copy]) {
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
                isTracked: changes.isTracked, assetSize: zone?.assetSize(of: schema.recordName))
        }
        devices = zone.map { zone in zone.reports.map { OtherDevice($0, zone.versions, now: local.now) } } ?? []
        forks = zone?.forks ?? []
        signature = zone?.signature
        self.gate = gate
        cloudProblem = problem
        freshness = local.freshness.map {
            Freshness(interval: $0.interval, newest: $0.newest?.description, isLate: local.settings.role == .reader && $0.silence(at: local.now) != nil)
        }
        earlierZones = local.earlierZones.map { LeftZone(zone: $0.zone, version: $0.version?.number, isRemoved: $0.isPruned) }
        nextZone = local.nextZone
        undo = local.undo.map { "the state before the \($0.act), of \($0.at)" }
        self.copies = copies.map(LocalBackupReport.init)
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
