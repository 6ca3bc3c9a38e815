import Foundation
import GRDB
package import SnapshotModel

// How a reader's changes stand between the version and their answer.
extension LocalTransaction {
    /// The datasets of tracked changes that these messages carried whole, so that their answer ends them.
    package func datasetsAnswered(by applied: [String]) throws -> Set<String> {
        guard try hasMailbox() else { return [] }
        let statement = try db.makeStatement(sql: """
            SELECT t.dataset FROM snapsync_outbox o JOIN snapsync_tracking t ON t.id = o.dataset
            JOIN snapsync_changes c ON c.dataset = o.dataset AND c.key = o.key AND c.seq <= o.seq WHERE o.id = ?
            """)
        return Set(try applied.flatMap { try String.fetchAll(statement, arguments: [$0]) })
    }

    /// Takes a publisher's answers: what an applied message carried is tracked no longer, for the version has it.
    ///
    /// An edit that came after the message stays tracked, and so does what a message did not carry.
    package func takeAnswers(applied: [String], refused: [String]) throws {
        guard try hasMailbox() else { return }
        for (ids, state) in [(applied, OutboxEntry.State.applied), (refused, .refused)] {
            for id in ids {
                try db.cachedStatement(sql: "UPDATE snapsync_outbox SET state = ? WHERE id = ?").execute(arguments: [state.rawValue, id])
            }
        }
        for id in applied {
            try db.cachedStatement(sql: """
                DELETE FROM snapsync_changes WHERE (dataset, key) IN (SELECT dataset, key FROM snapsync_outbox WHERE id = ?1 AND covers = 1)
                AND seq <= (SELECT seq FROM snapsync_outbox WHERE id = ?1)
                """).execute(arguments: [id])
        }
    }

    /// The entries about entities in a range of keys that have tracked changes, oldest first for each key.
    package func toldChanges(of schema: DatasetSchema, in range: KeyRange) throws -> [ToldChange] {
        var conditions: [String] = []
        if range.first != nil { conditions.append("c.key >= :first") }
        if range.next != nil { conditions.append("c.key < :next") }
        return try told(of: schema, where: conditions, ["first": range.first?.databaseValue, "next": range.next?.databaseValue])
    }

    /// The entries about entities that ``overlayChange(of:in:)`` marked in the merge that is under way.
    package func overlaidChanges(of schema: DatasetSchema) throws -> [ToldChange] {
        try told(of: schema, where: ["c.wins = 2"], [:])
    }

    private func told(of schema: DatasetSchema, where conditions: [String], _ arguments: [String: DatabaseValue?]) throws -> [ToldChange] {
        guard try hasMailbox(), let id = try trackingID(schema) else { return [] }
        let sql = """
            SELECT c.key, o.seq = c.seq, o.state, o.covers, o.body FROM snapsync_changes c JOIN snapsync_outbox o ON o.dataset = c.dataset AND o.key = c.key
            WHERE \((["c.dataset = :id", "(o.seq = c.seq OR o.filed = 1 AND o.state IN ('stored', 'sent'))"] + conditions).joined(separator: " AND "))
            ORDER BY c.key, o.number
            """
        let statement = try db.cachedStatement(sql: sql)
        var used: [String: (any DatabaseValueConvertible)?] = ["id": id]
        for (name, value) in arguments where value != nil { used[name] = value }
        return try Row.fetchAll(statement, arguments: StatementArguments(used)).compactMap { row in
            guard let key = EntityKey(row[0] as DatabaseValue), let state = OutboxEntry.State(rawValue: row[2]) else { return nil }
            return ToldChange(key: key, isCurrent: row[1], state: state, coversAll: row[3], body: (row[4] as String?).map { Data($0.utf8) })
        }
    }

    /// Says that the version's entity comes in, with a part of a tracked change on top, and that the change stays tracked.
    ///
    /// Whatever else the change was is lost to the version, so its message carries all that is left.
    package func overlayChange(of key: EntityKey, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try db.cachedStatement(sql: "UPDATE snapsync_changes SET wins = 2 WHERE dataset = ? AND key = ?").execute(arguments: [id, key.databaseValue])
        try db.cachedStatement(sql: """
            UPDATE snapsync_outbox SET covers = 1 WHERE dataset = ?1 AND key = ?2 AND id IS NOT NULL
            AND seq = (SELECT seq FROM snapsync_changes WHERE dataset = ?1 AND key = ?2)
            """).execute(arguments: [id, key.databaseValue])
    }

    /// Sets text columns of one row.
    ///
    /// - Parameter texts: the new values, by the columns' positions in the schema; nil is NULL.
    package func setTexts(_ texts: [Int: String?], of key: EntityKey, in schema: DatasetSchema) throws {
        let columns = texts.sorted { $0.key < $1.key }
        try LocalStoreError.translating(at: "\(path), table \(schema.table)") {
            let assignments = columns.map { "\(schema.columns[$0.key].column.sqlIdentifier) = ?" }.joined(separator: ", ")
            try db.execute(
                sql: "UPDATE \(schema.table.sqlIdentifier) SET \(assignments) WHERE \(schema.key.column.sqlIdentifier) = ?",
                arguments: StatementArguments(columns.map { $0.value?.databaseValue ?? .null } + [key.databaseValue]))
        }
    }

    /// How many tracked changes are known to stay here: no message carries them whole, or it was refused.
    package func overlayCount() throws -> Int {
        guard try hasMailbox() else { return 0 }
        return try Int.fetchOne(
            db, sql: """
                SELECT count(*) FROM snapsync_changes c WHERE EXISTS (SELECT 1 FROM snapsync_outbox o WHERE o.dataset = c.dataset AND o.key = c.key
                    AND o.seq = c.seq AND (o.state IN ('local', 'refused') OR o.covers = 0 AND o.state <> 'same'))
                """) ?? 0
    }
}
