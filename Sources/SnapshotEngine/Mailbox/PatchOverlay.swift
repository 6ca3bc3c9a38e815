import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// Keeps unanswered patches on top of an imported version, so that no value flickers back.
///
/// A reader shows the version with its own messages applied to it, in the way the publisher will apply them.
struct PatchOverlay {
    let schema: DatasetSchema
    let transaction: LocalTransaction
    private let patched: [Int]

    /// Nil for a dataset without patched columns.
    init?(_ schema: DatasetSchema, in transaction: LocalTransaction) {
        guard let rules = schema.messageRules, !rules.patched.isEmpty else { return nil }
        self.schema = schema
        self.transaction = transaction
        patched = rules.patched
    }

    /// The decision about a tracked change.
    enum Decision: Sendable {
        /// Insert the version's entity; the change is no longer tracked.
        case version
        /// Keep the row as it is.
        case row
        /// Insert the version's entity with the patch on top.
        case overlay
    }

    /// The messages about an entity with a tracked change.
    struct Sent: Sendable {
        /// The state of the change's own message; nil if the change was made after the last comparison.
        var state: OutboxEntry.State?
        var coversAll = false
        /// The patches that wait for an answer, oldest first.
        var patches: [RowPatch] = []
        /// Earlier patches whose answers may have been missed. ``patches`` build on them. On their own they count only if the last of them is the
        /// change's own.
        var inDoubt: [RowPatch] = []

        /// Returns the version's columns with the patches applied.
        func outcome(on values: [Int: OwnedValue], at instant: Instant) -> (values: [Int: OwnedValue], last: RowPatch?) {
            guard !patches.isEmpty || state == .doubtful else { return (values, nil) }
            let outcome = RowPatch.outcome(of: inDoubt + patches, on: values, at: instant)
            return state == .doubtful || patches.contains { $0.id == outcome.last?.id } ? outcome : (values, nil)
        }
    }

    /// Returns the messages about entities that have tracked changes.
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
                // If the message patches a column that is no longer described, ignore it here; the publisher answers it.
                if let patch = try? RowPatch(message, schema) { one[keyPath: place].append(patch) }
            }
            sent[entry.key] = one
        }
        return sent
    }

    /// Returns a sink that keeps the parts of a version's block that ``decide(_:over:at:_:wins:)`` compares.
    func copies(of keys: some Collection<EntityKey>) -> EntityCopies {
        let wanted = Set(keys)
        return EntityCopies(schema: schema, masking: patched) { wanted.contains($0) }
    }

    /// Decides about one change.
    ///
    /// - Parameters:
    ///   - entity: the version's entity; nil if it has none with that key.
    ///   - instant: the entity's instant.
    ///   - wins: whether the change as a whole is later than the version.
    func decide(_ sent: Sent, over entity: EntityCopy?, at instant: Instant, _ change: TrackedChange, wins: Bool) -> Decision {
        let isMark = sent.coversAll && !change.isDeletion
        // If the answer may have been missed, the patch is sent again, unless the version has something later.
        if isMark, sent.state == .doubtful, !wins { return .version }
        // The publisher had an equally late or later state when it refused the patch. With equal instants the first one stays.
        if isMark, sent.state == .refused, change.instant <= instant { return .version }
        let isCarried = isMark && [.stored, .sent, .same, .applied, .doubtful].contains(sent.state)
        // The equal instant comes from a mark that was made together with other changes, which were not sent.
        let isTie = sent.state == .applied && change.instant == instant && entity != nil
        // A refused mark, or one whose answer may have been missed, does not bring back an entity that the version lacks.
        if isMark, entity == nil, sent.state == .refused || sent.state == .doubtful { return .version }
        if !isCarried, wins || isTie { return .row }
        guard let entity else { return .version }
        return sent.outcome(on: entity.values, at: instant).last == nil ? .version : .overlay
    }

    /// Applies the patches that were decided to be overlays to the rows of the version.
    func applyOverlays(to keys: some Sequence<EntityKey>) throws {
        for (key, sent) in try sent(of: keys) {
            let copies = copies(of: [key])
            try transaction.rows.giveRow(key, of: schema, to: copies)
            guard let row = copies.copies[key] else { continue }
            let instant = try transaction.tombstonesAndInstants.appliedInstant(of: key, in: schema) ?? row.state.timestamp ?? .distantPast
            let (values, last) = sent.outcome(on: row.values, at: instant)
            guard let last else { continue }
            do {
                try transaction.undoingOnError {
                    // The row's timestamp may become the patch's. A change on top of both must be later than both, so store the entity's instant.
                    if instant != .distantPast { try transaction.tombstonesAndInstants.setPresent(key, at: instant, in: schema) }
                    try transaction.rows.setValues(last.settings(values, in: schema, over: row), of: key, in: schema)
                }
            } catch let error as LocalStoreError where error.code == .badRow {
                // Another row of the version has the UNIQUE value. It keeps it; the publisher refuses the message if it still does then.
            }
        }
    }
}
