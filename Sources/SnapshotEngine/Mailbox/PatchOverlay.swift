import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// Keeps patches that were not answered yet on top of a version that comes in, so that nothing flickers back.
///
/// What a reader shows is the version with its own messages applied to it, in the way the publisher will apply them.
struct PatchOverlay {
    let schema: DatasetSchema
    let transaction: LocalTransaction
    private let patched: [Int]

    /// Nil for a dataset of which no message changes columns by themselves.
    init?(_ schema: DatasetSchema, in transaction: LocalTransaction) {
        guard let rules = schema.messageRules, !rules.patched.isEmpty else { return nil }
        self.schema = schema
        self.transaction = transaction
        patched = rules.patched
    }

    /// What becomes of a tracked change.
    enum Decision: Sendable {
        /// The version's entity comes in as it is; the change is tracked no longer.
        case version
        /// The row stays as it is.
        case row
        /// The version's entity comes in with the patch on top.
        case overlay
    }

    /// What was told of one entity that has a tracked change.
    struct Sent: Sendable {
        /// The entry of the change itself; nil if it was made after the last comparison.
        var state: OutboxEntry.State?
        var coversAll = false
        /// The patches that wait for an answer, oldest first.
        var patches: [RowPatch] = []
        /// Patches before those whose answers may have been missed: what ``patches`` build on, and nothing by themselves unless the change's own is
        /// the last of them.
        var inDoubt: [RowPatch] = []

        /// What the columns of the version become with the patches on top.
        func outcome(on values: [Int: OwnedValue], at instant: Instant) -> (values: [Int: OwnedValue], last: RowPatch?) {
            guard !patches.isEmpty || state == .doubtful else { return (values, nil) }
            let outcome = RowPatch.outcome(of: inDoubt + patches, on: values, at: instant)
            return state == .doubtful || patches.contains { $0.id == outcome.last?.id } ? outcome : (values, nil)
        }
    }

    /// What was told of entities that have tracked changes.
    func sent(of keys: some Sequence<EntityKey>) throws -> [EntityKey: Sent] {
        guard try transaction.mailbox.exist() else { return [:] }
        return try group(keys.flatMap { try transaction.outbox.sentChanges(of: $0, in: schema) })
    }

    private func group(_ entries: [SentChange]) throws -> [EntityKey: Sent] {
        var sent: [EntityKey: Sent] = [:]
        for entry in entries {
            var one = sent[entry.key] ?? Sent()
            if entry.isCurrent { (one.state, one.coversAll) = (entry.state, entry.coversAll) }
            if let body = entry.body, [.stored, .sent, .doubtful].contains(entry.state) {
                let message = try StrictJSON.decode(SyncUpdateMessage.self, from: body)
                let place = entry.state == .doubtful ? \Sent.inDoubt : \Sent.patches
                // One of columns that are not described any longer is nothing here; the publisher answers it.
                if let patch = try? RowPatch(message, schema) { one[keyPath: place].append(patch) }
            }
            sent[entry.key] = one
        }
        return sent
    }

    /// A sink that keeps of a version's block what ``decide(_:over:at:_:wins:)`` looks at.
    func copies(of keys: some Collection<EntityKey>) -> EntityCopies {
        let wanted = Set(keys)
        return EntityCopies(schema: schema, masking: patched) { wanted.contains($0) }
    }

    /// Decides about one change.
    ///
    /// - Parameters:
    ///   - entity: the version's; nil if it has none of that key.
    ///   - instant: the entity's.
    ///   - wins: whether the change as a whole is later than what the version says.
    func decide(_ sent: Sent, over entity: EntityCopy?, at instant: Instant, _ change: TrackedChange, wins: Bool) -> Decision {
        let isMark = sent.coversAll && !change.isDeletion
        // In doubt it is told again, unless the version has something later.
        if isMark, sent.state == .doubtful, !wins { return .version }
        // The publisher had something as late when it refused the patch: of two with equal instants the one that came first stays.
        if isMark, sent.state == .refused, change.instant <= instant { return .version }
        let isCarried = isMark && [.stored, .sent, .same, .applied, .doubtful].contains(sent.state)
        // A tie is with the effect of a mark that came with more, which has not travelled.
        let isTie = sent.state == .applied && change.instant == instant && entity != nil
        // A mark alone brings no entity back, nor does it where the version that lacks it is the one that says so, or where the answer was missed.
        if isMark, entity == nil, sent.state == .refused || sent.state == .doubtful { return .version }
        if !isCarried, wins || isTie { return .row }
        guard let entity else { return .version }
        return sent.outcome(on: entity.values, at: instant).last == nil ? .version : .overlay
    }

    /// Puts the patches that were decided to be overlays on the rows that have come in.
    func applyOverlays(to keys: some Sequence<EntityKey>) throws {
        for (key, sent) in try sent(of: keys) {
            let copies = copies(of: [key])
            try transaction.rows.giveRow(key, of: schema, to: copies)
            guard let row = copies.copies[key] else { continue }
            let instant = try transaction.tombstonesAndInstants.appliedInstant(of: key, in: schema) ?? row.state.timestamp ?? .distantPast
            let (values, last) = sent.outcome(on: row.values, at: instant)
            guard let last else { continue }
            // The row's own timestamp may become the patch's; what is changed on top of both must be later than both.
            if instant != .distantPast { try transaction.tombstonesAndInstants.setPresent(key, at: instant, in: schema) }
            try transaction.rows.setValues(last.settings(values, in: schema, over: row.state.timestamp), of: key, in: schema)
        }
    }
}
