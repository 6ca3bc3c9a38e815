import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

/// Sees, after a merge, that no row lacks a parent that it needs: brings parents back, sets children aside, and lets rows return that were
/// set aside earlier, until nothing more changes.
///
/// The rule is in docs/sync.md, "UNIQUE values, rows set aside and parents that come back".
struct RowSettlement {
    let datasets: [DatasetSchema]
    let transaction: LocalTransaction
    let ledger: ImportLedger
    /// Whether what is done here is published.
    let publishes: Bool
    /// Whether a version is coming in: then its entities take the places of changes that lose.
    let isImport: Bool

    /// Each round does all that the one before made possible; what is left after so many is for the next run.
    private static let roundLimit = 64

    /// Runs inside ``ChangeTracking/importing(_:)``, after the last insertion and before ``ForeignKeyEnforcer/enforce()``.
    ///
    /// - Throws: ``SyncError`` with `.needsWholeVersion` where an entity of the version is needed that this import does not read.
    func run() throws {
        for _ in 0..<Self.roundLimit {
            var hasChanged = try resolveParents()
            hasChanged = try SetAsideReturn(datasets: datasets, transaction: transaction, ledger: ledger, publishes: publishes).run() || hasChanged
            guard hasChanged else { break }
        }
        try ledger.parents?.end()
    }

    private func resolveParents() throws -> Bool {
        guard let outcome = try ledger.parents?.resolve(now: ledger.now, setAside: { try ledger.setAside($0, in: transaction) }) else { return false }
        for (schema, key) in outcome.revived { ledger.note(key, schema, "revived, for what refers to them is still here") }
        for schema in datasets {
            let lost = outcome.setAside.filter { $0.schema.name == schema.name }
            guard !lost.isEmpty else { continue }
            guard isImport else {
                // The deletion takes the row out of the version, too; any later edit of it wins over that.
                for one in lost { try transaction.changeLog.track(of: one.key, in: schema, at: one.instant.forTombstone) }
                continue
            }
            guard let lookup = ledger.lookups[schema.name] else {
                if lost.allSatisfy({ $0.isInVersion == false }) { continue }
                throw SyncError(
                    .needsWholeVersion, step: .apply, at: schema.name, "the version's entities are needed in the places of rows that were set aside")
            }
            try lookup.insertEntities(of: lost.map(\.key), transaction)
        }
        return outcome.hasChanged
    }
}

extension SyncError.Code {
    /// An import of change assets alone cannot go on: single entities of the version are needed. The whole version is read then.
    static let needsWholeVersion = SyncError.Code(name: "needsWholeVersion")
}
