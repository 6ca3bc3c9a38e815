package import LocalStore
package import SnapshotFormat
package import SnapshotModel
import SnapshotVersions
package import StrictText

/// Decides, entity by entity, between the changes that were made here and a version: last write wins.
///
/// The greater of (instant, deletion over edit, SHA-256 of the canonical entity) wins, whoever syncs first. A change of an
/// entity that the version knows nothing of stays, whatever its instant: what was made offline never vanishes. Where a patch
/// was told and not answered yet, it comes on top of what wins.
package struct BlockMerge {
    let schema: DatasetSchema
    let transaction: LocalTransaction
    var rule = MergeRule.ordinary
    /// The time of the asset that the version's entities are in: none of them counts as later. Nil for no limit.
    var latest: Instant?
    /// Whether the version's entities and tombstones are only those that changed since the version that was applied here.
    var isDifference = false
    /// Where entities go that cannot stay; nil for who only asks which side wins.
    var ledger: ImportLedger?
    /// The columns that the version knows nothing of: what a row has there is not lost with the row.
    var missing: [Int] = []
    /// The columns that the rows have not got from any version yet: a value there gives way to the version's.
    var unseen: [Int] = []

    package init(
        schema: DatasetSchema, transaction: LocalTransaction, rule: MergeRule = .ordinary, latest: Instant? = nil, isDifference: Bool = false,
        ledger: ImportLedger? = nil, missing: [Int] = [], unseen: [Int] = []
    ) {
        self.schema = schema
        self.transaction = transaction
        self.rule = rule
        self.latest = latest
        self.isDifference = isDifference
        self.ledger = ledger
        self.missing = missing
        self.unseen = unseen
    }

    private enum Verdict {
        case stays, goes, tooOld
        /// The change is a patch, which comes on the version's entity.
        case overlaid
        /// A patch comes on the version's entity; the rest of the change goes.
        case reduced

        /// Whether the version's side is later than the change, or than more of it than its patch.
        var loses: Bool { self == .goes || self == .reduced }
    }

    /// What became of some changes.
    struct Decided {
        /// The changes whose rows stay, each with whether the version has the entity.
        var kept: [(key: EntityKey, isInVersion: Bool)] = []
        /// Those of which a patch comes on the version's entity.
        var overlaid: [(key: EntityKey, isInVersion: Bool)] = []
        /// Those that go, for the version has them or has something later.
        var lost: [EntityKey] = []
    }

    /// Marks the changes in a range of keys that win over the version's block there (nil: no entities).
    func decide(_ block: EntityBlock?, in range: KeyRange) throws {
        let decided = try decide(try transaction.changeLog.changes(of: schema, in: range), block)
        for change in decided.kept { try transaction.merge.keep(of: change.key, in: schema) }
        for change in decided.overlaid { try transaction.merge.overlay(of: change.key, in: schema) }
    }

    /// Decides between changes and the version's entities among them.
    ///
    /// - Parameter block: holds the version's entities of these keys; nil if it has none.
    func decide(_ changes: [TrackedChange], _ block: EntityBlock?) throws -> Decided {
        let wanted = Set(changes.map(\.key))
        let version = EntityStates(schema: schema) { wanted.contains($0) }
        try block?.give(to: version)
        let verdicts = try verdicts(changes, version.states, block)
        try recordConflicts(changes, verdicts, version.states, block)
        try endTies(changes, verdicts, version.states)
        var decided = Decided(), deleted: Set<EntityKey> = []
        for (change, verdict) in zip(changes, verdicts) {
            let entity = version.states[change.key]
            switch verdict {
            case .stays:
                decided.kept.append((change.key, entity != nil))
                if change.isDeletion, entity != nil { deleted.insert(change.key) }
            case .overlaid, .reduced: decided.overlaid.append((change.key, entity != nil))
            case .goes:
                decided.lost.append(change.key)
                if rule.keepsCopy, !change.isDeletion, try isOther(change.key, than: entity, block) {
                    try ledger?.copy(change.key, of: schema, in: transaction)
                }
            case .tooOld:
                decided.lost.append(change.key)
                try ledger?.setAside(
                    DisplacedRow(schema: schema, key: change.key, reason: .tooOld, instant: change.instant, displacedAt: nil) {
                        try transaction.rows.giveRow(change.key, of: schema, to: $0)
                    },
                    in: transaction)
            }
        }
        // What is deleted here may turn out to be needed by the version's children.
        if !deleted.isEmpty, let parents = ledger?.parents, parents.wantsLastRows(of: schema) {
            for key in deleted { try parents.keepLastRow(key, of: schema) { try block?.give(to: FilteringSink($0, schema) { $0 == key }) } }
        }
        return decided
    }

    /// Writes what loses to the conflict journal. What a first import takes out is in a kept copy already.
    private func recordConflicts(_ changes: [TrackedChange], _ verdicts: [Verdict], _ version: [EntityKey: EntityState], _ block: EntityBlock?) throws {
        guard let ledger else { return }
        var contested: [ContestedChange] = []
        for (change, verdict) in zip(changes, verdicts) where verdict.loses || verdict == .stays {
            // Values of columns that the version does not describe are put back, whichever side wins.
            if change.isCarried, !missing.isEmpty { continue }
            let entity = version[change.key]
            let instant = try entity.map { try self.instant(of: $0, change.key) } ?? transaction.tombstonesAndInstants.tombstone(of: change.key, in: schema)
            if rule.keepsCopy, try verdict.loses || cloudWins(over: change) { continue }
            // What loses to a reader's change here is the publisher's to record, once the change has come there.
            if verdict == .stays, !ledger.publishes { continue }
            let isRefused = try verdict.loses && change.isDeletion && entity != nil && transaction.outbox.isRefused(change.key, in: schema)
            // The publisher took the change; what the version has now was made on top of it.
            if verdict == .goes, !isRefused, try isAnswered(change, over: entity) { continue }
            guard
                var one = ContestedChange(change, stays: verdict == .stays, entity: entity != nil, at: instant, hasChanged: isDifference, isRefused: isRefused)
            else { continue }
            one.isMarkKept = verdict == .reduced
            contested.append(one)
            // From here on the change is one that was made with the version's before it.
            if verdict == .stays { try transaction.merge.setBase(one.versionInstant, of: change.key, in: schema) }
        }
        try ConflictRecorder(schema: schema, transaction: transaction, ledger: ledger, missing: missing, unseen: unseen).record(contested, block)
    }

    /// Gives each edit that wins a tie an instant later than the version's, as if it had been made on top of it.
    ///
    /// What a publisher publishes is always later than what it replaces. Otherwise a device with a later edit could not tell the version's edit
    /// from the one that its own was made on, and would not keep it as a conflict. A reader's edit has its instant from the publisher.
    private func endTies(_ changes: [TrackedChange], _ verdicts: [Verdict], _ version: [EntityKey: EntityState]) throws {
        guard let ledger, ledger.publishes else { return }
        // What a rule made, or nobody edited, keeps the instant that it has from the row.
        for (change, verdict) in zip(changes, verdicts) where verdict == .stays && change.base != change.instant && !change.isCarried {
            guard let entity = version[change.key], try instant(of: entity, change.key) == change.instant else { continue }
            try transaction.changeLog.track(
                of: change.key, in: schema, at: change.instant.advanced(byMicroseconds: 1), joining: .continuing(base: change.instant))
            try transaction.merge.setBase(change.instant, of: change.key, in: schema)
        }
    }

    /// Marks the edits in a range of keys, where the rows are the version's entities, whose instants are later than theirs.
    ///
    /// Where the cloud wins over every row there is none, but for edits that waited for `init`: a row that equals the cloud's is the cloud's, whatever
    /// its timestamp says.
    func keepLater(in range: KeyRange) throws {
        guard !rule.cloudWins || rule.hasDetachedChanges else { return }
        for change in try transaction.changeLog.changes(of: schema, in: range) where try !change.isDeletion && !cloudWins(over: change) {
            try keepIfLater(change)
        }
    }

    /// Marks an edit whose row is the version's entity, if its instant is later than that.
    func keepIfLater(_ change: TrackedChange) throws {
        let instant = try transaction.tombstonesAndInstants.appliedInstant(of: change.key, in: schema) ?? limited(state(of: change.key)?.timestamp)
        if change.instant > instant { try transaction.merge.keep(of: change.key, in: schema) }
    }

    /// Inserts a block's entities, except those whose changes were kept.
    func insert(_ block: EntityBlock, of range: KeyRange, through applier: EntityApplier) throws {
        let kept = Set(try transaction.changeLog.changes(of: schema, in: range, onlyKept: true).map(\.key))
        try block.give(to: kept.isEmpty ? applier : FilteringSink(applier, schema) { !kept.contains($0) })
    }

    /// Whether a change that was made here wins over what the version has of the entity (nil: nothing).
    package func wins(_ change: TrackedChange, over entity: EntityState?) throws -> Bool { try verdict(change, over: entity) == .stays }

    private func verdicts(_ changes: [TrackedChange], _ version: [EntityKey: EntityState], _ block: EntityBlock?) throws -> [Verdict] {
        let verdicts = try changes.map { try isAnswered($0, over: version[$0.key]) ? .goes : verdict($0, over: version[$0.key]) }
        guard !rule.cloudWins, let overlay = PatchOverlay(schema, in: transaction) else { return verdicts }
        let sent = try overlay.sent(of: changes.map(\.key))
        guard !sent.isEmpty else { return verdicts }
        let marked = overlay.copies(of: sent.keys)
        try block?.give(to: marked)
        return try zip(changes, verdicts).map { change, verdict in
            guard verdict != .tooOld, let one = sent[change.key] else { return verdict }
            let instant = try version[change.key].map { try self.instant(of: $0, change.key) } ?? Instant.distantPast
            switch overlay.decide(one, over: marked.copies[change.key], at: instant, change, wins: verdict == .stays) {
            case .version: return .goes
            case .row: return .stays
            case .overlay: return one.coversAll && !change.isDeletion ? .overlaid : .reduced
            }
        }
    }

    /// Whether the publisher has answered all of a change: it was applied, or a deletion was refused, for what still points at the entity is
    /// there, and the reader that deleted it takes it back.
    private func isAnswered(_ change: TrackedChange, over entity: EntityState?) throws -> Bool {
        guard !rule.cloudWins else { return false }
        // What a commit says was applied is in the version, with whatever instant the publisher gave it.
        return try change.isDeletion && entity != nil && transaction.outbox.isRefused(change.key, in: schema)
            || transaction.outbox.isApplied(change.key, in: schema)
    }

    private func verdict(_ change: TrackedChange, over entity: EntityState?) throws -> Verdict {
        if entity != nil, change.isCarried, !unseen.isEmpty { return .goes }
        if let entity { return try !cloudWins(over: change) && isGreater(change, than: entity) ? .stays : .goes }
        if let deleted = try transaction.tombstonesAndInstants.tombstone(of: change.key, in: schema) {
            return try !cloudWins(over: change) && change.instant > deleted ? .stays : .goes
        }
        if let horizon = rule.horizon, !change.isDeletion, change.instant <= horizon, !change.isNew { return .tooOld }
        return .stays
    }

    /// Whether the version wins whatever the instants say. An edit that waited for `init` since `detach` was made on a version of this zone.
    private func cloudWins(over change: TrackedChange) throws -> Bool {
        try rule.cloudWins && !(rule.hasDetachedChanges && transaction.detachedChanges.contains(change.key, of: schema))
    }

    /// Whether a row and the version's entity differ in a column that the version knows.
    private func isOther(_ key: EntityKey, than entity: EntityState?, _ block: EntityBlock?) throws -> Bool {
        guard !missing.isEmpty, entity != nil else { return try state(of: key)?.hash != entity?.hash }
        let here = EntityCopies(schema: schema, masking: missing), there = EntityCopies(schema: schema, masking: missing) { $0 == key }
        try transaction.rows.giveRow(key, of: schema, to: here)
        try block?.give(to: there)
        return here.copies[key]?.rest != there.copies[key]?.rest
    }

    private func isGreater(_ change: TrackedChange, than entity: EntityState) throws -> Bool {
        let instant = try instant(of: entity, change.key)
        if change.instant != instant { return change.instant > instant }
        if change.isDeletion { return true }
        // All equal: the same change, which need not be tracked any longer.
        guard let here = try state(of: change.key) else { return false }
        if rule.prefersFuller, here.filledCount != entity.filledCount { return here.filledCount > entity.filledCount }
        return here.hash > entity.hash
    }

    private func instant(of entity: EntityState, _ key: EntityKey) throws -> Instant {
        try transaction.tombstonesAndInstants.appliedInstant(of: key, in: schema) ?? limited(entity.timestamp)
    }

    private func limited(_ timestamp: Instant?) -> Instant {
        guard let timestamp else { return .distantPast }
        return latest.map { min(timestamp, $0) } ?? timestamp
    }

    private func state(of key: EntityKey) throws -> EntityState? {
        let here = EntityStates(schema: schema)
        try transaction.rows.giveRow(key, of: schema, to: here)
        return here.states[key]
    }
}
