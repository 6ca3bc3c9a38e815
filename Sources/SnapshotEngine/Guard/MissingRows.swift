import CloudStore
import LocalStore
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Finds entities of the applied version that are missing in the tables without a tracked deletion.
///
/// If an application rebuilt a table, its triggers were gone for a while and tracking is incomplete. An entity that is missing then counts as
/// damaged, not as deleted.
struct MissingRows: Sendable {
    let device: SyncContext
    let allowed: ShrinkApproval

    /// Refuses to publish a dataset whose tracking is incomplete and whose rows are missing.
    ///
    /// - Throws: ``SyncError`` with `.refused`.
    func refuse(_ schema: DatasetSchema, _ last: DatasetRecord?, _ session: ReadSession) async throws {
        guard let last, !allowed.covers(schema.name) else { return }
        let isKnown = try session.withReader(0, at: .read) { reader in
            // In a table without a key, rowids identify the rows. VACUUM may assign new rowids, so that rows seem to be missing.
            let isComplete = try reader.transaction.changeLog.isComplete(of: schema)
            return try isComplete || reader.transaction.rowids.mayBeRenumbered(schema)
        }
        guard !isKnown else { return }
        // An asset that cannot be read is handled by a later step, which writes it again.
        let record = last.record(of: schema)
        guard let version = try? await DatasetVersion(record, as: schema, in: device.cloud, zone: device.zone) else { return }
        let count = try Self.countMissing(of: version, session)
        guard count > 0 else { return }
        throw SyncError(
            .refused, step: .read, at: "\(device.database.path), table \(schema.table)",
            "\(Format.count(count, "entity", "entities")) of the last version of \(schema.name) \(Format.word(count, "is", "are")) missing, and no deletion was tracked (the table may have been rebuilt or emptied while its triggers were gone); nothing was published",
            hint: "snapsync import brings them back; if they were meant to go: snapsync sync --allow-shrink \(schema.name)")
    }

    private static func countMissing(of version: DatasetVersion, _ session: ReadSession) throws -> Int {
        guard version.snapshot.index.describes(version.schema) else { return 0 }
        var missing = 0
        try version.forEachUntrackedDifference(in: session) { found, keys in missing += keys.count { found.rows[$0] == nil } }
        return missing
    }
}
