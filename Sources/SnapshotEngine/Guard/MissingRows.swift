import CloudStore
import LocalStore
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Finds entities of the applied version that are missing in the tables without a tracked deletion.
///
/// If an application rebuilt a table, its triggers were gone for a while and tracking is incomplete. Or its connection had triggers off. An entity
/// that is missing then counts as damaged, not as deleted.
struct MissingRows: Sendable {
    let device: SyncContext
    let allowed: ShrinkApproval

    /// Whether the dataset's tracking names every deletion, as far as tracking can tell.
    func isTracked(_ schema: DatasetSchema, _ session: ReadSession) throws -> Bool {
        try session.withReader(0, at: .read) { reader in
            // In a table without a key, rowids identify the rows. VACUUM may assign new rowids, so that rows seem to be missing.
            let isComplete = try reader.transaction.changeLog.isComplete(of: schema)
            return try isComplete || reader.transaction.rowids.mayBeRenumbered(schema)
        }
    }

    /// The least number of entities that a table has after the version `last` if every deletion was tracked; nil if that is not known, or if the
    /// dataset may shrink.
    func leastCount(_ schema: DatasetSchema, _ last: DatasetRecord?, _ session: ReadSession) throws -> Int? {
        guard let last, session.rewritten[schema.name] == nil, !allowed.covers(schema.name) else { return nil }
        return try session.withReader(0, at: .read) { reader in
            guard try reader.transaction.changeLog.isComplete(of: schema) else { return nil }
            return try last.recordCount + reader.transaction.changeLog.growth(of: schema).lowerBound
        }
    }

    /// Refuses to publish a dataset whose rows are missing without a tracked deletion.
    ///
    /// - Throws: ``SyncError`` with `.refused`.
    func refuse(_ schema: DatasetSchema, _ last: DatasetRecord?, _ session: ReadSession) async throws {
        guard let last, !allowed.covers(schema.name) else { return }
        // An asset that cannot be read is handled by a later step, which writes it again.
        let record = last.record(of: schema)
        guard let version = try? await DatasetVersion(record, as: schema, in: device.cloud, zone: device.zone) else { return }
        let count = try Self.countMissing(of: version, session)
        guard count > 0 else { return }
        // From now on, an import and an export compare all rows.
        session.end()
        try device.database.write(at: .read) { try $0.tracking.setIncomplete(of: schema) }
        throw SyncError(
            .refused, step: .read, at: "\(device.database.path), table \(schema.table)",
            "\(Format.count(count, "entity", "entities")) of the last version of \(schema.name) \(Format.word(count, "is", "are")) missing, and no deletion was tracked (the rows may have been deleted while the table's triggers were gone or off, or an index is damaged: snapsync doctor); nothing was published",
            hint: "snapsync import brings them back; if they were meant to go: snapsync sync --allow-shrink \(schema.name)")
    }

    private static func countMissing(of version: DatasetVersion, _ session: ReadSession) throws -> Int {
        // Columns that only one side has tell nothing of missing rows.
        guard let shared = try version.snapshot.index.sharedSchema(with: version.schema) else { return 0 }
        var missing = 0
        try version.giving(shared).forEachUntrackedDifference(in: session) { found, keys in missing += keys.count { found.rows[$0] == nil } }
        return missing
    }
}
