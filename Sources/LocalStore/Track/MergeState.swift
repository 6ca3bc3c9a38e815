import GRDB
import GRDBSQLite
package import SnapshotModel
package import StrictText

/// A change that was made here and is not in the applied version.
package struct TrackedChange: Sendable, Hashable {
    package let key: EntityKey
    package let instant: Instant
    package let isDeletion: Bool
    /// Whether it is a row that was here before anything was tracked (``LocalTransaction/adoptRows(of:now:)``).
    package let isFromBefore: Bool

    init?(_ row: Row) {
        guard let key = EntityKey(row[0] as DatabaseValue) else { return nil }
        self.key = key
        instant = Instant(microseconds: row[1])
        isDeletion = row[2] as Int == TrackedState.deleted.rawValue
        isFromBefore = row[3] as Int64 == 0
    }
}

// What an import asks of the tracked changes, and what it decides about them.
extension LocalTransaction {
    /// Whether anything is tracked; notes must have been folded.
    package func hasTrackedChanges(of schema: DatasetSchema) throws -> Bool {
        guard let id = try trackingID(schema) else { return false }
        return try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM snapsync_changes WHERE dataset = ?)", arguments: [id]) ?? false
    }

    /// The tracked changes whose keys lie in a range, in key order; with `onlyKept` those that ``keepChange(of:in:)`` marked.
    package func trackedChanges(of schema: DatasetSchema, in range: KeyRange, onlyKept: Bool = false) throws -> [TrackedChange] {
        guard let id = try trackingID(schema) else { return [] }
        var conditions = ["dataset = :id"]
        if onlyKept { conditions.append("wins = 1") }
        if range.first != nil { conditions.append("key >= :first") }
        if range.next != nil { conditions.append("key < :next") }
        let statement = try db.cachedStatement(sql: "SELECT key, at, state, seq FROM snapsync_changes WHERE \(conditions.joined(separator: " AND ")) ORDER BY key")
        var arguments: [String: (any DatabaseValueConvertible)?] = ["id": id]
        if let first = range.first { arguments["first"] = first.databaseValue }
        if let next = range.next { arguments["next"] = next.databaseValue }
        return try Row.fetchAll(statement, arguments: StatementArguments(arguments)).compactMap(TrackedChange.init)
    }

    /// The keys in a range that were touched since the applied version, folded or not.
    package func touchedKeys(of schema: DatasetSchema, in range: KeyRange) throws -> Set<EntityKey> {
        guard let id = try trackingID(schema) else { return [] }
        var keys = Set(try trackedChanges(of: schema, in: range).map(\.key))
        let notes = try Row.fetchCursor(db, sql: "SELECT DISTINCT key FROM snapsync_log WHERE dataset = ?", arguments: [id])
        while let note = try notes.next() {
            guard let key = EntityKey(note[0] as DatabaseValue), range.contains(key) else { continue }
            keys.insert(key)
        }
        return keys
    }

    /// The instant of an entity of the version that is being applied, where it is not the entity's own timestamp.
    package func appliedInstant(of key: EntityKey, in schema: DatasetSchema) throws -> Instant? {
        try lookUp("snapsync_instants", key, schema)
    }

    /// When the version that is being applied says that an entity was deleted; nil if it does not.
    package func tombstone(of key: EntityKey, in schema: DatasetSchema) throws -> Instant? {
        try lookUp("snapsync_tombstones", key, schema)
    }

    /// Says that a tracked change stays, for it wins over the version.
    package func keepChange(of key: EntityKey, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try db.cachedStatement(sql: "UPDATE snapsync_changes SET wins = 1 WHERE dataset = ? AND key = ?").execute(arguments: [id, key.databaseValue])
    }

    /// Ends a merge: what was not kept is forgotten, for the version has it or has something later.
    ///
    /// A deletion of what the version does not have stays, unless the version knows of one as late.
    package func endMerge(of schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try db.execute(
            sql: """
                DELETE FROM snapsync_changes AS c WHERE dataset = ?1 AND wins = 0 AND (state < 2
                    OR EXISTS (SELECT 1 FROM snapsync_tombstones t WHERE t.dataset = ?1 AND t.key = c.key AND t.at >= c.at))
                """, arguments: [id])
        try db.execute(sql: "UPDATE snapsync_changes SET wins = 0 WHERE dataset = ?", arguments: [id])
        try db.execute(sql: "UPDATE snapsync_tracking SET isComplete = 1 WHERE id = ?", arguments: [id])
    }

    /// Gives the row with that key to a sink, if it is there.
    package func giveRow(_ key: EntityKey, of schema: DatasetSchema, to sink: any EntitySink) throws {
        let statement = try RowStatement(db, schema, where: "WHERE \(schema.key.column.sqlIdentifier) = ?1", path: path)
        try statement.bind(from: key, upTo: nil)
        defer { statement.end() }
        if try statement.step() { try statement.give(to: sink) }
    }

    /// Gives every row of a dataset to a sink, in key order.
    package func giveRows(of schema: DatasetSchema, to sink: any EntitySink) throws {
        let statement = try RowStatement(db, schema, where: "", path: path)
        defer { statement.end() }
        while try statement.step() { try statement.give(to: sink) }
    }

    private func lookUp(_ table: String, _ key: EntityKey, _ schema: DatasetSchema) throws -> Instant? {
        guard let id = try trackingID(schema) else { return nil }
        let statement = try db.cachedStatement(sql: "SELECT at FROM \(table) WHERE dataset = ? AND key = ?")
        return try Int64.fetchOne(statement, arguments: [id, key.databaseValue]).map(Instant.init(microseconds:))
    }
}
