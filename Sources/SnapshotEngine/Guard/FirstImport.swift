package import LocalStore
package import SnapshotModel
import SnapshotVersions
package import StrictText

/// Decides what happens to a database's own rows if the database has no version in common with the cloud yet.
///
/// With the policy `replace`, any entity or tombstone of the cloud beats a row that existed before the first import, and rows that the cloud does
/// not know are added. If a reader's tables had rows at `init`, its user must have said whether they stay (`--adopt`) or go (`--replace`). With
/// the policies `merge` and `single`, own rows win if they are later.
package struct FirstImport {
    private let rules: [String: MergeRule]
    private let publishes: Bool

    /// Finds the datasets that are imported for the first time, and tracks their own rows if these may stay. The log must have been consolidated.
    ///
    /// - Parameter isView: whether the import only shows an old version; then no own rows stay in the tables.
    /// - Throws: ``SyncError`` with `.refused` if nobody has decided what happens to existing rows.
    package init(_ transaction: LocalTransaction, _ schemas: [DatasetSchema], settings: SyncSettings, isView: Bool, now: Instant, at database: String) throws {
        publishes = settings.role.publishes
        let known = Set(try transaction.datasetStates.all().map(\.name))
        var rules: [String: MergeRule] = [:]
        for schema in schemas where !known.contains(schema.name) {
            let keepsOwn = !isView && (schema.merge != .replace || settings.adoptsOwnRows || (settings.role.publishes && !settings.replacesOwnRows))
            if keepsOwn {
                try transaction.changeLog.adoptRows(of: schema, now: now)
            } else if try !settings.replacesOwnRows && transaction.changeLog.hasUntrackedRows(of: schema) {
                throw Self.undecidedRows(of: schema, at: database, step: .apply, hint: "keep a copy, then: snapsync detach, and snapsync init …")
            }
            rules[schema.name] = MergeRule(
                cloudWins: schema.merge == .replace, prefersFuller: schema.merge == .single, keepsCopy: true,
                hasDetachedChanges: try transaction.detachedChanges.hasAny(of: schema))
        }
        self.rules = rules
    }

    /// Returns the error for rows that existed before the first import, if nobody has decided what happens to them.
    static func undecidedRows(of schema: DatasetSchema, at database: String, step: SyncStep, hint: String) -> SyncError {
        SyncError(
            .refused, step: step, at: "\(database), table \(schema.table)",
            "it has rows that did not come from this cloud, and nobody has said whether the first import is to replace them; nothing was changed",
            hint: "\(hint) --adopt (rows that the cloud lacks stay) or --replace (the cloud's alone)")
    }

    /// Returns how the dataset is merged.
    package func rule(of schema: DatasetSchema, horizon: Instant?) -> MergeRule {
        var rule = rules[schema.name] ?? MergeRule(horizon: horizon)
        rule.versionStays = !publishes || rule.cloudWins
        return rule
    }

    /// Whether the merge leaves only one entity of the dataset (``SinglePolicy``).
    package func isSingle(_ schema: DatasetSchema) -> Bool { schema.merge == .single && rules[schema.name] != nil }
}
