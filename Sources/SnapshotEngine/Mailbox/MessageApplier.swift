import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// Makes a message's change at the publisher, unless something later is here: last write wins, by the message's own instant.
///
/// Runs inside one transaction, past the triggers; notes must have been folded before.
struct MessageApplier {
    let transaction: LocalTransaction
    let datasets: [DatasetSchema]
    /// Keeps what the messages overwrite.
    let conflicts: MessageConflicts
    /// The publisher's clock.
    let now: Instant

    /// What became of a message.
    enum Outcome: Hashable, Sendable {
        /// Its change was made, or was there already.
        case applied
        case refused(String)
    }

    /// Applies one message. What a table's rules forbid is refused, and nothing of it stays.
    func apply(_ incoming: IncomingMessage) throws -> Outcome {
        guard let subject = incoming.subject else { return .applied }
        do {
            return try transaction.undoingOnError { try apply(incoming, to: subject) }
        } catch let error as LocalStoreError where error.code == .badRow || error.code == .foreignKeyViolated {
            return .refused(error.reason)
        }
    }

    /// What is here of the entity that a message is about.
    private struct Present {
        let row: EntityCopy?
        /// When it last changed or was deleted; nil if nothing is known of it.
        let instant: Instant?
    }

    private func apply(_ incoming: IncomingMessage, to subject: IncomingMessage.Subject) throws -> Outcome {
        let copies = EntityCopies(schema: subject.schema, masking: subject.kind.ownColumns(of: subject.schema))
        try transaction.rows.giveRow(subject.key, of: subject.schema, to: copies)
        let row = copies.copies[subject.key]
        let known = try transaction.changeLog.knownInstant(of: subject.key, in: subject.schema)
        let present = Present(row: row, instant: known ?? row.map { $0.state.timestamp ?? .distantPast })
        switch incoming.message.type {
        case .notificationRead: return try markRead(incoming, subject, present)
        case .notificationDeleted, .bucketDeleted: return try delete(incoming, subject, present)
        case .bucketCreated, .bucketUpdated: return try put(incoming, subject, present)
        case .fullSync: return .applied
        }
    }

    /// Sets `readAt` alone, whatever else was edited here since, if it is still what the sender saw.
    private func markRead(_ incoming: IncomingMessage, _ subject: IncomingMessage.Subject, _ present: Present) throws -> Outcome {
        guard case .notifications(let readAt) = subject.kind, let row = present.row, let instant = present.instant else {
            return .refused("the notification is not there any more")
        }
        guard row.texts[readAt] != incoming.message.newReadAt else { return try confirm(incoming, subject, since: instant) }
        let (new, last) = ReadMarks.outcome(of: [incoming.message], on: row.texts[readAt], at: instant)
        guard last != nil else { return .refused("it was marked later by another") }
        let texts = try ReadMarks.texts(new, of: incoming.message, at: readAt, in: subject.schema, over: row.state.timestamp)
        try transaction.rows.setTexts(texts, of: subject.key, in: subject.schema)
        // Later than what it replaces, so that neither the mark nor an edit of the text made before it can undo the other.
        try transaction.changeLog.track(
            of: subject.key, in: subject.schema,
            at: max(limited(incoming, over: instant), instant == .distantPast ? instant : instant.advanced(byMicroseconds: 1)),
            joining: .continuing(base: instant))
        return .applied
    }

    private func delete(_ incoming: IncomingMessage, _ subject: IncomingMessage.Subject, _ present: Present) throws -> Outcome {
        guard present.row != nil, let instant = present.instant else { return try confirm(incoming, subject, since: present.instant) }
        // A deletion beats an edit of the same instant.
        guard incoming.instant >= instant else { return .refused("it was changed later here") }
        if let table = try transaction.references.tableReferring(at: subject.key, of: subject.schema, among: datasets) {
            return .refused("rows of \(table) still point at it")
        }
        try conflicts.recordRow(at: instant, losingTo: incoming, subject)
        _ = try transaction.rows.deleteEntity(subject.key, of: subject.schema)
        try transaction.changeLog.track(of: subject.key, in: subject.schema, at: limited(incoming, over: instant), joining: .continuing(base: instant))
        return .applied
    }

    private func put(_ incoming: IncomingMessage, _ subject: IncomingMessage.Subject, _ present: Present) throws -> Outcome {
        guard let entity = incoming.message.entity else { return .refused("it lacks the bucket") }
        let copies = EntityCopies(schema: subject.schema)
        try EntityDocument.give(entity, of: subject.schema, to: copies)
        guard let hash = copies.copies[subject.key]?.state.hash else { return .refused("its bucket is another than the one that it names") }
        if let row = present.row, row.state.hash == hash { return try confirm(incoming, subject, since: present.instant) }
        if let instant = present.instant {
            let wins = incoming.instant > instant || incoming.instant == instant && present.row.map { hash > $0.state.hash } == true
            guard wins else { return .refused(present.row == nil ? "it was deleted later" : "it was changed later here") }
        }
        if present.row != nil, let instant = present.instant { try conflicts.recordRow(at: instant, losingTo: incoming, subject) }
        try EntityDocument.give(entity, of: subject.schema, to: transaction.rows.updating(subject.schema))
        try transaction.changeLog.track(
            of: subject.key, in: subject.schema, at: limited(incoming, over: present.instant), joining: .continuing(base: present.instant))
        return .applied
    }

    /// The instant of a message's change as it is tracked here: not later than this device's clock, unless what it replaces is.
    ///
    /// It is later than what it replaces if the message's own is.
    private func limited(_ incoming: IncomingMessage, over present: Instant?) -> Instant {
        min(incoming.instant, max(now, present?.advanced(byMicroseconds: 1) ?? now))
    }

    /// What was told is so already; said later, it holds against what others said in between.
    private func confirm(_ incoming: IncomingMessage, _ subject: IncomingMessage.Subject, since instant: Instant?) throws -> Outcome {
        if let instant, incoming.instant > instant {
            try transaction.changeLog.track(of: subject.key, in: subject.schema, at: limited(incoming, over: instant), joining: .continuing(base: instant))
        }
        return .applied
    }
}
