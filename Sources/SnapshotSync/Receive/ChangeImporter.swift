import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// Makes a table that is one version the next one, by what a commit changed: delete-then-insert of those entities alone.
///
/// Where an entity was changed here as well, last write wins, as in an import of the whole.
struct ChangeImporter {
    let schema: DatasetSchema
    let transaction: LocalTransaction

    /// Applies one commit's changes.
    ///
    /// - Returns: by how much the number of entities grew; nil if that cannot be told, for some of them were changed here, too.
    func apply(_ changes: ChangeSet) throws -> Int? {
        for key in changes.entityKeys { try transaction.setPresent(key, at: changes.instants[key], in: schema) }
        for deletion in changes.deletions { try transaction.setDeleted(deletion.key, at: deletion.instant, in: schema) }
        let (kept, contested) = try decide(changes)

        var growth = 0
        // All of them before the first insertion: a value of a UNIQUE column may move from one entity to another.
        for key in changes.keys where !kept.contains(key) {
            if try transaction.deleteEntity(key, of: schema) { growth -= 1 }
        }
        let applier = try transaction.inserting(into: schema)
        try changes.entities.give(to: kept.isEmpty ? applier : SparingSink(applier, keyIndex: schema.keyIndex, sparing: kept))
        growth += applier.count
        return contested == 0 ? growth : nil
    }

    /// Decides between the changes that were made here and the version's: the keys whose rows stay, and how many were contested.
    private func decide(_ changes: ChangeSet) throws -> (kept: Set<EntityKey>, contested: Int) {
        guard try transaction.hasTrackedChanges(of: schema) else { return ([], 0) }
        let tracked = try changes.keys.compactMap { try transaction.trackedChange(of: $0, in: schema) }
        guard !tracked.isEmpty else { return ([], 0) }
        let wanted = Set(tracked.map(\.key))
        let version = EntityStates(schema: schema) { wanted.contains($0) }
        try changes.entities.give(to: version)
        let merge = BlockMerge(schema: schema, transaction: transaction)
        var kept: Set<EntityKey> = []
        for change in tracked {
            let state = version.states[change.key]
            if try merge.wins(change, over: state) {
                kept.insert(change.key)
                try transaction.outlive(of: change.key, in: schema, isNew: state == nil)
            } else {
                try transaction.forgetChange(of: change.key, in: schema)
            }
        }
        return (kept, tracked.count)
    }
}
