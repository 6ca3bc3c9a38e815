import LocalStore
import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText

/// What an attempt to import starts from: the state of the database, the zone's new commits and what they decide.
struct ImportBase: Sendable {
    let applied: AppliedVersion?
    /// The datasets whose rows may differ from the applied version without a tracked change.
    var untracked: Set<String>
    /// Whether the number of rows may show that changes are untracked.
    var countsRows = false
    let upstream: UpstreamChanges?
    /// The datasets that other datasets refer to and from which rows were deleted locally. New children may need these rows.
    let deletedParents: Set<String>
    /// Whether the applied version has fewer columns than this device describes. Only snapshot assets name a version's columns.
    let hasMissingColumns: Bool
    /// For each reader up to which number its edits are decided; nil if that is as before.
    var answered: [ExactText: Int64]?
    /// The datasets that the version does not have.
    var absent: [DatasetSchema] = []

    /// - Parameter upstream: the zone's new commits; nil if the import does not follow them.
    init(_ context: SyncContext, _ upstream: UpstreamChanges?) throws {
        self.upstream = upstream
        let datasets = context.settings.datasets
        (applied, untracked, deletedParents, hasMissingColumns) = try context.database.read { transaction in
            // A column that was added after the version was applied has no values in the rows yet.
            let untracked = try datasets.filter {
                try !transaction.changeLog.isComplete(of: $0) || !transaction.state.unseenColumns(of: $0).isEmpty
            }
            return (
                try transaction.state.applied(), Set(untracked.map(\.name)),
                try transaction.references.deletedParents(among: datasets), try datasets.contains { try !transaction.state.missingColumns(of: $0).isEmpty }
            )
        }
    }
}
