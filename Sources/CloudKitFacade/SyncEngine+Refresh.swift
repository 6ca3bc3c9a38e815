import CloudStore
import RecordZones
import LocalStore
import Logging
public import SnapshotEngine
import SnapshotModel
import SnapshotVersions

extension SyncEngine {
    /// Imports the newest version again, even if it is already applied. Every block of a reader's rows is compared with the version.
    ///
    /// For a reader whose rows may be wrong. Local changes in the log are kept, as in every import. On a publishing device this is the same
    /// as ``importNewest(progress:)``: there the device's own rows count.
    public func importAnew(progress: ProgressHandler? = nil) async throws -> ImportReport {
        try await locked {
            let device = try device()
            var run = ImportRun(device: device, progress: progress)
            run.comparesAll = device.settings.role == .reader
            return try await run.importNewest()
        }
    }

    /// Returns a stream of hints that another device has published, or has sent a message that this device must publish. Sync at each hint.
    /// The hints end with the task that iterates.
    ///
    /// Only records of this database's datasets cause a hint. The hints continue if the cloud is unreachable for a while. They end if the
    /// database can no longer be read, and the log says why.
    ///
    /// - Parameter interval: the wait between two checks of a cloud that reports no events (``CloudDatabase/events(in:_:)``). A cloud with
    ///   events is checked at each event, and every 30 s in addition.
    public func hints(every interval: Duration = .seconds(2)) async throws -> some AsyncSequence<Void, Never> & Sendable {
        try await gate.enter()
        let device = try device()
        // The gate is an event source too, so that opening it starts a check at once.
        let wait = ZoneWait(for: device.zone, of: device.cloud, every: interval, or: gate.changes()), gate = gate, logger = logger
        let zone = CloudZone(device.zone, of: device.cloud, as: device.settings.device, now: now)
        // The subscription itself does not wait, since the hints wait between two checks.
        let commits = try await SyncError.at(.fetch) { try await zone.subscribe(RecordSubscription("snapshots")) { false } }
        return ZoneHints(commits: commits, device: device) {
            // While the gate is closed, the cloud is not checked.
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
