package import Foundation
import GRDB
package import SnapshotModel
import StrictText

// What a reader has told the publisher of its changes, or is about to. Written before any file is, so that no run that ends in
// between tells a change twice under two ids.
extension LocalTransaction {
    /// Makes the tables of outbox and inbox where they are missing.
    package func prepareMailbox() throws {
        for table in LocalTable.mailboxTables { try table.create(in: db) }
    }

    /// Takes outbox and inbox out again.
    func removeMailbox() throws {
        for table in LocalTable.mailboxTables { try table.drop(in: db) }
    }

    /// Whether anything was ever told or heard here.
    package func hasMailbox() throws -> Bool { try db.hasTable("snapsync_inbox") }

    /// Up to `limit` tracked changes that no message was made of, or none could be when they were compared with another version.
    ///
    /// A change whose message was applied and that no version has ended since is among them.
    package func untoldChanges(of schema: DatasetSchema, comparedWith version: Int, after key: EntityKey?, limit: Int) throws -> [UnsentChange] {
        guard let id = try trackingID(schema) else { return [] }
        let isTold = try !hasMailbox() ? "" : """
            AND NOT EXISTS (SELECT 1 FROM snapsync_outbox o WHERE o.dataset = c.dataset AND o.key = c.key AND o.seq = c.seq
                AND CASE WHEN o.state IN ('local', 'same') THEN o.version = ?3 WHEN o.state = 'applied' THEN o.covers = 0 ELSE 1 END)
            """
        let statement = try KeyedStatement(db, """
            SELECT key, seq, at, state, isMark, base FROM snapsync_changes c WHERE dataset = ?1 AND (?2 IS NULL OR key > ?2) AND ?3 IS NOT NULL \(isTold)
            ORDER BY key LIMIT ?4
            """).bind(.integer(id), key.map { .key($0) } ?? .null, .integer(Int64(version)), .integer(Int64(limit)))
        var changes: [UnsentChange] = []
        while try statement.step() {
            guard let key = statement.key(0) else { continue }
            changes.append(UnsentChange(
                key: key, sequence: statement.integer(1), instant: statement.instant(2), isDeletion: statement.integer(3) == Int64(TrackedState.deleted.rawValue),
                isMark: statement.integer(4) == 1, base: statement.isNull(5) ? nil : statement.instant(5)))
        }
        return changes
    }

    /// Up to `limit` tracked deletions of which it is not certain that the applied version has their entities.
    package func deletionsInDoubt(of schema: DatasetSchema, limit: Int) throws -> [UnsentChange] {
        guard let id = try trackingID(schema) else { return [] }
        let statement = try KeyedStatement(db, """
            SELECT key, seq, at, base FROM snapsync_changes WHERE dataset = ? AND state = \(TrackedState.deleted) AND isNew <> \(TrackedOrigin.inVersion.rawValue) AND key IS NOT NULL ORDER BY key LIMIT ?
            """).bind(.integer(id), .integer(Int64(limit)))
        var changes: [UnsentChange] = []
        while try statement.step() {
            guard let key = statement.key(0) else { continue }
            changes.append(UnsentChange(key: key, sequence: statement.integer(1), instant: statement.instant(2), isDeletion: true, isMark: false,
                base: statement.isNull(3) ? nil : statement.instant(3)))
        }
        return changes
    }

