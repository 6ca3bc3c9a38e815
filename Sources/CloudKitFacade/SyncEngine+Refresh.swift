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

    /// Hints that another device has published, or sent a message that this one is to publish, from now on; sync at each. Ends with the task
    /// that iterates.
    ///
    /// Only the records of this database's datasets count. A cloud that is away for a while ends nothing; a database that cannot be
    /// read any longer ends the hints, and the log says why.
    ///
    /// - Parameter interval: how long to wait between two looks at a cloud that reports no events (``RecordDatabase/events(in:_:)``); one that
    ///   does is looked at when it tells of something, and every 30 s besides.
    public func hints(every interval: Duration = .seconds(2)) async throws -> some AsyncSequence<Void, Never> & Sendable {
        try await gate.enter()
        let device = try device()
        // A gate that opens need not wait for the next look.
        let wait = ZoneWait(for: device.zone, of: device.cloud, every: interval, or: gate.changes()), gate = gate, logger = logger
        let zone = CloudZone(device.zone, of: device.cloud, as: device.settings.device, now: now)
        // One look at a time: what waits between two is the hints' matter.
        let commits = try await SyncError.at(.fetch) { try await zone.subscribe(RecordSubscription("snapshots")) { false } }
        return ZoneHints(commits: commits, device: device) {
            // While the gate is closed the cloud is not even looked at.
            while await wait.next() {
                do {
                    if try gate.standing() == .open { return true }
                } catch {
                    let error = SyncError(error, step: .read)
                    if error.isRetryable { continue }
                    logger.error("news of the zone is no longer listened for", metadata: ["error": "\(error)"])
                    return false
                }
            }
            return false
        }
    }
}
