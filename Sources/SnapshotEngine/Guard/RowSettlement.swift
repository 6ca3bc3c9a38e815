import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

/// Ensures after a merge that no row lacks a parent that it needs. It revives parents, sets children aside and returns rows that were set aside
/// earlier, until nothing changes any more.
///
/// The rule is in docs/sync.md, "UNIQUE values, rows set aside and parents that come back".
struct RowSettlement {
    let datasets: [DatasetSchema]
    let transaction: LocalTransaction
    let ledger: ImportLedger
    /// Whether this device publishes the changes that are made here.
    let publishes: Bool
    /// Whether a version is being applied. If so, the version's entities replace changes that lose.
    let isImport: Bool

    /// The maximum number of rounds: each round can make new changes possible. The next run does what is left.
    private static let roundLimit = 64

    /// Runs inside ``ChangeTracking/importing(_:)``, after the last insertion and before ``ForeignKeyEnforcer/enforce()``.
    ///
    /// - Throws: ``SyncError`` with `.needsWholeVersion` if the merge needs an entity of the version that this import does not read.
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
                // The published deletion also removes the row from the version. Any later edit of the row wins over it.
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
    /// An import of change assets needs single entities of the version, which change assets do not have. The caller reads the whole version
    /// instead.
    static let needsWholeVersion = SyncError.Code(name: "needsWholeVersion")
}
