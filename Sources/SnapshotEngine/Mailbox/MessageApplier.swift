import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// Makes a message's change at the publisher, unless a later change exists: last write wins, by the message's own instant.
///
/// Runs inside one transaction without triggers. The log must have been consolidated before.
struct MessageApplier {
    let transaction: LocalTransaction
    let datasets: [DatasetSchema]
    /// Records the edits that the messages overwrite.
    let conflicts: MessageConflicts
    /// The publisher's clock.
    let now: Instant
    /// What the messages before this one have made.
    let made: MadeStates

    /// The result of a message.
    enum Outcome: Hashable, Sendable {
        /// The change was made, or had been made already.
        case applied
        case refused(String)
        /// The present tables do not allow the change, but other messages may change that. Nothing was changed.
        case blocked(String, isDangling: Bool)
    }

    /// The changed row would refer to a missing row.
    private struct DanglingRow: Error {}

    /// Applies one message. If a table's rules forbid the change, the result is `blocked`, and the change is rolled back.
    func apply(_ incoming: IncomingMessage) throws -> Outcome {
        guard let subject = incoming.subject else { return .applied }
        if let refusal = subject.refusal { return .refused(refusal) }
        do {
            return try transaction.undoingOnError { try apply(incoming, to: subject) }
        } catch let error as LocalStoreError where error.code == .badRow || error.code == .foreignKeyViolated || error.code == .schemaMismatch {
            return .blocked(error.reason, isDangling: false)
        } catch is DanglingRow {
            return .blocked("it refers to a row that is not here", isDangling: true)
        }
    }

    /// The entity's present state at the publisher.
    private struct Present {
        let row: EntityCopy?
        /// When the entity last changed or was deleted; nil if nothing is known of it.
        let instant: Instant?
        /// The instant that messages are compared with: an earlier one than `instant` if a message has just made the state (``MadeStates``).
        let claimed: Instant?
    }

    private func apply(_ incoming: IncomingMessage, to subject: IncomingMessage.Subject) throws -> Outcome {
        let copies = EntityCopies(schema: subject.schema, masking: subject.rules?.ownColumns ?? [])
        try transaction.rows.giveRow(subject.key, of: subject.schema, to: copies)
        let row = copies.copies[subject.key]
        let known = try transaction.changeLog.knownInstant(of: subject.key, in: subject.schema)
        let instant = known ?? row.map { $0.state.timestamp ?? .distantPast }
        let present = Present(row: row, instant: instant, claimed: instant.map { made.claimed(subject, at: $0) ?? $0 })
        switch subject.operation {
        case .patch: return try patch(incoming, subject, present)
        case .delete: return try delete(incoming, subject, present)
        case .put: return try put(incoming, subject, present)
        }
    }

    /// Sets only the patched columns if they still have the values that the sender saw, whatever else was edited since.
    private func patch(_ incoming: IncomingMessage, _ subject: IncomingMessage.Subject, _ present: Present) throws -> Outcome {
        let isMark = subject.rules?.vocabulary == .notifications
        guard let patch = subject.patch, let row = present.row, let claimed = present.claimed else {
            return .refused("the \(isMark ? "notification" : "row") is not there any more")
        }
        guard patch.changes.contains(where: { row.values[$0.key] != $0.value.new }) else { return try confirm(incoming, subject, since: present) }
        let (new, last) = RowPatch.outcome(of: [patch], on: row.values.filter { patch.changes[$0.key] != nil }, at: claimed)
        guard last != nil else { return .refused(isMark ? "it was marked later by another" : "another changed it later") }
        let settings = patch.settings(new, in: subject.schema, over: row)
        try keepingReferences(of: subject) { try transaction.rows.setValues(settings, of: subject.key, in: subject.schema) }
        // The instant is later than the replaced one: neither the patch nor an earlier edit of the other columns can undo the other.
        try track(incoming, subject, over: present, columns: Set(settings.keys))
        return .applied
    }

