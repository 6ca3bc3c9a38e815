import CloudStore
import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// Writes to a publisher's conflict journal the edits that lose to a reader's message, and the edits in messages that are refused.
///
/// Used within one transaction.
final class MessageConflicts {
    /// The number of entries written.
    private(set) var count = LostEdits()
    private let transaction: LocalTransaction
    private let device: String
    private let now: Instant
    private let made: MadeStates

    init(_ transaction: LocalTransaction, device: String, now: Instant, made: MadeStates = MadeStates()) {
        self.made = made
        self.transaction = transaction
        self.device = device
        self.now = now
    }

    /// Records the row that a message is about to change or delete, if the message's author had not seen the row's present state.
    ///
    /// - Parameter instant: when the row last changed.
    func recordRow(at instant: Instant, losingTo incoming: IncomingMessage, _ subject: IncomingMessage.Subject) throws {
        guard try !hasSeen(incoming, subject, instant) else { return }
        let comparison = EntityComparison(subject.schema)
        let here = comparison.copies(), there = comparison.copies()
        try transaction.rows.giveRow(subject.key, of: subject.schema, to: here)
        if let entity = incoming.message.entity { try subject.give(entity, over: { try self.giveRow(of: subject, to: $0) }, to: there) }
        let row = here.copies[subject.key], new = there.copies[subject.key]
        guard comparison.differ(row, new) else { return }
        let isNew = incoming.message.type.isAddition
        try record(
            Conflict(
                dataset: subject.schema.name, key: subject.key, reason: new == nil ? .laterDeletion : isNew ? .sameKey : .laterEdit,
                loser: ConflictSide(entity: row?.json, instant: instant, device: try maker(of: subject, at: instant)),
                winner: ConflictSide(entity: new?.json, instant: incoming.instant, device: incoming.name.sender)))
    }

    /// Records the edit in a message that is refused.
    func recordRefusal(of incoming: IncomingMessage, because reason: String) throws {
        guard let subject = incoming.subject else { return }
        let comparison = EntityComparison(subject.schema)
        let here = comparison.copies(), there = comparison.copies()
        try transaction.rows.giveRow(subject.key, of: subject.schema, to: here)
        let row = here.copies[subject.key]
        var lost: EntityCopy?
        switch subject.operation {
        case .patch:
            // A patch contains only the patched columns. Without the row there is no entity to record.
            guard row != nil, let patch = subject.patch else { return }
            try giveRow(of: subject, to: OverlayingSink(there, setting: patch.changes.mapValues(\.new)))
            lost = there.copies[subject.key]
        case .put:
            if let entity = incoming.message.entity {
                if row != nil || subject.entitySchema == subject.schema {
                    try subject.give(entity, over: row == nil ? nil : { try self.giveRow(of: subject, to: $0) }, to: there)
                    lost = there.copies[subject.key]
                } else {
                    // The row does not exist here, so only the columns that the sender knows are available.
                    let part = EntityComparison(subject.entitySchema).copies()
                    try EntityDocument.give(entity, of: subject.entitySchema, to: part)
                    lost = part.copies[subject.key]
                }
            }
        case .delete: break
        }
        guard comparison.differ(lost, row, onlyMarked: subject.operation == .patch) else { return }
        let instant = try transaction.changeLog.knownInstant(of: subject.key, in: subject.schema) ?? row?.state.timestamp ?? .distantPast
        try record(
            Conflict(
                dataset: subject.schema.name, key: subject.key, reason: .refused,
                loser: ConflictSide(entity: lost?.json, instant: incoming.instant, device: incoming.name.sender),
                winner: ConflictSide(entity: row?.json, instant: instant, device: try maker(of: subject, at: instant)), detail: reason))
    }

    /// Whether the author of a message had seen the row that it changes.
    private func hasSeen(_ incoming: IncomingMessage, _ subject: IncomingMessage.Subject, _ instant: Instant) throws -> Bool {
        if let maker = try sender(of: subject, at: instant) {
            // The sender knew its own edit. It can have seen another reader's edit only in a version, whatever instants the two have.
            if maker.name == incoming.name.sender { return true }
            guard let version = maker.version else { return false }
            if let seen = incoming.message.version, version > seen { return false }
        }
        if let replaces = incoming.message.replaces.flatMap({ try? Instant(parsing: $0) }) { return instant <= replaces }
        if incoming.message.type.isAddition { return false }
        // The message does not name the state that it replaces. Its author cannot have seen a state that is not published yet.
        return try transaction.changeLog.change(of: subject.key, in: subject.schema) == nil
    }

    /// Returns the device that made an entity's present state, if known: the reader whose message made it, or this device if the state is not
    /// published.
    private func maker(of subject: IncomingMessage.Subject, at instant: Instant) throws -> String? {
        try sender(of: subject, at: instant)?.name ?? (transaction.changeLog.change(of: subject.key, in: subject.schema) == nil ? nil : device)
    }

    /// The reader whose message made an entity's present state, and the version that has this state; nil if no message made it.
    private func sender(of subject: IncomingMessage.Subject, at instant: Instant) throws -> (name: String, version: Int?)? {
        if let name = made.sender(subject, at: instant) { return (name, nil) }
        return try transaction.inbox.maker(of: subject.key, in: subject.schema, at: instant).map { ($0.sender, $0.namedIn) }
    }

    private func giveRow(of subject: IncomingMessage.Subject, to sink: any EntitySink) throws {
        try transaction.rows.giveRow(subject.key, of: subject.schema, to: sink)
    }

    private func record(_ conflict: Conflict) throws {
        guard try transaction.conflictJournal.record(conflict, at: now) != nil else { return }
        count += LostEdits(count: 1, refused: conflict.reason == .refused ? 1 : 0)
    }
}
