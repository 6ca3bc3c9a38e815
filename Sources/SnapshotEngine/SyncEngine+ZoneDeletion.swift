import CloudStore
import LocalStore
public import SnapshotModel
import SnapshotVersions
import StrictText

extension SyncEngine {
    /// Returns what this device does with its own data when the zone is deleted.
    public func zoneDeletionPolicy() throws -> ZoneDeletionPolicy {
        try database.read(at: .open) { transaction in
            _ = try transaction.settings.read()
            return try transaction.settings.zoneDeletionPolicy()
        }
    }

    /// Sets the policy for all later runs.
    public func setZoneDeletionPolicy(_ policy: ZoneDeletionPolicy) throws {
        try database.write(at: .open) { transaction in
            _ = try transaction.settings.read()
            try transaction.settings.setZoneDeletionPolicy(policy)
        }
    }

    /// Runs `body`. If the zone turns out to be deleted, applies the policy and describes the outcome in the error.
    ///
    /// - Throws: what `body` throws; for a deleted zone ``SyncError`` with `.refused`, the reason of the deletion, and what happened to the local
    ///   data.
    func meetingZoneDeletion<T>(_ body: () async throws -> T) async throws -> T {
        do {
            return try await body()
        } catch let error as SyncError {
            guard let deletion = error.zoneDeletion else { throw error }
            let outcome = try SyncError.at(.apply) { try database.withoutRollbacks { try database.write { try respond(to: deletion, in: $0) } } }
            throw SyncError(
                error.code, step: error.step, at: error.place, "\(error.reason); \(outcome)",
                hint: "join another zone (snapsync detach, then snapsync init), or have the device that publishes make the zone anew")
        }
    }

    /// Applies the policy and returns a sentence that says what was done.
    private func respond(to deletion: ZoneDeletion, in transaction: LocalTransaction) throws -> String {
        guard try transaction.settings.zoneDeletionPolicy() == .erase else { return "everything here stays as it is" }
        guard deletion.reason != .encryptedDataReset else { return "everything here stays as it is, to be uploaded again" }
        guard try transaction.state.applied() != nil else { return "everything here stays as it is: nothing of it came from there" }
        let datasets = try transaction.settings.read().datasets
        // If a change may have been missed, the origin of a dataset's rows is unknown. Installing the triggers detects a table that was rebuilt.
        if try !transaction.tracking.isInstalled(datasets) { _ = try transaction.tracking.install(datasets) }
        let known = try datasets.filter { try transaction.changeLog.isComplete(of: $0) }
        try transaction.changeLog.consolidate(of: datasets)
        let count = try transaction.merge.eraseApplied(of: known, among: datasets)
        var words =
            "as its settings say, this device has erased what it had from there (\(Format.count(count, "entity", "entities"))) and kept what was changed here"
        let unknown = try datasets.filter { dataset in try !known.contains { $0.name == dataset.name } && transaction.rows.hasRows(dataset) }
        if !unknown.isEmpty { words += "; all of \(unknown.map(\.name).joined(separator: ", ")) stays, for it is not known which of it came from there" }
        return ([words] + transaction.triggerNotices).joined(separator: "; ")
    }
}
