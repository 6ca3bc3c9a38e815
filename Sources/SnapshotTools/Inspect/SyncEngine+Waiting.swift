import LocalStore
public import SnapshotEngine
import SnapshotVersions
public import StrictText

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
            let status = try SyncError.at(.read) { try LocalStatus(database, now: now()) }
            return LocalSummary(
                lastSuccess: status.lastSuccess, waitingChanges: status.changes.reduce(0) { $0 + $1.count }, openConflicts: status.conflicts)
        }
    }
}
