package import LocalStore
package import SnapshotFormat
package import SnapshotModel
import SnapshotVersions
package import StrictText

/// Decides for each entity between a local change and a version: last write wins.
///
/// The greater of (instant, deletion over edit, SHA-256 of the canonical entity) wins, whichever device syncs first. If the version does not know
/// the entity, the local change stays, whatever its instant: an entity made offline never vanishes. A patch that was sent and not answered yet is
/// applied on top of the winner.
package struct BlockMerge {
    let schema: DatasetSchema
    let transaction: LocalTransaction
    var rule = MergeRule.ordinary
    /// The timestamp of the version's asset. No entity in it counts as later. Nil for no limit.
    var latest: Instant?
    /// Whether the version's entities and tombstones are only those that changed since the applied version.
    var isDifference = false
    /// Receives entities that cannot stay; nil if the caller only asks which side wins.
    var ledger: ImportLedger?
    /// The columns that the version does not have. A row that loses keeps its values in them.
    var missing: [Int] = []
    /// The columns that no imported version has filled yet. The version's values replace the rows' values in them.
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
        /// The change is a patch. It is applied on top of the version's entity.
        case overlaid
        /// A patch is applied on top of the version's entity; the rest of the change loses.
        case reduced

        /// Whether the version wins over the change, or over all of it but its patch.
        var loses: Bool { self == .goes || self == .reduced }
    }

    /// The decisions about some changes.
    struct Decided {
        /// The changes whose rows stay, and whether the version has the entity.
        var kept: [(key: EntityKey, isInVersion: Bool)] = []
        /// The changes whose patch is applied on top of the version's entity.
        var overlaid: [(key: EntityKey, isInVersion: Bool)] = []
        /// The changes that end, because the version has them or something later.
        var lost: [EntityKey] = []
    }

    /// Marks the changes in a key range that win over the version's block of that range (nil: no entities).
    func decide(_ block: EntityBlock?, in range: KeyRange) throws {
        let decided = try decide(try transaction.changeLog.changes(of: schema, in: range), block)
        for change in decided.kept { try transaction.merge.keep(of: change.key, in: schema, isNew: !change.isInVersion) }
        for change in decided.overlaid { try transaction.merge.overlay(of: change.key, in: schema) }
    }

    /// Decides between changes and the version's entities with the same keys.
    ///
    /// - Parameter block: the version's entities; nil if the version has none.
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
                if let entity, ledger != nil { try recordInstant(of: entity, under: change) }
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
        // A row that is deleted here may be a parent that the version's children need.
        if !deleted.isEmpty, let parents = ledger?.parents, parents.wantsLastRows(of: schema) {
            for key in deleted { try parents.keepLastRow(key, of: schema) { try block?.give(to: FilteringSink($0, schema) { $0 == key }) } }
        }
        return decided
    }

    /// Writes losing edits to the conflict journal. A first import needs no entries, because it writes losing rows to a file.
    private func recordConflicts(_ changes: [TrackedChange], _ verdicts: [Verdict], _ version: [EntityKey: EntityState], _ block: EntityBlock?) throws {
        guard let ledger else { return }
        var contested: [ContestedChange] = []
        for (change, verdict) in zip(changes, verdicts) where verdict.loses || verdict == .stays {
            // Values in columns that the version does not have are restored, whichever side wins. A default is nobody's edit.
            if change.isDefaulted || change.isCarried && !missing.isEmpty { continue }
            let entity = version[change.key]
            let instant = try entity.map { try self.instant(of: $0, change.key) } ?? transaction.tombstonesAndInstants.tombstone(of: change.key, in: schema)
            if rule.keepsCopy, try verdict.loses || cloudWins(over: change) { continue }
            // If a version's edit loses to a reader's local change, the publisher records the conflict once it has received the change.
            if verdict == .stays, !ledger.publishes { continue }
            let isRefused = try verdict.loses && change.isDeletion && entity != nil && transaction.outbox.isRefused(change.key, in: schema)
            // The publisher applied the change. The version's present state was made on top of it.
            if verdict == .goes, !isRefused, try isAnswered(change, over: entity) { continue }
            guard
                var one = ContestedChange(change, stays: verdict == .stays, entity: entity != nil, at: instant, hasChanged: isDifference, isRefused: isRefused)
            else { continue }
            one.isMarkKept = verdict == .reduced
            contested.append(one)
            // From now on the change counts as made on top of the version's state.
            if verdict == .stays { try transaction.merge.setBase(one.versionInstant, of: change.key, in: schema) }
        }
        try ConflictRecorder(schema: schema, transaction: transaction, ledger: ledger, missing: missing, unseen: unseen).record(contested, block)
    }

    /// Gives each edit that wins a tie an instant later than the version's, as if it had been made on top of the version.
    ///
    /// A published edit is always later than what it replaces. Otherwise a device with a later edit could not tell the version's edit from the
    /// edit on which its own is based, and would not record a conflict. A reader's edit gets its instant from the publisher.
    private func endTies(_ changes: [TrackedChange], _ verdicts: [Verdict], _ version: [EntityKey: EntityState]) throws {
        guard let ledger, ledger.publishes else { return }
        // A change that a rule made, or that is no edit, keeps its row's instant.
        for (change, verdict) in zip(changes, verdicts) where verdict == .stays && change.base != change.instant && !change.isCarried {
            guard let entity = version[change.key], try instant(of: entity, change.key) == change.instant else { continue }
            try transaction.changeLog.track(
                of: change.key, in: schema, at: change.instant.advanced(byMicroseconds: 1), joining: .continuing(base: change.instant))
            try transaction.merge.setBase(change.instant, of: change.key, in: schema)
        }
    }

    /// Marks local edits in a key range whose rows equal the version's entities, if their instants are later.
    ///
    /// If the cloud wins over every row, no edit is marked except those that `detach` kept for this `init`: a row that equals the cloud's counts
    /// as the cloud's, whatever its timestamp. Of those, a deletion is marked as well, because the end of such a merge forgets all others: it is
    /// of an entity that neither side has.
    func keepLater(in range: KeyRange) throws {
        guard !rule.cloudWins || rule.hasDetachedChanges else { return }
        for change in try transaction.changeLog.changes(of: schema, in: range) where try !cloudWins(over: change) {
            if !change.isDeletion {
                try keepIfLater(change)
            } else if rule.cloudWins, try wins(change, over: nil) {
                try transaction.merge.keep(of: change.key, in: schema)
            }
        }
    }

    /// Marks an edit whose row equals the version's entity, if its instant is later.
    func keepIfLater(_ change: TrackedChange) throws {
        let instant = try transaction.tombstonesAndInstants.appliedInstant(of: change.key, in: schema) ?? limited(state(of: change.key)?.timestamp)
        if change.instant > instant { try transaction.merge.keep(of: change.key, in: schema) }
    }

    /// Inserts a block's entities, except those whose local change was kept.
    func insert(_ block: EntityBlock, of range: KeyRange, through applier: EntityApplier) throws {
        let kept = Set(try transaction.changeLog.changes(of: schema, in: range, onlyKept: true).map(\.key))
        try block.give(to: kept.isEmpty ? applier : FilteringSink(applier, schema) { !kept.contains($0) })
    }

    /// Whether a local change wins over the version's entity (nil: the version has none).
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

    /// Whether the publisher has answered the whole change: it applied the change, or it refused a deletion because other rows still refer to the
    /// entity. In the second case the reader takes its deletion back.
    private func isAnswered(_ change: TrackedChange, over entity: EntityState?) throws -> Bool {
        guard !rule.cloudWins else { return false }
        // A change that a commit names as applied is in the version, possibly with another instant.
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

    /// Whether the version wins whatever the instants are. An edit that `detach` kept for this `init` was based on a version of this zone and
    /// competes normally.
    private func cloudWins(over change: TrackedChange) throws -> Bool {
        try rule.cloudWins && !(rule.hasDetachedChanges && transaction.detachedChanges.contains(change.key, of: schema))
    }

    /// Whether a row and the version's entity differ in a column that the version has.
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
        // If everything is equal, both sides made the same change, and tracking it is no longer necessary.
        guard let here = try state(of: change.key) else { return false }
        if rule.prefersFuller, here.filledCount != entity.filledCount { return here.filledCount > entity.filledCount }
        return here.hash > entity.hash
    }

    private func instant(of entity: EntityState, _ key: EntityKey) throws -> Instant {
        try transaction.tombstonesAndInstants.appliedInstant(of: key, in: schema) ?? limited(entity.timestamp)
    }

    /// Stores the instant of a version's entity whose row stays another: neither that row's own timestamp nor what its change replaced tells it.
    private func recordInstant(of entity: EntityState, under change: TrackedChange) throws {
        let instant = try instant(of: entity, change.key)
        if instant != .distantPast, instant != change.base { try transaction.tombstonesAndInstants.setPresent(change.key, at: instant, in: schema) }
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

/// How an import decides between a local change and the version, where this differs from last write wins.
package struct MergeRule: Sendable, Hashable {
    /// Last write wins.
    package static let ordinary = MergeRule()

    /// Whether any entity or tombstone of the version beats a local change: at a first import with the policy `replace`.
    var cloudWins = false
    /// Whether the version's row keeps a UNIQUE value that a locally changed row holds as well, whatever their instants: also at a reader.
    var versionStays = false
    /// Whether among equally late entities the one with more filled columns wins: the policy `single`.
    var prefersFuller = false
    /// Whether losing rows are written to a file: at a first import.
    var keepsCopy = false
    /// Whether changes that `detach` kept for this `init` are decided by last write wins, despite ``cloudWins``.
    var hasDetachedChanges = false
    /// The instant up to which the cloud no longer knows deletions. An older change does not bring back an entity that the cloud lacks.
    var horizon: Instant?
}