    /// Whether a change is still tracked under the same sequence number.
    package func isTracked(_ change: UnsentChange, of schema: DatasetSchema) throws -> Bool {
        guard let id = try trackingID(schema) else { return false }
        return try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM snapsync_changes WHERE dataset = ? AND key = ? AND seq = ?)")
            .bind(.integer(id), .key(change.key), .integer(change.sequence)).integer() == 1
    }

    /// The messages about an entity that were or may have been sent, oldest first: they wait for their answers, or may have missed them.
    package func unansweredMessages(about change: UnsentChange, of schema: DatasetSchema) throws -> [(body: Data, isInDoubt: Bool)] {
        guard let id = try trackingID(schema) else { return [] }
        let statement = try KeyedStatement(db, """
            SELECT body, state = 'doubtful' FROM snapsync_outbox
            WHERE dataset = ? AND key = ? AND seq < ? AND filed = 1 AND state IN ('stored', 'sent', 'doubtful') ORDER BY number
            """).bind(.integer(id), .key(change.key), .integer(change.sequence))
        var messages: [(body: Data, isInDoubt: Bool)] = []
        while try statement.step() { if let body = statement.text(0) { messages.append((Data(body), statement.integer(1) != 0)) } }
        return messages
    }

    /// Forgets a tracked change that has left its row as the applied version has it.
    package func forget(_ change: UnsentChange, of schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "DELETE FROM snapsync_changes WHERE dataset = ? AND key = ? AND seq = ?")
            .bind(.integer(id), .key(change.key), .integer(change.sequence)).run()
    }

    /// Writes down what became of a change: a message with an id and a body, or that there is none.
    package func addToOutbox(
        _ change: UnsentChange, of schema: DatasetSchema, _ state: OutboxEntry.State, id: String? = nil, body: Data? = nil, coversAll: Bool,
        comparedWith version: Int, reason: String? = nil
    ) throws {
        guard let dataset = try trackingID(schema) else { return }
        try KeyedStatement(db, "DELETE FROM snapsync_outbox WHERE dataset = ? AND key = ? AND state IN ('local', 'same')")
            .bind(.integer(dataset), .key(change.key)).run()
        func text(_ text: String?) -> KeyedStatement.Parameter { text.map { .key(EntityKey($0)) } ?? .null }
        try KeyedStatement(db, """
            INSERT INTO snapsync_outbox(id, dataset, key, seq, state, covers, version, body, reason, filed) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, 0)
            """
        ).bind(
            text(id), .integer(dataset), .key(change.key), .integer(change.sequence), text(state.rawValue), .integer(coversAll ? 1 : 0),
            .integer(Int64(version)), text(body.map { String(decoding: $0, as: UTF8.self) }), text(reason)
        ).run()
    }

    /// Writes down a message that is about no tracked change.
    package func addToOutbox(id: String, body: Data) throws {
        try db.execute(
            sql: "INSERT INTO snapsync_outbox(id, dataset, seq, state, covers, version, body, filed) VALUES(?, 0, 0, 'stored', 1, 0, ?, 0)",
            arguments: [id, String(decoding: body, as: UTF8.self)])
    }

    /// The entries in the order in which they were made; with `onlyMessages` without those that no message belongs to.
    package func outbox(onlyMessages: Bool = false) throws -> [OutboxEntry] {
        guard try hasMailbox() else { return [] }
        let statement = try KeyedStatement(db, """
            SELECT number, o.id, t.dataset, key, seq, state, covers, body, reason FROM snapsync_outbox o
            LEFT JOIN snapsync_tracking t ON t.id = o.dataset \(onlyMessages ? "WHERE o.id IS NOT NULL" : "") ORDER BY number
            """)
        defer { statement.end() }
        var entries: [OutboxEntry] = []
        while try statement.step() {
            guard let state = statement.string(5).flatMap(OutboxEntry.State.init) else { throw state.damaged("snapsync_outbox", "the state of a message is not known") }
            entries.append(OutboxEntry(
                number: statement.integer(0), id: statement.string(1), dataset: statement.string(2), key: statement.key(3), sequence: statement.integer(4),
                state: state, coversAll: statement.integer(6) != 0, body: statement.text(7).map { Data($0) }, reason: statement.string(8)))
        }
        return entries
    }

    /// Notes that messages' files may be in the mailbox from now on: called before the first one is written.
    package func noteSending(_ numbers: [Int64]) throws {
        for number in numbers { try db.cachedStatement(sql: "UPDATE snapsync_outbox SET filed = 1 WHERE number = ?").execute(arguments: [number]) }
    }

    /// Records that messages' files are not in the mailbox, after ``noteSending(_:)``: if a later version overtakes their changes, they are not sent.
    package func recordUnsent(_ numbers: [Int64]) throws {
        for number in numbers { try db.cachedStatement(sql: "UPDATE snapsync_outbox SET filed = 0 WHERE number = ? AND state = 'stored'").execute(arguments: [number]) }
    }

    /// Notes that messages' files are in the mailbox.
    package func noteSent(_ numbers: [Int64]) throws {
        for number in numbers { try db.cachedStatement(sql: "UPDATE snapsync_outbox SET state = 'sent' WHERE number = ? AND state = 'stored'").execute(arguments: [number]) }
    }

    /// Notes that answers may have been missed: what may have been sent is in doubt.
    package func noteMissedAnswers() throws {
        guard try hasMailbox() else { return }
        try db.execute(sql: "UPDATE snapsync_outbox SET state = 'doubtful' WHERE filed = 1 AND state IN ('stored', 'sent')")
    }

    /// Gives a message in doubt another id, to be told again; its old file must be gone. Without a body it is forgotten.
    package func renewMessage(_ number: Int64, _ renewed: (id: String, body: Data)?) throws {
        guard let renewed else { return try db.execute(sql: "DELETE FROM snapsync_outbox WHERE number = ?", arguments: [number]) }
        try db.execute(
            sql: "UPDATE snapsync_outbox SET id = ?, body = ?, state = 'stored', filed = 0 WHERE number = ?",
            arguments: [renewed.id, String(decoding: renewed.body, as: UTF8.self), number])
    }

    /// Whether the change that an entry is about is tracked still; true for one about no change.
    package func isCurrent(_ entry: OutboxEntry) throws -> Bool {
        try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM snapsync_outbox o WHERE number = ? AND (dataset = 0 OR NOT \(Self.isGone)))", arguments: [entry.number]) ?? false
    }

    /// Whether a later entry about the same entity, of the change that is tracked still, builds on what this one said.
    package func isBuiltOn(_ entry: OutboxEntry) throws -> Bool {
        try Bool.fetchOne(
            db, sql: """
                SELECT EXISTS (SELECT 1 FROM snapsync_outbox earlier JOIN snapsync_outbox o ON o.dataset = earlier.dataset AND o.key = earlier.key
                    WHERE earlier.number = ? AND o.number > earlier.number AND o.state IN ('stored', 'sent', 'same') AND NOT \(Self.isGone))
                """, arguments: [entry.number]) ?? false
    }

    /// Takes back what was told of changes that are dropped: what is not in the mailbox is forgotten, the files of the others are to be removed.
    package func withdrawMessages() throws {
        guard try hasMailbox() else { return }
        try db.execute(sql: """
            DELETE FROM snapsync_outbox WHERE dataset > 0 AND filed = 0;
            UPDATE snapsync_outbox SET state = 'refused', reason = 'taken back' WHERE dataset > 0 AND state IN ('stored', 'sent', 'doubtful');
            """)
    }

    /// Messages whose files are to be removed, for they were answered or taken back.
    package func messagesToRemove() throws -> [(number: Int64, id: String)] {
        guard try hasMailbox() else { return [] }
        return try Row.fetchAll(
            db, sql: "SELECT number, id FROM snapsync_outbox WHERE id IS NOT NULL AND filed = 1 AND state IN ('applied', 'refused') ORDER BY number"
        ).map { ($0[0], $0[1]) }
    }

    /// Whether ``noteRemoved(_:)`` would forget an entry.
    package func hasForgettable() throws -> Bool {
        guard try hasMailbox() else { return false }
        return try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM snapsync_outbox AS o WHERE \(Self.saysNothing))") ?? false
    }

    /// Notes that messages' files are gone, and forgets entries that say nothing any longer.
    package func noteRemoved(_ numbers: [Int64]) throws {
        guard try hasMailbox() else { return }
        for number in numbers { try db.cachedStatement(sql: "UPDATE snapsync_outbox SET filed = 0 WHERE number = ?").execute(arguments: [number]) }
        try db.execute(sql: "DELETE FROM snapsync_outbox AS o WHERE \(Self.saysNothing)")
    }

    private static let saysNothing = "filed = 0 AND (state = 'applied' AND covers = 1 OR dataset > 0 AND \(isGone))"

    private static let isGone = "NOT EXISTS (SELECT 1 FROM snapsync_changes c WHERE c.dataset = o.dataset AND c.key = o.key AND c.seq = o.seq)"
}
