import CloudStore
import LocalStore
import Logging
public import SnapshotEngine
import SnapshotModel
import SnapshotVersions

extension SyncEngine {
    /// Imports the newest version anew, whatever is here already: every block of the reader's rows is compared with it.
    ///
    /// For a reader whose rows are in doubt. What was changed here and noted is kept as in every import. A device that publishes
    /// imports what is new, as ``importNewest(progress:)`` does: its rows are its own.
    public func importAnew(progress: ProgressHandler? = nil) async throws -> ImportReport {
        try await locked {
            let device = try device()
            if device.settings.role == .reader {
                try database.write(at: .apply) { transaction in
                    // Rows that are not known to be the applied version's are compared by the next import.
                    for schema in device.settings.datasets { try transaction.tracking.setIncomplete(of: schema) }
                }
            }
            return try await ImportRun(device: device, progress: progress).importNewest()
        }
    }

    /// Hints that another device has published, from now on; fetch what is new at each. Ends with the task that iterates.
    ///
    /// Only the records of this database's datasets count. A cloud that is away for a while ends nothing; a database that cannot be
    /// read any longer ends the hints, and the log says why.
    public func hints(every interval: Duration = .seconds(2)) async throws -> some AsyncSequence<Void, Never> & Sendable {
        try await gate.enter()
        let device = try device()
        let names = Set(device.settings.datasets.map(\.recordName))
        let zone = CloudZone(device.zone, of: device.cloud, as: device.settings.device, now: now)
        let gate = gate, logger = logger
        let notifications = try await SyncError.at(.fetch) {
            try await zone.subscribe(RecordSubscription("snapshots")) {
                // While the gate is closed the cloud is not even looked at.
                while true {
                    guard (try? await Task.sleep(for: interval)) != nil else { return false }
                    do {
                        if try gate.standing() == .open { return true }
                    } catch {
                        let error = SyncError(error, step: .read)
                        if error.isRetryable { continue }
                        logger.error("news of the zone is no longer listened for", metadata: ["error": "\(error)"])
                        return false
                    }
                }
            }
        }
        return notifications.filter { $0.recordName.map(names.contains) ?? true }.map { _ in }
    }
}
