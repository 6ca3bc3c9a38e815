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

    /// Marks the changes in a range of keys that win over the version's block there (nil: no entities).
    func decide(_ block: EntityBlock?, in range: KeyRange) throws {
        let changes = try transaction.trackedChanges(of: schema, in: range)
        let wanted = Set(changes.map(\.key))
        let version = EntityStates(schema: schema) { wanted.contains($0) }
        try block?.give(to: version)
        for (change, decision) in try decide(changes, over: version.states, giving: { try block?.give(to: $0) }) {
            switch decision {
            case .version: continue
            case .row: try transaction.keepChange(of: change.key, in: schema)
            case .overlay: try transaction.overlayChange(of: change.key, in: schema)
            }
        }
    }

    /// What becomes of each change, given what the version has of their entities.
    ///
    /// - Parameter give: gives the version's entities, those of other keys, too, to a sink that looks at more of them.
    func decide(
        _ changes: [TrackedChange], over version: [EntityKey: EntityState], giving give: (any EntitySink) throws -> Void
    ) throws -> [(TrackedChange, ReadMarks.Decision)] {
        let readMarks = ReadMarks(schema, in: transaction)
        let told = try readMarks?.told(of: changes.map(\.key)) ?? [:]
        let marked = readMarks?.copies(of: told.keys)
        if let marked, !told.isEmpty { try give(marked) }
        return try changes.map { change in
            let entity = version[change.key], wins = try wins(change, over: entity)
            guard let readMarks, let one = told[change.key] else { return (change, wins ? .row : .version) }
            let instant = try entity.map { try self.instant(of: $0, change.key) } ?? Instant.distantPast
            return (change, readMarks.decide(one, over: marked?.copies[change.key], at: instant, change, wins: wins))
        }
    }

    private func instant(of entity: EntityState, _ key: EntityKey) throws -> Instant {
        try transaction.appliedInstant(of: key, in: schema) ?? entity.timestamp ?? .distantPast
    }

    /// Marks the edits in a range of keys, where the rows are the version's entities, whose instants are later than theirs.
    func keepLater(in range: KeyRange) throws {
        for change in try transaction.trackedChanges(of: schema, in: range) where !change.isDeletion {
            let row = EntityStates(schema: schema)
            try transaction.giveRow(change.key, of: schema, to: row)
            let instant = try transaction.appliedInstant(of: change.key, in: schema) ?? row.states[change.key]?.timestamp ?? .distantPast
            if change.instant > instant { try transaction.keepChange(of: change.key, in: schema) }
        }
    }

    /// Inserts a block's entities, except those whose changes were kept.
    func insert(_ block: EntityBlock, of range: KeyRange, through applier: EntityApplier) throws {
        let kept = Set(try transaction.trackedChanges(of: schema, in: range, onlyKept: true).map(\.key))
        try block.give(to: kept.isEmpty ? applier : SparingSink(applier, keyIndex: schema.keyIndex, sparing: kept))
    }

    /// Whether a change that was made here wins over what the version has of the entity (nil: nothing).
    func wins(_ change: TrackedChange, over entity: EntityState?) throws -> Bool {
        if let entity {
            let instant = try instant(of: entity, change.key)
            if change.instant != instant { return change.instant > instant }
            if change.isDeletion { return true }
            let here = EntityStates(schema: schema)
            try transaction.giveRow(change.key, of: schema, to: here)
            // All equal: the same change, which need not be tracked any longer.
            return here.states[change.key].map { $0.hash > entity.hash } ?? false
        }
        if let deleted = try transaction.tombstone(of: change.key, in: schema) { return change.instant > deleted }
        return true
    }
}
