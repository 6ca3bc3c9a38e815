import Foundation
import GRDB
package import SnapshotModel

// How a reader's changes stand between the version and their answer.
extension LocalTransaction {
    /// Takes a publisher's answers. The next merge with what the version has of an entity ends what they answer.
    ///
    /// What was told of the same entity before an applied message is over as well: a publisher refuses what comes after a later message.
    package func takeAnswers(applied: [String], refused: [String]) throws {
        guard try hasMailbox() else { return }
        for (ids, state) in [(applied, OutboxEntry.State.applied), (refused, .refused)] {
            for id in ids {
                try db.cachedStatement(sql: "UPDATE snapsync_outbox SET state = ? WHERE id = ?").execute(arguments: [state.rawValue, id])
            }
        }
        guard !applied.isEmpty else { return }
        try db.cachedStatement(sql: """
            UPDATE snapsync_outbox AS o SET state = 'refused', reason = 'a later message about it came first'
            WHERE state IN ('stored', 'sent', 'doubtful') AND EXISTS (SELECT 1 FROM snapsync_outbox later
                WHERE later.dataset = o.dataset AND later.key = o.key AND later.number > o.number AND later.state = 'applied')
            """).execute()
    }

    /// The entries about one entity that has a tracked change, oldest first: its own, and those of messages that wait for an answer or are in doubt.
    package func toldChanges(of key: EntityKey, in schema: DatasetSchema) throws -> [SentChange] {
        guard let id = try trackingID(schema) else { return [] }
        let statement = try KeyedStatement(db, """
            SELECT o.seq = c.seq, o.state, o.covers, o.body FROM snapsync_changes c JOIN snapsync_outbox o ON o.dataset = c.dataset AND o.key = c.key
            WHERE c.dataset = ? AND c.key = ? AND (o.seq = c.seq OR o.filed = 1 AND o.state IN ('stored', 'sent', 'doubtful')) ORDER BY o.number
            """).bind(.integer(id), .key(key))
        var told: [SentChange] = []
        while try statement.step() {
            guard let state = statement.string(1).flatMap(OutboxEntry.State.init) else { throw state.damaged("snapsync_outbox", "the state of a message is not known") }
            told.append(SentChange(
                key: key, isCurrent: statement.integer(0) != 0, state: state, coversAll: statement.integer(2) != 0, body: statement.text(3).map { Data($0) }))
        }
        return told
    }

    /// Whether the publisher has refused what was told of an entity's tracked change.
    package func isRefused(_ key: EntityKey, in schema: DatasetSchema) throws -> Bool {
        guard let id = try trackingID(schema), try hasMailbox() else { return false }
        return try KeyedStatement(db, """
            SELECT EXISTS (SELECT 1 FROM snapsync_outbox o JOIN snapsync_changes c ON o.dataset = c.dataset AND o.key = c.key AND o.seq = c.seq
            WHERE c.dataset = ? AND c.key = ? AND o.state = 'refused')
            """).bind(.integer(id), .key(key)).integer() == 1
    }

    /// Whether the publisher has applied all that an entity's tracked change is.
    package func isApplied(_ key: EntityKey, in schema: DatasetSchema) throws -> Bool {
        guard let id = try trackingID(schema), try hasMailbox() else { return false }
        return try KeyedStatement(db, """
            SELECT EXISTS (SELECT 1 FROM snapsync_outbox o JOIN snapsync_changes c ON o.dataset = c.dataset AND o.key = c.key AND o.seq = c.seq
            WHERE c.dataset = ? AND c.key = ? AND o.state = 'applied' AND o.covers = 1)
            """).bind(.integer(id), .key(key)).integer() == 1
    }

    /// The keys of tracked changes that messages tell of which no commit has answered yet.
    package func unansweredKeys(of schema: DatasetSchema) throws -> [EntityKey] {
        guard let id = try trackingID(schema), try hasMailbox() else { return [] }
        return try KeyedStatement(db, """
            SELECT DISTINCT c.key FROM snapsync_outbox o JOIN snapsync_changes c ON c.dataset = o.dataset AND c.key = o.key AND c.seq = o.seq
            WHERE o.dataset = ? AND o.id IS NOT NULL AND o.state IN ('stored', 'sent', 'doubtful') ORDER BY c.key
            """).bind(.integer(id)).keys()
    }

    /// The keys that ``overlayChange(of:in:)`` marked in the merge that is under way.
    package func overlaidKeys(of schema: DatasetSchema) throws -> [EntityKey] {
        guard let id = try trackingID(schema) else { return [] }
        let statement = try KeyedStatement(db, "SELECT key FROM snapsync_changes WHERE dataset = ? AND wins = \(MergeDecision.overlaid)").bind(.integer(id))
        var keys: [EntityKey] = []
        while try statement.step() { if let key = statement.key(0) { keys.append(key) } }
        return keys
    }

    /// Says that the version's entity comes in, with a part of a tracked change on top, and that the change stays tracked.
    package func overlayChange(of key: EntityKey, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "UPDATE snapsync_changes SET wins = \(MergeDecision.overlaid) WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key)).run()
        try noteCarried(key, in: schema)
    }

    /// Says that a change's message carries all that is left of it, for the rest is lost to the version.
    package func noteCarried(_ key: EntityKey, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, """
            UPDATE snapsync_outbox SET covers = 1 WHERE dataset = ?1 AND key = ?2 AND id IS NOT NULL
            AND seq = (SELECT seq FROM snapsync_changes WHERE dataset = ?1 AND key = ?2)
            """).bind(.integer(id), .key(key)).run()
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

extension KeyedStatement {
    /// A column's text as a string; nil for what is none.
    func string(_ column: Int32) -> String? { text(column).map { String(decoding: $0, as: UTF8.self) } }
}
