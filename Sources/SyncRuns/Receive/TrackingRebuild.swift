import CloudStore
import LocalStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Finds and tracks changes that were made while no triggers existed, because an application's migration had rebuilt a table.
///
/// The rows are compared with the applied version, block by block. An entity that differs was changed, and its instant is its own timestamp.
/// Without this, an import would remove such changes as rows that no version has. An entity that is missing does not count as deleted; the import
/// brings it back. If VACUUM has renumbered the rowids of a table without a key, rows are missing only under their old rowids, and that is
/// tracked as deletions.
package struct TrackingRebuild: Sendable {
    let context: SyncContext

    package init(context: SyncContext) { self.context = context }

    /// Rebuilds the tracking before an import of the zone's new commits.
    package func run(_ news: UpstreamChanges) async throws -> [String] {
        try await run(news.applied, isOfEarlierZone: news.isOfEarlierZone)
    }

    /// Rebuilds the tracking of datasets whose tracking is incomplete, if there is a version to compare with.
    ///
    /// - Parameter version: the applied version.
    /// - Returns: a warning for each dataset that could not be compared.
    func run(_ version: AppliedVersion?, isOfEarlierZone: Bool = false) async throws -> [String] {
        guard let applied = version else { return [] }
        let untracked: [DatasetSchema] = try context.database.read { transaction in
            try context.settings.datasets.filter {
                try context.settings.role.publishes ? !transaction.changeLog.isComplete(of: $0) : transaction.changeLog.mayHaveUntrackedEdits(of: $0)
            }
        }
        guard !untracked.isEmpty else { return [] }
        var isApplied = !isOfEarlierZone
        let state: ZoneState
        do {
            state = try await context.cloud.records(
                in: context.zone, at: isOfEarlierZone ? nil : applied.number, notBefore: isOfEarlierZone ? nil : applied.token)
        } catch let error as CloudError where error.code == .unknownItem {
            // The version is no longer kept. More rows differ from the newest version, and each entity's own timestamp decides.
            isApplied = false
            state = try await context.cloud.records(in: context.zone, at: nil, notBefore: applied.token)
        }
        let publishes = context.settings.role.publishes
        var warnings: [String] = []
        for schema in untracked {
            guard let record = state.record(schema.recordName) else { continue }
            do {
                // Rows of a reader that differ from the newest version are old more often than edited.
                guard publishes || isApplied else {
                    throw SyncError(.nothingThere, step: .fetch, at: schema.name, "the version is no longer in the zone")
                }
                let version = try await DatasetVersion(record, as: schema, in: context.cloud, zone: context.zone)
                try track(schema, comparedWith: version, isApplied: isApplied)
            } catch {
                let error = SyncError(error, step: .fetch)
                guard !publishes, [.nothingThere, .dataRefused, .tryAgainLater].contains(error.code) else { throw error }
                warnings.append(
                    "\(schema.name): its changes were not tracked, and version \(applied.number), to compare with, is not to be had (\(error.reason)); "
                        + "what was changed here since then is replaced")
            }
        }
        return warnings
    }

    private func track(_ schema: DatasetSchema, comparedWith version: DatasetVersion, isApplied: Bool) throws {
        // Columns that only one side has values of cannot be compared.
        let unseen = try context.database.read { try $0.state.unseenColumns(of: schema) }
        let here = try schema.with(columns: schema.columns.filter { !unseen.contains($0.name.exact) })
        guard let shared = try version.snapshot.index.sharedSchema(with: here) else {
            throw SyncError(
                .refused, step: .read, at: "\(context.database.path), table \(schema.table)",
                "its changes were not tracked, and the version that is here has another key",
                hint: "correct the dataset file, or start anew: snapsync detach, then init")
        }
        // A logged change whose row is not there is no change: the row is missing.
        try context.database.write { try $0.changeLog.consolidate(of: [schema]) }
        let positions = Dictionary(uniqueKeysWithValues: schema.columns.enumerated().map { ($1.name.exact, $0) })
        let (found, absent) = try version.giving(shared).differences(from: context.database)
        try context.database.write { transaction in
            let rows = try transaction.rows.lookup(of: schema), nowhere = EntityStates(schema: schema) { _ in false }
            // A row that is missing without a tracked deletion counts as damage; the import brings it back.
            let isRenumbered = try transaction.rowids.mayBeRenumbered(schema)
            let missing = isRenumbered ? [] : Set(try found.filter { try !$0.isTracked && !rows.send($0.key, to: nowhere) }.map(\.key))
            for change in found where !change.isTracked && !missing.contains(change.key) {
                try transaction.changeLog.record(change.key, of: schema, as: .compared, replacing: change.seen, at: context.now())
            }
            try transaction.tracking.regainCompleteness(
                of: schema,
                differing: found.map { one in
                    .init(key: one.key, columns: one.columns.compactMap { positions[shared.columns[$0].name.exact] }, isTracked: one.isTracked)
                }, absent: isApplied ? absent : nil, isMissing: !missing.isEmpty, publishes: context.settings.role.publishes)
            if isRenumbered { try transaction.rowids.setCompared(schema) }
        }
    }
}
