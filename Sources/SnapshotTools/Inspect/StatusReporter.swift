import CloudStore
import Foundation
import LocalStore
import LocalTables
public import ObjectCloud
public import SnapshotEngine
public import SnapshotHistory
import SnapshotModel
import SnapshotVersions
public import StrictText
public import SyncRuns

/// The state of a database and of its zone, and how far the database is behind.
public struct StatusReport: Sendable, Encodable, RequestCounting {
    public struct Dataset: Sendable, Encodable {
        public let name: String
        /// The entity count of the version that was last imported or exported; nil before the first.
        public let recordCount: Int?
        /// The `syncTimestamp` of the container that was last imported or exported; nil before the first.
        public let syncTimestamp: Instant?
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

    /// A restore check of a version.
    public struct RestoreCheck: Sendable, Encodable {
        public let at: Instant
        public let version: Int
        /// How many problems it found.
        public let problems: Int
    }

    /// The promised interval between new versions of a signed zone, and the newest one received.
    public struct Freshness: Sendable, Encodable {
        /// In seconds.
        public let interval: Int
        /// The publisher's clock in the newest version received; nil before the first.
        public let newest: Instant?
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
        public let at: Instant
        public let milliseconds: Int

        init(_ run: RunRecord) { (at, milliseconds) = (run.at, Int(run.microseconds / 1000)) }
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
    /// When a run last completed the work of the role; nil before the first time.
    public let lastSuccess: Instant?
    /// How long ago that was, in seconds; nil before the first time.
    public let lastSuccessAge: Int?
    /// Since when this reader has not been able to send its messages; nil if the last attempt succeeded.
    public let unsentSince: Instant?
    /// The error of the last run if it failed after the last success; nil otherwise.
    public let lastError: SyncError?
    /// When that run failed.
    public let lastErrorAt: Instant?
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
    public let cloudProblem: SyncError?
    /// The promised interval between new versions of the signed zone, and the age of the newest one received; nil if none was promised.
    public let freshness: Freshness?
    /// The zones that this database has left because they were signed or sealed, oldest first.
    public let earlierZones: [LeftZone]
    /// The successor zone in which this device waits for approval; nil if it waits for none.
    public let nextZone: String?
    /// What `undo` would restore, as a sentence; nil if nothing was replaced on purpose.
    public let undo: String?
    /// The backups of earlier data beside the database, newest first.
    public internal(set) var copies: [LocalBackupReport] = []
    /// How many losing edits are open, that is neither taken nor cleared (``SyncConflicts/list(all:)``).
    public let conflicts: Int
    /// The numbers of messages to the publisher, and of changes that no message type carries.
    public internal(set) var messages = MessageCounts()
    /// The number of requests and bytes that this report has cost at the bucket; nil with a directory.
    public package(set) var requests: RequestUsage?
}

extension StatusReport {
    /// Checks that the last success is recent enough, and that a reader's messages could be sent at the last attempt.
    ///
    /// - Parameter maximumAge: its maximum age; nil means three of the scheduler's intervals.
    /// - Throws: ``SyncError`` with `.tryAgainLater` if it is too old, there was none, or messages could not be sent, `.refused` if neither an age nor an interval is known.
    public func verifyFresh(within maximumAge: Duration? = nil) throws {
        guard let limit = maximumAge.map({ Int($0.components.seconds) }) ?? interval.map({ $0 * 3 }) else {
            throw SyncError(
                .refused, at: database, "the greatest age of the last success is not set",
                hint: "pass --max-age 45m, or store the interval of the scheduler: snapsync config set interval 15m")
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
    let context: SyncContext
    let gate: GateReport

    func run() async throws -> StatusReport {
        var zone: ZoneFacts?, messages = MessageCounts(), problem: SyncError?
        if gate.isOpen {
            do {
                let facts = try await ZoneFacts(context)
                messages = try await MessageCounts(context)
                zone = facts
            } catch { problem = SyncError(error, step: .fetch) }
        }
        var found = try report(zone, problem)
        found.messages = messages
        found.copies = try await LocalBackups(context: context).all()
        return found
    }

    private func report(_ zone: ZoneFacts?, _ problem: SyncError?) throws -> StatusReport {
        let database = context.database, now = context.now()
        do {
            let journalMode = try database.journalMode()
            return try database.read {
                try StatusReport($0, of: database.path, zone, now: now, journalMode: journalMode, gate: gate, problem: problem)
            }
        } catch {
            // A synced table that is gone has more to say than SQLite's words for it.
            try MissingTables.verify(context.settings.datasets, of: context.settings, in: database)
            throw error
        }
    }
}

extension LocalTransaction {
    /// The last successful run of a kind. How long an idle run took is not recorded.
    fileprivate func lastRun(_ kind: RunKind, of role: SyncRole) throws -> StatusReport.Run? {
        let noted = try state.lastRun(kind), idle = RunKind(of: role) == kind ? try state.lastIdleRun(of: role) : nil
        return (idle.map { RunRecord(at: $0, microseconds: noted?.microseconds ?? 0) } ?? noted).map(StatusReport.Run.init)
    }
}

extension Instant {
    /// The time since this instant, in seconds; 0 if the clock was set back since.
    func age(at now: Instant) -> Int { max(0, Int((now.microseconds - microseconds) / 1_000_000)) }
}

extension StatusReport {
    /// - Parameters:
    ///   - zone: what the zone has; nil if it was not read.
    ///   - problem: why it was not read; nil if the gate is closed.
    fileprivate init(
        _ transaction: LocalTransaction, of path: String, _ zone: ZoneFacts?, now: Instant, journalMode: String, gate: GateReport, problem: SyncError?
    ) throws {
        let settings = try transaction.settings.read(), operators = try transaction.settings.operatorSettings(), state = transaction.state
        database = path
        cloud = settings.cloud
        self.zone = settings.zone
        role = settings.role.rawValue
        device = settings.device
        self.journalMode = journalMode
        let applied = try state.applied()?.number
        version = applied
        newestVersion = zone?.newest?.number
        behind = zone.map { $0.versions.count(after: applied ?? 0) }
        lastSuccess = try transaction.state.lastSuccess(of: settings.role)
        lastSuccessAge = lastSuccess?.age(at: now)
        unsentSince = settings.role == .reader ? try state.unsentSince() : nil
        let failure = try state.lastFailure()
        lastErrorAt = failure?.at
        lastError = failure.map { SyncError(.init(name: $0.code), step: $0.step.flatMap(SyncStep.init), at: $0.place, $0.reason, hint: $0.hint) }
        lastExport = try transaction.lastRun(.export, of: settings.role)
        lastImport = try transaction.lastRun(.import, of: settings.role)
        interval = operators.interval
        assetLimit = operators.assetLimit
        let lastRetention = try state.lastRetention()
        retention = operators.retention.map { RetentionReport(keepLast: $0.keepLast, keepWithin: $0.keepWithin, lastRun: lastRetention) }
        lastRestoreCheck = try state.lastRestoreCheck().map { RestoreCheck(at: $0.at, version: $0.version, problems: $0.problemCount) }
        let states = try transaction.datasetStates.all(), isTracking = try transaction.tracking.isInstalled(settings.datasets)
        datasets = try settings.datasets.map { schema in
            let state = states.first { $0.name == schema.name }, changes = try transaction.changeLog.summary(of: schema)
            return Dataset(
                name: schema.name, recordCount: state?.recordCount, syncTimestamp: state?.syncTimestamp, changes: changes.count,
                isTracked: isTracking && changes.isComplete, changesStay: settings.role == .reader && schema.messages.isEmpty,
                assetSize: zone?.assetSize(of: schema.recordName))
        }
        devices = zone.map { zone in zone.reports.map { OtherDevice($0, zone.versions, now: now) } } ?? []
        signature = zone?.signature
        let readers =
            zone != nil && zone?.signature?.isSealed != true ? StoreReaders(cloud: settings.cloud, isSaidReplicated: operators.isReplicated) : nil
        exposure = readers.map { "not sealed, and \($0.place): whoever can read \($0.what) can read every row" }
        self.gate = gate
        freshness = try state.freshness().map {
            Freshness(interval: $0.interval, newest: $0.newest, isLate: settings.role == .reader && $0.silence(at: now) != nil)
        }
        earlierZones = try state.earlierZones().map { LeftZone(zone: $0.zone, version: $0.version?.number, isRemoved: $0.isPruned) }
        nextZone = try state.nextZone().map { try StrictJSON.decode(ZoneSuccessor.self, from: Data($0.utf8)).zone }
        if let nextZone, let problem, problem.cloud?.successor != nil {
            // Where the zone goes on in one that this device waits for, that is the problem, and not the end of the zone.
            cloudProblem = SyncError(
                .tryAgainLater, step: .fetch, at: problem.place, "it goes on as zone \(nextZone), where this device has asked to be a member",
                hint: "on a member that publishes: snapsync zone members, then snapsync zone approve \(settings.device); then sync here")
        } else {
            cloudProblem = problem
        }
        undo = try state.undoPoint().map { "the state before the \($0.act), of \($0.at)" }
        conflicts = try transaction.conflictJournal.openCount()
    }
}

/// Which versions a publisher keeps automatically, and when it last searched for others.
public struct RetentionReport: Sendable, Encodable {
    /// How many states of the data are kept; nil if there is no limit by number.
    public let keepLast: Int?
    /// The maximum age of kept versions, in seconds; nil if there is no limit by age.
    public let keepWithin: Int?
    /// When old versions were last searched for; nil before the first time.
    public let lastRun: Instant?
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
            (place, what) = ("its location is a bucket", "the bucket")
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
