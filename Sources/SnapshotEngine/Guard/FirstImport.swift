package import LocalStore
package import SnapshotFormat
package import SnapshotModel
import SnapshotVersions
package import StrictText

/// Decides what happens to a database's own rows if the database has no version in common with the cloud yet.
///
/// With the policy `replace`, any entity or tombstone of the cloud beats a row that existed before the first import, and rows that the cloud does
/// not know are added. If a reader's tables had rows at `init`, its user must have said whether they stay (`--adopt`) or go (`--replace`). With
/// the policies `merge` and `single`, own rows win if they are later.
package struct FirstImport {
    private let datasets: Set<String>
    /// The datasets of which this device never had a version. Their rows that lose are written to a file.
    package let names: Set<String>

    /// Finds the datasets that are imported for the first time, and tracks their own rows if these may stay. The log must have been consolidated.
    ///
    /// - Parameter isView: whether the import only shows an old version; then no own rows stay in the tables.
    /// - Throws: ``SyncError`` with `.refused` if nobody has decided what happens to existing rows.
    package init(_ transaction: LocalTransaction, _ schemas: [DatasetSchema], settings: SyncSettings, isView: Bool, now: Instant, at database: String) throws {
        let known = Set(try transaction.datasetStates.all().map(\.name))
        datasets = Set(schemas.map(\.name)).subtracting(known)
        names = Set(try schemas.filter { try !known.contains($0.name) && !transaction.detachedChanges.hasAny(of: $0) }.map(\.name))
        for schema in schemas where !known.contains(schema.name) {
            let keepsOwn = !isView && (schema.merge != .replace || settings.adoptsOwnRows || (settings.role.publishes && !settings.replacesOwnRows))
            if keepsOwn {
                // With edits that waited since a detach, only the other rows are earlier than the cloud.
                try transaction.changeLog.adoptRows(of: schema, now: now, areEarliest: schema.merge == .replace && !names.contains(schema.name))
            } else if try !settings.replacesOwnRows && transaction.changeLog.hasUntrackedRows(of: schema) {
                throw Self.undecidedRows(of: schema, at: database, step: .apply, hint: "keep a copy, then: snapsync detach, and snapsync init …")
            }
        }
    }

    /// Returns the error for rows that existed before the first import, if nobody has decided what happens to them.
    static func undecidedRows(of schema: DatasetSchema, at database: String, step: SyncStep, hint: String) -> SyncError {
        SyncError(
            .refused, step: step, at: "\(database), table \(schema.table)",
            "it has rows that did not come from this cloud, and nobody has said whether the first import is to replace them; nothing was changed",
            hint: "\(hint) --adopt (rows that the cloud lacks stay) or --replace (the cloud's alone)")
    }

    /// Whether the merge leaves only one entity of the dataset (``SinglePolicy``).
    package func isSingle(_ schema: DatasetSchema) -> Bool { schema.merge == .single && datasets.contains(schema.name) }
}

/// The policy `single`: one entity of both sides stays. The later one wins; among equally late ones the one with more filled fields, then the one
/// with the greater hash. The others are deleted, and the deletions are tracked, so that every device deletes them.
package struct SinglePolicy {
    let schema: DatasetSchema
    let transaction: LocalTransaction
    let ledger: ImportLedger

    /// An entity that may be the one that stays.
    package struct Candidate: Sendable {
        package let key: EntityKey
        /// The time of its last change; the distant past if unknown.
        package let instant: Instant
        package let state: EntityState

        package init(key: EntityKey, instant: Instant, state: EntityState) { (self.key, self.instant, self.state) = (key, instant, state) }

        package func wins(over other: Candidate) -> Bool {
            (instant, state.filledCount, state.hash) > (other.instant, other.state.filledCount, other.state.hash)
        }
    }

    /// Writes the database's own rows to a file before a version is applied. Call it before anything is changed.
    func keepCopy(besides version: Int) throws {
        let rows = try ownRows()
        // With one own row and none in the version, nothing can be lost.
        guard !rows.isEmpty, rows.count + version > 1 else { return }
        for key in rows.keys.sorted() { try ledger.copy(key, of: schema, in: transaction) }
    }

    /// Deletes all rows but one. Call it after the version is applied.
    func keepOne() throws {
        let rows = try ownRows()
        guard rows.count > 1 else { return }
        let ranked = try rows.map { key, state in
            Candidate(key: key, instant: try transaction.changeLog.instant(of: key, in: schema) ?? .distantPast, state: state)
        }
        .sorted { $0.wins(over: $1) }
        for loser in ranked.dropFirst() {
            _ = try transaction.rows.deleteEntity(loser.key, of: schema)
            let later = loser.instant == .distantPast ? ledger.now : max(ledger.now, loser.instant.advanced(byMicroseconds: 1))
            try transaction.changeLog.track(of: loser.key, in: schema, at: later)
            ledger.note(loser.key, schema, "deleted: only one may be left")
        }
    }

    private func ownRows() throws -> [EntityKey: EntityState] {
        let states = EntityStates(schema: schema)
        try transaction.rows.giveRows(of: schema, to: states)
        return states.states
    }
}
