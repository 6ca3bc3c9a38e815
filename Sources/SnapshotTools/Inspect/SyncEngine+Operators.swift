import Foundation
import LocalStore
public import SnapshotEngine
import SnapshotVersions

extension SyncEngine {
    /// Writes what is known here as a text file for a monitor, replaced whole.
    ///
    /// The file is written even if the cloud cannot be read, or is not to be, and says so (`snapsync_cloud_up 0`).
    ///
    /// - Throws: ``SyncError`` if the database cannot be read or the file cannot be written; then why the cloud could not be read.
    public func writeMetrics(to path: String, format: MetricsFormat = .prometheus) async throws {
        try await WorkerThreads.host {
            let local = try SyncError.at(.read) { try LocalStatus(database, now: now()) }
            let isOpen = try await gate.decision() == .open
            let zone: Result<ZoneFacts, SyncError>
            do { zone = .success(try await ZoneFacts(device())) } catch { zone = .failure(SyncError(error, step: .fetch)) }
            let name = URL(fileURLWithPath: database.path).standardizedFileURL.path
            // Readable by all: the program that collects such files runs as another user.
            try ReplacedFile.write(PrometheusText(name, local, try? zone.get(), format: format).text, to: path, mode: 0o644)
            if isOpen { _ = try zone.get() }
        }
    }

    /// What a scheduler needs to sync this database every so often, or to watch it; an interval is kept, so that `status` knows what is too old.
    ///
    /// - Parameters:
    ///   - interval: whole seconds; nil for a watch, which only systemd can keep running.
    ///   - program: the absolute path of the command.
    ///   - options: further words of the command.
    ///   - restoreCheck: further words of a weekly `verify --restore`; nil for none.
    /// - Throws: ``SyncError`` with `.refused` for an interval that the scheduler cannot keep evenly.
    public func schedule(
        every interval: Duration?, with scheduler: Scheduler, program: String, options: [String] = [], restoreCheck: [String]? = nil
    ) throws -> ScheduleReport {
        let seconds = interval.map { Int($0.components.seconds) }
        let settings = try database.read(at: .open) { try $0.settings.read() }
        let plan = SchedulePlan(
            program: program, database: URL(fileURLWithPath: database.path).standardizedFileURL.path, device: settings.device, cloudUUID: settings.cloudUUID,
            seconds: seconds, options: options, restoreCheck: restoreCheck)
        let report = try plan.report(for: scheduler)
        if let seconds { try database.write(at: .open) { try $0.settings.setInterval(seconds) } }
        return report
    }
}
