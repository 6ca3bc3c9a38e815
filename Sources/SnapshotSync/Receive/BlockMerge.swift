import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// Decides, entity by entity, between the changes that were made here and a version: last write wins.
///
/// The greater of (instant, deletion over edit, SHA-256 of the canonical entity) wins, whoever syncs first. A change of an
/// entity that the version knows nothing of stays, whatever its instant: what was made offline never vanishes.
struct BlockMerge {
    let schema: DatasetSchema
    let transaction: LocalTransaction
    let rule: MergeRule
    let ledger: ImportLedger

    private enum Verdict { case stays, goes, tooOld }

    /// Marks the changes in a range of keys that win over the version's block there (nil: no entities).
    func decide(_ block: EntityBlock?, in range: KeyRange) throws {
        for change in try decide(try transaction.trackedChanges(of: schema, in: range), block).kept { try transaction.keepChange(of: change.key, in: schema) }
    }

    /// Decides between changes and the version's entities among them.
    ///
    /// - Parameter block: holds the version's entities of these keys; nil if it has none.
    /// - Returns: the changes that stay, each with whether the version has the entity, and those that go.
    func decide(_ changes: [TrackedChange], _ block: EntityBlock?) throws -> (kept: [(key: EntityKey, isInVersion: Bool)], lost: [EntityKey]) {
        let wanted = Set(changes.map(\.key))
        let version = EntityStates(schema: schema) { wanted.contains($0) }
        try block?.give(to: version)
        var kept: [(key: EntityKey, isInVersion: Bool)] = [], lost: [EntityKey] = [], deleted: Set<EntityKey> = []
        for change in changes {
            let entity = version.states[change.key]
            switch try verdict(change, over: entity) {
            case .stays:
                kept.append((change.key, entity != nil))
                if change.isDeletion, entity != nil { deleted.insert(change.key) }
            case .goes:
                lost.append(change.key)
                if rule.keepsCopy, !change.isDeletion, try state(of: change.key)?.hash != entity?.hash { try ledger.copy(change.key, of: schema, in: transaction) }
            case .tooOld:
                lost.append(change.key)
                try ledger.setAside(
                    DisplacedRow(schema: schema, key: change.key, reason: .tooOld, instant: change.instant, displacedAt: nil) { try transaction.giveRow(change.key, of: schema, to: $0) },
                    in: transaction)
            }
        }
        // What is deleted here may turn out to be needed by the version's children.
        if !deleted.isEmpty, let parents = ledger.parents, parents.wantsLastRows(of: schema) {
            for key in deleted { try parents.keepLastRow(key, of: schema) { try block?.give(to: FilterSink($0, schema) { $0 == key }) } }
        }
        return (kept, lost)
    }

    /// Inserts a block's entities, except those whose changes were kept.
    func insert(_ block: EntityBlock, of range: KeyRange, through applier: EntityApplier) throws {
        let kept = Set(try transaction.trackedChanges(of: schema, in: range, onlyKept: true).map(\.key))
        try block.give(to: kept.isEmpty ? applier : SparingSink(applier, keyIndex: schema.keyIndex, sparing: kept))
    }

    private func verdict(_ change: TrackedChange, over entity: EntityState?) throws -> Verdict {
        if let entity { return try !rule.cloudWins && wins(change, over: entity) ? .stays : .goes }
        if let deleted = try transaction.tombstone(of: change.key, in: schema) { return !rule.cloudWins && change.instant > deleted ? .stays : .goes }
        if let horizon = rule.horizon, !change.isDeletion, change.instant <= horizon, !change.isNew { return .tooOld }
        return .stays
    }

    private func wins(_ change: TrackedChange, over entity: EntityState) throws -> Bool {
        let instant = try transaction.appliedInstant(of: change.key, in: schema) ?? entity.timestamp ?? .distantPast
        if change.instant != instant { return change.instant > instant }
        if change.isDeletion { return true }
        // All equal: the same change, which need not be tracked any longer.
        guard let here = try state(of: change.key) else { return false }
        if rule.prefersFuller, here.filledCount != entity.filledCount { return here.filledCount > entity.filledCount }
        return here.hash > entity.hash
    }

    private func state(of key: EntityKey) throws -> EntityState? {
        let here = EntityStates(schema: schema)
        try transaction.giveRow(key, of: schema, to: here)
        return here.states[key]
    }
}
