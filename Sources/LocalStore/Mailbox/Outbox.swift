package import Foundation
import GRDB
package import SnapshotModel
import StrictText

/// The messages of a reader about its own changes: the table `snapsync_outbox`.
///
/// The entry is written before the message's file, so that a crash in between never sends one change under two ids.
package struct Outbox: TransactionPart {
    let transaction: LocalTransaction

    /// The entries in the order of their creation. With `onlyMessages`, only entries that have a message.
    package func entries(onlyMessages: Bool = false) throws -> [OutboxEntry] {
        guard try transaction.mailbox.exist() else { return [] }
        let statement = try KeyedStatement(
            db,
            """
            SELECT number, o.id, t.dataset, key, seq, state, covers, body, reason, filed FROM snapsync_outbox o
            LEFT JOIN snapsync_tracking t ON t.id = o.dataset \(onlyMessages ? "WHERE o.id IS NOT NULL" : "") ORDER BY number
            """)
        defer { statement.end() }
        var entries: [OutboxEntry] = []
        while try statement.step() {
            guard let state = statement.string(5).flatMap(OutboxEntry.State.init) else {
                throw damaged("snapsync_outbox", "the state of a message is not known")
            }
            entries.append(
                OutboxEntry(
                    number: statement.integer(0), id: statement.string(1), dataset: statement.string(2), key: statement.key(3), sequence: statement.integer(4),
                    state: state, coversAll: statement.integer(6) != 0, body: statement.text(7).map { Data($0) }, reason: statement.string(8),
                    mayBeOut: statement.integer(9) != 0))
        }
        return entries
    }

    /// Records the outcome for a change: a message with an id and a body, or that there is none.
    ///
    /// - Parameter shown: the values of the columns that messages patch, as a partial row, when the change was compared.
    package func add(
        _ change: UnsentChange, of schema: DatasetSchema, _ state: OutboxEntry.State, id: String? = nil, body: Data? = nil, coversAll: Bool,
        comparedWith version: Int, reason: String? = nil, shown: String? = nil
    ) throws {
        guard let dataset = try trackingID(schema) else { return }
        try KeyedStatement(db, "DELETE FROM snapsync_outbox WHERE dataset = ? AND key = ? AND state IN ('local', 'same')")
            .bind(.integer(dataset), .key(change.key)).run()
        func text(_ text: String?) -> KeyedStatement.Parameter { text.map { .key(EntityKey($0)) } ?? .null }
        try KeyedStatement(
            db,
            """
            INSERT INTO snapsync_outbox(id, dataset, key, seq, state, covers, version, body, reason, shown, filed) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)
            """
        ).bind(
            text(id), .integer(dataset), .key(change.key), .integer(change.sequence), text(state.rawValue), .integer(coversAll ? 1 : 0),
            .integer(Int64(version)), text(body.map { String(decoding: $0, as: UTF8.self) }), text(reason), text(shown)
        ).run()
    }

    /// Records a message that is not about a tracked change.
    package func add(id: String, body: Data) throws {
        try db.execute(
            sql: "INSERT INTO snapsync_outbox(id, dataset, seq, state, covers, version, body, filed) VALUES(?, 0, 0, 'stored', 1, 0, ?, 0)",
            arguments: [id, String(decoding: body, as: UTF8.self)])
    }

    /// Records that messages may leave this device from now on. Call it before the first file is written, or before an application gets the
    /// messages.
    package func recordSending(_ numbers: [Int64]) throws {
        for number in numbers { try db.keptStatement(sql: "UPDATE snapsync_outbox SET filed = 1 WHERE number = ?").execute(arguments: [number]) }
    }

    /// Records that messages' files are in the mailbox.
    package func recordSent(_ numbers: [Int64]) throws {
        for number in numbers {
            try db.keptStatement(sql: "UPDATE snapsync_outbox SET state = 'sent' WHERE number = ? AND state = 'stored'").execute(arguments: [number])
        }
    }

    /// Records that answers may have been missed: messages that may have been sent are in doubt.
    package func recordMissedAnswers() throws {
        guard try transaction.mailbox.exist() else { return }
        try db.execute(sql: "UPDATE snapsync_outbox SET state = 'doubtful' WHERE filed = 1 AND state IN ('stored', 'sent')")
    }

    /// Records, after ``recordSending(_:)``, that messages' files are not in the mailbox. If a later version supersedes their changes, they are
    /// not sent.
    package func recordUnsent(_ numbers: [Int64]) throws {
        for number in numbers {
            try db.keptStatement(sql: "UPDATE snapsync_outbox SET filed = 0 WHERE number = ? AND state = 'stored'").execute(arguments: [number])
        }
    }

    /// Gives a message in doubt another id, so that it is sent again. Its old file must be gone. Without a body, the message is deleted.
    package func renew(_ number: Int64, _ renewed: (id: String, body: Data)?) throws {
        guard let renewed else { return try db.execute(sql: "DELETE FROM snapsync_outbox WHERE number = ?", arguments: [number]) }
        try db.execute(
            sql: "UPDATE snapsync_outbox SET id = ?, body = ?, state = 'stored', filed = 0 WHERE number = ?",
            arguments: [renewed.id, String(decoding: renewed.body, as: UTF8.self), number])
    }

    /// Withdraws the messages about changes that are discarded: deletes messages that are not in the mailbox, and marks the others so that their
    /// files are removed later.
    package func withdraw() throws {
        guard try transaction.mailbox.exist() else { return }
        try db.execute(
            sql: """
                DELETE FROM snapsync_outbox WHERE dataset > 0 AND filed = 0;
                UPDATE snapsync_outbox SET state = 'refused', reason = 'taken back' WHERE dataset > 0 AND state IN ('stored', 'sent', 'doubtful');
                """)
    }

    /// Messages whose files must be removed because they were answered or withdrawn.
    package func removable() throws -> [(number: Int64, id: String)] {
        guard try transaction.mailbox.exist() else { return [] }
        return try Row.fetchAll(
            db, sql: "SELECT number, id FROM snapsync_outbox WHERE id IS NOT NULL AND filed = 1 AND state IN ('applied', 'refused') ORDER BY number"
        ).map { ($0[0], $0[1]) }
    }

    /// Whether ``recordRemoved(_:)`` would delete an entry.
    package func hasForgettable() throws -> Bool {
        guard try transaction.mailbox.exist() else { return false }
        return try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM snapsync_outbox AS o WHERE \(Self.saysNothing))") ?? false
    }

    /// Records that messages' files are gone, and deletes entries that are no longer needed.
    package func recordRemoved(_ numbers: [Int64]) throws {
        guard try transaction.mailbox.exist() else { return }
        for number in numbers { try db.keptStatement(sql: "UPDATE snapsync_outbox SET filed = 0 WHERE number = ?").execute(arguments: [number]) }
        try db.execute(sql: "DELETE FROM snapsync_outbox AS o WHERE \(Self.saysNothing)")
    }

    /// Whether the change of an entry is still tracked; true for an entry without a change.
    package func isCurrent(_ entry: OutboxEntry) throws -> Bool {
        try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM snapsync_outbox o WHERE number = ? AND (dataset = 0 OR NOT \(Self.isGone)))", arguments: [entry.number])
            ?? false
    }

    /// Whether a later entry about the same entity, whose change is still tracked, builds on this one.
    package func isBuiltOn(_ entry: OutboxEntry) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM snapsync_outbox earlier JOIN snapsync_outbox o ON o.dataset = earlier.dataset AND o.key = earlier.key
                    WHERE earlier.number = ? AND o.number > earlier.number AND o.state IN ('stored', 'sent', 'same') AND NOT \(Self.isGone))
                """, arguments: [entry.number]) ?? false
    }

    private static let saysNothing = "filed = 0 AND (state = 'applied' AND covers = 1 OR dataset > 0 AND \(isGone))"

    private static let isGone = "NOT EXISTS (SELECT 1 FROM snapsync_changes c WHERE c.dataset = o.dataset AND c.key = o.key AND c.seq = o.seq)"

    // MARK: - Which tracked changes were sent, and what happened to them

    /// Up to `limit` tracked changes without a message, including changes for which no message was possible when they were compared with another
    /// version.
    ///
    /// Includes changes whose message carried them completely and was applied, if no merge has ended them since.
    package func unsentChanges(of schema: DatasetSchema, comparedWith version: Int, after key: EntityKey?, limit: Int) throws -> [UnsentChange] {
        guard let id = try trackingID(schema) else { return [] }
        let hasMessage =
            try !transaction.mailbox.exist()
            ? ""
            : """
            AND NOT EXISTS (SELECT 1 FROM snapsync_outbox o WHERE o.dataset = c.dataset AND o.key = c.key AND o.seq = c.seq
                AND CASE WHEN o.state IN ('local', 'same') THEN o.version = ?3 WHEN o.state = 'applied' THEN o.covers = 0 ELSE 1 END)
            """
        let statement = try KeyedStatement(
            db,
            """
            SELECT \(TrackedChange.sqlColumns), seq FROM snapsync_changes c WHERE dataset = ?1 AND (?2 IS NULL OR key > ?2) AND ?3 IS NOT NULL \(hasMessage)
            ORDER BY key LIMIT ?4
            """
        ).bind(.integer(id), key.map { .key($0) } ?? .null, .integer(Int64(version)), .integer(Int64(limit)))
        var changes: [UnsentChange] = []
        while try statement.step() {
            if let change = TrackedChange(statement, schema) { changes.append(UnsentChange(change, sequence: statement.integer(8))) }
        }
        return changes
    }

    /// Up to `limit` tracked deletions of entities that the applied version may not have.
    package func deletionsInDoubt(of schema: DatasetSchema, limit: Int) throws -> [UnsentChange] {
        guard let id = try trackingID(schema) else { return [] }
        let statement = try KeyedStatement(
            db,
            """
            SELECT \(TrackedChange.sqlColumns), seq FROM snapsync_changes WHERE dataset = ? AND state = \(TrackedState.deleted) AND isNew <> \(TrackedOrigin.inVersion.rawValue) AND key IS NOT NULL ORDER BY key LIMIT ?
            """
        ).bind(.integer(id), .integer(Int64(limit)))
        var changes: [UnsentChange] = []
        while try statement.step() {
            if let change = TrackedChange(statement, schema) { changes.append(UnsentChange(change, sequence: statement.integer(8))) }
        }
        return changes
    }

    /// Deletes the tracked deletions of entities that were inserted since the applied version, because nothing of them remains.
    ///
    /// Keeps the deletion if a message was about the entity, if one with its key is held, or if the version has a tombstone of it.
    package func forgetPassing(of schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        let hasMessage =
            try transaction.mailbox.exist()
            ? " OR EXISTS (SELECT 1 FROM snapsync_outbox o WHERE o.dataset = c.dataset AND o.key = c.key AND o.id IS NOT NULL)" : ""
        try db.execute(
            sql: """
                DELETE FROM snapsync_changes AS c WHERE dataset = ?1 AND state = \(TrackedState.deleted) AND isNew = \(TrackedOrigin.new) AND NOT (
                    EXISTS (SELECT 1 FROM snapsync_tombstones t WHERE t.dataset = c.dataset AND t.key = c.key)
                    OR EXISTS (SELECT 1 FROM snapsync_waiting a WHERE a.dataset = ?2 AND a.key = c.key)\(hasMessage))
                """, arguments: [id, schema.name])
    }

    /// Whether a change is still tracked under the same sequence number.
    package func isTracked(_ change: UnsentChange, of schema: DatasetSchema) throws -> Bool {
        guard let id = try trackingID(schema) else { return false }
        return try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM snapsync_changes WHERE dataset = ? AND key = ? AND seq = ?)")
            .bind(.integer(id), .key(change.key), .integer(change.sequence)).integer() == 1
    }

    /// What the columns that messages patch held when a change of an entity was compared last, as a partial row; nil if that is not known.
    package func lastShown(of key: EntityKey, in schema: DatasetSchema) throws -> String? {
        guard let id = try trackingID(schema), try transaction.mailbox.exist() else { return nil }
        let statement = try KeyedStatement(
            db,
            """
            SELECT shown FROM snapsync_outbox WHERE dataset = ? AND key = ? AND shown IS NOT NULL ORDER BY number DESC LIMIT 1
            """
        ).bind(.integer(id), .key(key))
        defer { statement.end() }
        return try statement.step() ? statement.string(0) : nil
    }

    /// Whether the row of a key was another one than the version's when it was compared last (``OutboxEntry/OtherRow``).
    package func wasOtherRow(_ key: EntityKey, in schema: DatasetSchema) throws -> Bool {
        guard let id = try trackingID(schema), try transaction.mailbox.exist() else { return false }
        let statement = try KeyedStatement(db, "SELECT reason FROM snapsync_outbox WHERE dataset = ? AND key = ? ORDER BY number DESC LIMIT 1")
            .bind(.integer(id), .key(key))
        defer { statement.end() }
        return try statement.step() && statement.string(0).map(OutboxEntry.OtherRow.all.contains) == true
    }

    /// The messages about an entity that were or may have been sent, oldest first. They wait for answers, or their answers may have been missed.
    package func unansweredMessages(about change: UnsentChange, of schema: DatasetSchema) throws -> [(body: Data, isInDoubt: Bool)] {
        guard let id = try trackingID(schema) else { return [] }
        let statement = try KeyedStatement(
            db,
            """
            SELECT body, state = 'doubtful' FROM snapsync_outbox
            WHERE dataset = ? AND key = ? AND seq < ? AND filed = 1 AND state IN ('stored', 'sent', 'doubtful') ORDER BY number
            """
        ).bind(.integer(id), .key(change.key), .integer(change.sequence))
        var messages: [(body: Data, isInDoubt: Bool)] = []
        while try statement.step() { if let body = statement.text(0) { messages.append((Data(body), statement.integer(1) != 0)) } }
        return messages
    }

    /// Deletes a tracked change after which the row equals the applied version's.
    package func forget(_ change: UnsentChange, of schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "DELETE FROM snapsync_changes WHERE dataset = ? AND key = ? AND seq = ?")
            .bind(.integer(id), .key(change.key), .integer(change.sequence)).run()
    }

    /// Stores a publisher's answers. The next merge with the version's state of an entity ends the changes that they answer.
    ///
    /// Earlier messages about the same entity are ended as well, because a publisher refuses a message that arrives after a later one.
    package func recordAnswers(applied: [String], refused: [String]) throws {
        guard try transaction.mailbox.exist() else { return }
        for (ids, state) in [(applied, OutboxEntry.State.applied), (refused, .refused)] {
            for id in ids {
                try db.keptStatement(sql: "UPDATE snapsync_outbox SET state = ? WHERE id = ?").execute(arguments: [state.rawValue, id])
            }
        }
        guard !applied.isEmpty else { return }
        try db.keptStatement(
            sql: """
                UPDATE snapsync_outbox AS o SET state = 'refused', reason = 'a later message about it came first'
                WHERE state IN ('stored', 'sent', 'doubtful') AND EXISTS (SELECT 1 FROM snapsync_outbox later
                    WHERE later.dataset = o.dataset AND later.key = o.key AND later.number > o.number AND later.state = 'applied')
                """
        ).execute()
    }

    /// The outbox entries about an entity with a tracked change, oldest first: the entry of the change itself, and those of messages that are
    /// unanswered or in doubt.
    package func sentChanges(of key: EntityKey, in schema: DatasetSchema) throws -> [SentChange] {
        guard let id = try trackingID(schema) else { return [] }
        let statement = try KeyedStatement(
            db,
            """
            SELECT o.seq = c.seq, o.state, o.covers, o.body FROM snapsync_changes c JOIN snapsync_outbox o ON o.dataset = c.dataset AND o.key = c.key
            WHERE c.dataset = ? AND c.key = ? AND (o.seq = c.seq OR o.filed = 1 AND o.state IN ('stored', 'sent', 'doubtful')) ORDER BY o.number
            """
        ).bind(.integer(id), .key(key))
        var sent: [SentChange] = []
        while try statement.step() {
            guard let state = statement.string(1).flatMap(OutboxEntry.State.init) else {
                throw damaged("snapsync_outbox", "the state of a message is not known")
            }
            sent.append(
                SentChange(
                    key: key, isCurrent: statement.integer(0) != 0, state: state, coversAll: statement.integer(2) != 0, body: statement.text(3).map { Data($0) }
                ))
        }
        return sent
    }

    /// Whether the publisher refused the message about an entity's tracked change.
    package func isRefused(_ key: EntityKey, in schema: DatasetSchema) throws -> Bool {
        guard let id = try trackingID(schema), try transaction.mailbox.exist() else { return false }
        return try KeyedStatement(
            db,
            """
            SELECT EXISTS (SELECT 1 FROM snapsync_outbox o JOIN snapsync_changes c ON o.dataset = c.dataset AND o.key = c.key AND o.seq = c.seq
            WHERE c.dataset = ? AND c.key = ? AND o.state = 'refused')
            """
        ).bind(.integer(id), .key(key)).integer() == 1
    }

    /// Whether the publisher has applied a tracked change, or has refused it as a deletion.
    func isAnswered(_ change: TrackedChange, in schema: DatasetSchema) throws -> Bool {
        try isApplied(change.key, in: schema) || change.isDeletion && isRefused(change.key, in: schema)
    }

    /// Whether the publisher has applied the whole tracked change of an entity.
    package func isApplied(_ key: EntityKey, in schema: DatasetSchema) throws -> Bool {
        guard let id = try trackingID(schema), try transaction.mailbox.exist() else { return false }
        return try KeyedStatement(
            db,
            """
            SELECT EXISTS (SELECT 1 FROM snapsync_outbox o JOIN snapsync_changes c ON o.dataset = c.dataset AND o.key = c.key AND o.seq = c.seq
            WHERE c.dataset = ? AND c.key = ? AND o.state = 'applied' AND o.covers = 1)
            """
        ).bind(.integer(id), .key(key)).integer() == 1
    }

    /// The keys of tracked changes that no commit has answered yet, and whether a message about them may be in the mailbox.
    ///
    /// Has the edits that were not compared with any version, too, because the one that they were made on can no longer be read. Leaves out a
    /// deletion that was not sent if the version has a tombstone that is as late: it is no longer sent.
    package func unansweredKeys(of schema: DatasetSchema) throws -> [(key: EntityKey, isSent: Bool)] {
        guard let id = try trackingID(schema) else { return [] }
        let uncompared = "SELECT c.key, 0 FROM snapsync_changes c WHERE c.dataset = ?1 AND c.state < \(TrackedState.deleted)"
        let isOfChange = "o.dataset = c.dataset AND o.key = c.key AND o.seq = c.seq"
        let sql =
            try !transaction.mailbox.exist()
            ? uncompared
            : """
            SELECT c.key, max(o.filed) FROM snapsync_outbox o JOIN snapsync_changes c ON \(isOfChange)
            WHERE o.dataset = ?1 AND o.id IS NOT NULL AND o.state IN ('stored', 'sent', 'doubtful')
            AND NOT (o.filed = 0 AND c.state = \(TrackedState.deleted)
                AND EXISTS (SELECT 1 FROM snapsync_tombstones t WHERE t.dataset = c.dataset AND t.key = c.key AND t.at >= c.at))
            GROUP BY c.key
            UNION ALL \(uncompared) AND NOT EXISTS (SELECT 1 FROM snapsync_outbox o WHERE \(isOfChange))
            """
        let statement = try KeyedStatement(db, sql + " ORDER BY 1").bind(.integer(id))
        var keys: [(key: EntityKey, isSent: Bool)] = []
        while try statement.step() { if let key = statement.key(0) { keys.append((key, statement.integer(1) != 0)) } }
        return keys
    }

    /// Records that a change's message carries all that is left of the change, because the rest lost to the version.
    package func recordFullyCarried(_ key: EntityKey, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(
            db,
            """
            UPDATE snapsync_outbox SET covers = 1 WHERE dataset = ?1 AND key = ?2 AND id IS NOT NULL
            AND seq = (SELECT seq FROM snapsync_changes WHERE dataset = ?1 AND key = ?2)
            """
        ).bind(.integer(id), .key(key)).run()
    }

    /// How many tracked changes stay on this device because their rows cannot travel.
    package func unfitCount() throws -> Int {
        try changeCount(where: "o.state = 'local' AND substr(o.reason, 1, length(?1)) = ?1", [OutboxEntry.unfit])
    }

    /// How many tracked changes are known to stay on this device: no message carries them completely, or it was refused.
    package func overlayCount() throws -> Int {
        try changeCount(where: "o.state IN ('local', 'refused') OR o.covers = 0 AND o.state <> 'same'")
    }

    /// How many tracked changes have an entry of their own that satisfies a condition.
    private func changeCount(where condition: String, _ arguments: StatementArguments = []) throws -> Int {
        guard try transaction.mailbox.exist() else { return 0 }
        return try Int.fetchOne(
            db,
            sql: """
                SELECT count(*) FROM snapsync_changes c WHERE EXISTS (SELECT 1 FROM snapsync_outbox o WHERE o.dataset = c.dataset AND o.key = c.key
                    AND o.seq = c.seq AND (\(condition)))
                """, arguments: arguments) ?? 0
    }
}

/// The tables of ``Outbox`` and ``Inbox``, which are created with the first message.
package struct MailboxTables: TransactionPart {
    let transaction: LocalTransaction

    /// Creates the tables of outbox and inbox if they are missing.
    package func prepare() throws {
        for table in LocalTable.mailboxTables { try table.create(in: db) }
    }

    /// Drops the tables of outbox and inbox.
    func remove() throws {
        for table in LocalTable.mailboxTables { try table.drop(in: db) }
    }

    /// Whether this database ever sent or received a message.
    package func exist() throws -> Bool { try db.hasTable("snapsync_inbox") }
}
