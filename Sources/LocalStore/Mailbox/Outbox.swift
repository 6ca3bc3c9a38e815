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
        for number in numbers { try db.cachedStatement(sql: "UPDATE snapsync_outbox SET filed = 1 WHERE number = ?").execute(arguments: [number]) }
    }

    /// Records that messages' files are in the mailbox.
    package func recordSent(_ numbers: [Int64]) throws {
        for number in numbers {
            try db.cachedStatement(sql: "UPDATE snapsync_outbox SET state = 'sent' WHERE number = ? AND state = 'stored'").execute(arguments: [number])
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
            try db.cachedStatement(sql: "UPDATE snapsync_outbox SET filed = 0 WHERE number = ? AND state = 'stored'").execute(arguments: [number])
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
        for number in numbers { try db.cachedStatement(sql: "UPDATE snapsync_outbox SET filed = 0 WHERE number = ?").execute(arguments: [number]) }
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
}
