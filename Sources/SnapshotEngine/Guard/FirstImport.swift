package import LocalStore
package import SnapshotModel
import SnapshotVersions
package import StrictText

/// What a database's own rows become where it has no version in common with the cloud yet.
///
/// What was here before the first import is *before the latch*: by the policy `replace` any entity or tombstone of the cloud
/// beats it, and what the cloud does not know is added. A reader whose tables had rows at `init` must have said whether they
/// stay (`--adopt`) or go (`--replace`). The policies `merge` and `single` let own rows win if they are later.
package struct FirstImport {
    private let rules: [String: MergeRule]
    private let publishes: Bool

    /// Looks which datasets are imported for the first time, and tracks their own rows where they may stay. Notes must have been folded.
    ///
    /// - Parameter isView: whether an old version is only shown: then nothing of one's own stays in the tables.
    /// - Throws: ``SyncError`` with `.refused` for rows that nobody has decided about.
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

    /// The refusal of rows that were there before the first import, where nobody has said what becomes of them.
    static func undecidedRows(of schema: DatasetSchema, at database: String, step: SyncStep, hint: String) -> SyncError {
        SyncError(
            .refused, step: step, at: "\(database), table \(schema.table)",
            "it has rows that did not come from this cloud, and nobody has said whether the first import is to replace them; nothing was changed",
            hint: "\(hint) --adopt (rows that the cloud lacks stay) or --replace (the cloud's alone)")
    }

    /// How the dataset is merged.
    package func rule(of schema: DatasetSchema, horizon: Instant?) -> MergeRule {
        var rule = rules[schema.name] ?? MergeRule(horizon: horizon)
        rule.versionStays = !publishes || rule.cloudWins
        return rule
    }

    /// Whether only one entity of the dataset may be left (``SinglePolicy``).
    package func isSingle(_ schema: DatasetSchema) -> Bool { schema.merge == .single && rules[schema.name] != nil }
}
