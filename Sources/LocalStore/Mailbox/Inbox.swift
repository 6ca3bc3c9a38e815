import GRDB
package import SnapshotModel
package import StrictText

/// What a publisher did with a message.
package struct InboxEntry: Sendable, Hashable {
    package let id: String
    package let sender: String
    package let type: String
    package let isApplied: Bool
    /// Why it was refused.
    package let reason: String?
    /// The commit that contains the answer; nil until there is one.
    package let namedIn: Int?

    /// The dataset and the key of an entity as one text.
    package static func entity(_ key: EntityKey, of schema: DatasetSchema) -> String { "\(schema.name)/\(key.plainText)" }

    package init(id: String, sender: String, type: String, isApplied: Bool, reason: String?, namedIn: Int?) {
        self.id = id
        self.sender = sender
        self.type = type
        self.isApplied = isApplied
        self.reason = reason
        self.namedIn = namedIn
    }
}

/// The messages that a publisher received, and the answers of all publishers: the table `snapsync_inbox`.
///
/// A message whose id is in the table is never applied again.
package struct Inbox: TransactionPart {
    let transaction: LocalTransaction

    /// The received and answered messages, ordered by id.
    package func entries(onlyUnnamed: Bool = false) throws -> [InboxEntry] {
        guard try transaction.mailbox.exist() else { return [] }
        return try Row.fetchAll(
            db, sql: "SELECT id, sender, type, outcome = 'applied', reason, named FROM snapsync_inbox \(onlyUnnamed ? "WHERE named IS NULL" : "") ORDER BY id"
        ).map { InboxEntry(id: $0[0], sender: $0[1], type: $0[2], isApplied: $0[3], reason: $0[4], namedIn: $0[5]) }
    }

    /// Whether the message was received or answered before.
    package func hasReceived(_ id: String) throws -> Bool {
        try Bool.fetchOne(db.keptStatement(sql: "SELECT EXISTS (SELECT 1 FROM snapsync_inbox WHERE id = ?)"), arguments: [id]) ?? false
    }

    /// Records the outcome of a message, in the transaction that contains its effect.
    ///
    /// - Parameters:
    ///   - entity: identifies the entity that the message is about; any unambiguous text.
    ///   - sent: the message's own instant.
    ///   - instant: the present time.
    package func recordReceived(_ entry: InboxEntry, about entity: String?, sent: Instant, at instant: Instant) throws {
        try db.keptStatement(sql: "INSERT INTO snapsync_inbox VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)").execute(arguments: [
            entry.id, entry.sender, entry.type, entity, sent.microseconds, entry.isApplied ? "applied" : "refused", entry.reason, instant.microseconds,
            entry.namedIn,
        ])
    }

    /// Whether a later message of the same sender about the same entity was applied, because files may arrive in any order. A refused message
    /// does not count: it changed nothing, and after a refusal the sender may continue from an earlier instant.
    ///
    /// - Parameter version: the number of the version that the sender knew. Messages answered by that version or an earlier one do not count,
    ///   because they came before.
    package func hasAppliedLater(than sent: Instant, from sender: String, about entity: String, notKnownAt version: Int?) throws -> Bool {
        let statement = try db.keptStatement(
            sql: """
                SELECT EXISTS (SELECT 1 FROM snapsync_inbox WHERE entity = ?1 AND sender = ?2 AND instant > ?3 AND outcome = 'applied'
                    AND (?4 IS NULL OR named IS NULL OR named > ?4))
                """)
        return try Bool.fetchOne(statement, arguments: [entity, sender, sent.microseconds, version]) ?? false
    }

    /// Records that a commit, of this device or of another publisher, answers these messages.
    package func recordAnswers(applied: [String], refused: [String], in commit: Int, at instant: Instant) throws {
        guard !applied.isEmpty || !refused.isEmpty else { return }
        try transaction.mailbox.prepare()
        for (ids, outcome) in [(applied, "applied"), (refused, "refused")] {
            for id in ids {
                try db.keptStatement(
                    sql: """
                        INSERT INTO snapsync_inbox VALUES(?1, '', '', NULL, NULL, ?2, NULL, ?3, ?4) ON CONFLICT(id) DO UPDATE SET named = ifnull(named, ?4)
                        """
                ).execute(arguments: [id, outcome, instant.microseconds, commit])
            }
        }
    }

    /// After a fork, reverts what the invalid commits after `number` say about messages.
    ///
    /// The changes of messages that this device applied and published are tracked again with its other published changes, so its next commit
    /// answers these messages. Answers by other devices are deleted; if such a message's file is still in the mailbox, the message is processed
    /// again. Call it before ``PublishedChanges/trackAgain(of:after:)``.
    package func forgetAnswers(after number: Int) throws {
        guard try transaction.mailbox.exist() else { return }
        if try db.hasTable(PublishedChanges.table) {
            try db.execute(
                sql: """
                    UPDATE snapsync_inbox SET named = NULL WHERE named > ?1 AND outcome = 'applied' AND sender <> ''
                        AND named <= (SELECT max(version) FROM \(PublishedChanges.table))
                    """, arguments: [number])
        }
        try db.execute(sql: "DELETE FROM snapsync_inbox WHERE named > ?", arguments: [number])
    }

    /// Deletes which commits answered messages but keeps the answers, because the numbers belong to the previous zone.
    func forgetNumbers() throws {
        guard try transaction.mailbox.exist() else { return }
        try db.execute(sql: "UPDATE snapsync_inbox SET named = 0 WHERE named IS NOT NULL")
    }

    /// Whether there is an answered message that was received before an instant.
    package func hasReceived(before instant: Instant) throws -> Bool { try !answered(before: instant, limit: 1).isEmpty }

    /// The ids of messages that were received before an instant and answered by a commit.
    package func answered(before instant: Instant, limit: Int? = nil) throws -> Set<String> {
        guard try transaction.mailbox.exist() else { return [] }
        return try String.fetchSet(
            db, sql: "SELECT id FROM snapsync_inbox WHERE named IS NOT NULL AND at < ? LIMIT ?", arguments: [instant.microseconds, limit ?? -1])
    }

    /// Deletes answered messages that were received before an instant and whose files are gone.
    package func forgetReceived(before instant: Instant, exceptThose waiting: Set<String>) throws {
        for id in try answered(before: instant).subtracting(waiting) {
            try db.keptStatement(sql: "DELETE FROM snapsync_inbox WHERE id = ?").execute(arguments: [id])
        }
    }

    /// The message that made a change of an entity: its sender, and the commit that answers it; nil if no message did.
    package func maker(of key: EntityKey, in schema: DatasetSchema, at instant: Instant) throws -> (sender: String, namedIn: Int?)? {
        guard try transaction.mailbox.exist() else { return nil }
        let statement = try KeyedStatement(db, "SELECT sender, named FROM snapsync_inbox WHERE entity = ? AND instant = ? AND outcome = 'applied'")
            .bind(.text(InboxEntry.entity(key, of: schema)), .instant(instant))
        defer { statement.end() }
        guard try statement.step(), let sender = statement.string(0) else { return nil }
        return (sender, statement.isNull(1) ? nil : Int(statement.integer(1)))
    }
}
