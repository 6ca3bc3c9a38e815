import LocalStore
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Applies one commit's changes to a table that equals the version before: deletes and inserts only the changed entities.
///
/// If an entity was also changed locally, last write wins, as in an import of the whole version.
struct ChangeImporter {
    let schema: DatasetSchema
    let transaction: LocalTransaction
    let rule: MergeRule
    let ledger: ImportLedger
    /// Looks up entities of the version, including this commit's changes; nil if only change assets are read.
    let lookup: VersionLookup?
    /// The columns that the version does not have.
    var missing: [Int] = []

    /// Applies one commit's changes.
    ///
    /// - Returns: the growth of the number of entities; nil if unknown because some of them were also changed locally.
    func apply(_ changes: ChangeSet) throws -> Int? {
        // No instant in an asset counts as later than the asset's timestamp.
        let latest = changes.syncTimestamp, late = LateTimestamps(schema: schema, after: latest)
        if let late { try changes.entities.give(to: late) }
        for key in changes.entityKeys {
            let instant = changes.instants[key]?.row ?? (late?.keys.contains(key) == true ? latest : nil)
            try transaction.tombstonesAndInstants.setPresent(key, at: instant, in: schema)
        }
        for deletion in changes.deletions { try transaction.tombstonesAndInstants.setDeleted(deletion.key, at: deletion.instant, in: schema) }
        let (kept, overlaid, contested) = try decide(changes)

        var growth = 0
        // Delete all before the first insertion: a UNIQUE value may move from one entity to another.
        for key in changes.keys where !kept.contains(key) {
            if try transaction.rows.deleteEntity(key, of: schema) { growth -= 1 }
        }
        let (count, hasClashed) = try insert(changes, sparing: kept)
        growth += count
        if !overlaid.isEmpty { try PatchOverlay(schema, in: transaction)?.applyOverlays(to: overlaid) }
        return contested == 0 && !hasClashed ? growth : nil
    }

    /// Decides between local changes and the version's. Returns the keys whose rows stay, the keys whose new rows get a patch on top, and the
    /// number of contested keys.
    private func decide(_ changes: ChangeSet) throws -> (kept: Set<EntityKey>, overlaid: Set<EntityKey>, contested: Int) {
        guard try transaction.changeLog.hasChanges(of: schema) else { return ([], [], 0) }
        let tracked = try changes.keys.compactMap { try transaction.changeLog.change(of: $0, in: schema) }
        guard !tracked.isEmpty else { return ([], [], 0) }
        let decided = try BlockMerge(
            schema: schema, transaction: transaction, rule: rule, latest: changes.syncTimestamp, isDifference: true, ledger: ledger, missing: missing
        ).decide(tracked, changes.entities)
        for one in decided.overlaid { try transaction.outbox.recordFullyCarried(one.key, in: schema) }
        for one in decided.kept + decided.overlaid { try transaction.merge.outlive(of: one.key, in: schema, isNew: !one.isInVersion) }
        for key in decided.lost { try transaction.changeLog.forget(of: key, in: schema) }
        return (Set(decided.kept.map(\.key)), Set(decided.overlaid.map(\.key)), tracked.count)
    }

    /// Inserts the entities. If an entity and a locally changed row hold the same UNIQUE value, the later one keeps it.
    private func insert(_ changes: ChangeSet, sparing kept: Set<EntityKey>) throws -> (count: Int, hasClashed: Bool) {
        var count = 0
        func give(_ duplicates: DuplicateValues?) throws {
            let applier = try transaction.rows.inserting(into: schema)
            applier.duplicates = duplicates
            try changes.entities.give(to: kept.isEmpty ? applier : FilteringSink(applier, schema) { !kept.contains($0) })
            count = applier.count
        }
        func giveAll() throws -> Bool {
            let duplicates = try ledger.duplicates(of: schema, in: transaction)
            try give(duplicates)
            return try duplicates?.resolve { try ledger.setAside($0, in: transaction) } ?? 0 > 0
        }
        guard try transaction.changeLog.hasChanges(of: schema), let rows = try UniqueConflictResolver(transaction, schema, versionStays: rule.versionStays)
        else {
            let hasClashed = try giveAll()
            return (count, hasClashed)
        }
        if try transaction.attempting({
            try give(nil); return true
        }) {
            return (count, false)
        }
        guard let lookup else {
            throw SyncError(.needsWholeVersion, step: .apply, at: schema.name, "rows that were changed here hold UNIQUE values of the version's")
        }
        try rows.stash(all: true)
        _ = try giveAll()
        try ledger.restore(rows, of: lookup, in: transaction)
        return (count, true)
    }
}