    private func delete(_ incoming: IncomingMessage, _ subject: IncomingMessage.Subject, _ present: Present) throws -> Outcome {
        guard present.row != nil, let instant = present.instant, let claimed = present.claimed else {
            return try confirm(incoming, subject, since: present)
        }
        // A deletion beats an edit with the same instant.
        guard incoming.instant >= claimed else { return .refused("it was changed later here") }
        if let table = try transaction.references.tableReferring(at: subject.key, of: subject.schema, among: datasets) {
            return .blocked("rows of \(table) still point at it", isDangling: false)
        }
        try conflicts.recordRow(at: instant, losingTo: incoming, subject)
        _ = try transaction.rows.deleteEntity(subject.key, of: subject.schema)
        try track(incoming, subject, over: present)
        return .applied
    }

    private func put(_ incoming: IncomingMessage, _ subject: IncomingMessage.Subject, _ present: Present) throws -> Outcome {
        guard let entity = incoming.message.entity else { return .refused("it lacks the row") }
        let schema = subject.entitySchema
        // Compare only the columns that the sender knows.
        let new = EntityCopies(schema: schema), here = EntityCopies(schema: schema)
        try EntityDocument.give(entity, of: schema, to: new)
        if present.row != nil { try transaction.rows.giveRow(subject.key, of: schema, to: here) }
        guard let hash = new.copies[subject.key]?.state.hash else { return .refused("its row is another than the one that it names") }
        let row = here.copies[subject.key]
        if let row, row.state.hash == hash { return try confirm(incoming, subject, since: present) }
        if let claimed = present.claimed {
            let wins = incoming.instant > claimed || incoming.instant == claimed && row.map { hash > $0.state.hash } == true
            guard wins else { return .refused(row == nil ? "it was deleted later" : "it was changed later here") }
        }
        if row != nil, let instant = present.instant { try conflicts.recordRow(at: instant, losingTo: incoming, subject) }
        let before = RowValues(), after = RowValues()
        try transaction.rows.giveRow(subject.key, of: subject.schema, to: before)
        try keepingReferences(of: subject) { try EntityDocument.give(entity, of: schema, to: transaction.rows.updating(schema)) }
        try transaction.rows.giveRow(subject.key, of: subject.schema, to: after)
        let changed = row == nil ? nil : Set(after.values.indices.filter { before.values[$0] != after.values[$0] })
        try track(incoming, subject, over: present, columns: changed)
        return .applied
    }

    /// Changes a row. Afterwards the row must not refer to a missing row, unless it did before.
    private func keepingReferences(of subject: IncomingMessage.Subject, _ change: () throws -> Void) throws {
        func isDangling() throws -> Bool { try transaction.references.isDangling(subject.key, of: subject.schema, among: datasets) }
        let wasDangling = try isDangling()
        try change()
        if try !wasDangling && isDangling() { throw DanglingRow() }
    }

    /// Tracks a message's change with its own instant, but not later than this device's clock, and later than the replaced state in any case.
    ///
    /// A change can win with the instant of the state that it replaces. With the same instant, a still later message, made on the replaced state,
    /// would overwrite this change as if its author had seen it, and no journal would keep it.
    private func track(_ incoming: IncomingMessage, _ subject: IncomingMessage.Subject, over present: Present, columns: Set<Int>? = nil) throws {
        let limited = min(incoming.instant, now)
        let instant = present.instant.map { max(limited, $0.advanced(byMicroseconds: 1)) } ?? limited
        try transaction.changeLog.track(
            of: subject.key, in: subject.schema, at: instant, joining: .continuing(base: present.instant), columns: columns, isInVersion: present.row != nil)
        made.note(incoming, tracked: instant, claimed: max(limited, present.claimed ?? limited))
    }

    /// The row is in the message's state already. If the message is later, track its instant, so that it wins over changes that were made in
    /// between.
    private func confirm(_ incoming: IncomingMessage, _ subject: IncomingMessage.Subject, since present: Present) throws -> Outcome {
        if let instant = present.instant, incoming.instant > instant { try track(incoming, subject, over: present) }
        return .applied
    }
}
