import Foundation
import LocalStore
import LocalTables
public import SnapshotEngine
import SnapshotVersions
public import StrictText
import SyncRuns

extension SyncEngine {
    /// Writes metrics to a text file for a monitoring system, replacing the file as a whole.
    ///
    /// The file is also written if the cloud cannot be read or the gate is closed, with `snapsync_cloud_up 0`.
    ///
    /// - Throws: ``SyncError`` if the database cannot be read or the file cannot be written; otherwise the error with which reading the cloud
    ///   failed.
    public func writeMetrics(to path: String, format: MetricsFormat = .prometheus) async throws {
        let report = try await status()
        let name = URL(fileURLWithPath: database.path).standardizedFileURL.path
        // World-readable, because the program that collects such files runs as another user.
        try ReplacedFile.write(PrometheusText(name, report, format: format, at: now()).text, to: path, mode: 0o644)
        if let problem = report.cloudProblem { throw problem }
    }

    /// The configuration with which a scheduler syncs this database at an interval, or keeps a watch running.
    ///
    /// - Parameters:
    ///   - interval: whole seconds; nil for a watch, which only systemd can keep running.
    ///   - program: the absolute path of the command.
    ///   - options: additional arguments of the command.
    ///   - restoreCheck: additional arguments of a weekly `check --restore`; nil for none.
    /// - Throws: ``SyncError`` with `.refused` for an interval that the scheduler cannot keep evenly.
    public func schedule(
        every interval: Duration?, with scheduler: Scheduler, program: String, options: [String] = [], restoreCheck: [String]? = nil
    ) throws -> ScheduleReport {
        let seconds = interval.map { Int($0.components.seconds) }
        let settings = try database.read { try $0.settings.read() }
        let plan = SchedulePlan(
            program: program, database: URL(fileURLWithPath: database.path).standardizedFileURL.path, device: settings.device, cloudUUID: settings.cloudUUID,
            seconds: seconds, options: options, restoreCheck: restoreCheck)
        return try plan.report(for: scheduler)
    }
}

extension SyncEngine {
    /// The state of this database and of its zone.
    public func status() async throws -> StatusReport {
        try await WorkerThreads.host {
            let gate = try await gate.report()
            return try await countingRequests { try await StatusReporter(context: contextToLookAt(gate), gate: gate).run() }
        }
    }

    /// An inspector of this database's zone.
    public func inspector() async throws -> SnapshotInspector {
        try await WorkerThreads.host {
            try await gate.enter()
            let context = try context()
            return SnapshotInspector(
                cloud: context.cloud, zone: context.zone, applied: try database.read { try $0.state.appliedHere() }, context: context)
        }
    }
}

/// What a database knows about its syncing, without access to the cloud.
public struct LocalSummary: Hashable, Sendable {
    /// When a run last succeeded; nil before the first.
    public let lastSuccess: Instant?
    /// How many changes wait to be published or sent.
    public let waitingChanges: Int
    /// How many entries of the conflict journal are open.
    public let openConflicts: Int
}

extension SyncEngine {
    /// A summary for a user interface. It reads only the database, so it also works while the gate is closed.
    public func localSummary() async throws -> LocalSummary {
        try await WorkerThreads.host {
            try database.read { transaction in
                let settings = try transaction.settings.read()
                return LocalSummary(
                    lastSuccess: try transaction.state.lastSuccess(of: settings.role),
                    waitingChanges: try settings.datasets.reduce(0) { $0 + (try transaction.changeLog.summary(of: $1).count) },
                    openConflicts: try transaction.conflictJournal.openCount())
            }
        }
    }
}
