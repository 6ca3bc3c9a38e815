import GRDB
package import SnapshotModel
package import StrictText

// Changes that are tracked, or forgotten, because the user said so and not because a program wrote a row.
extension LocalTransaction {
    /// The last note's number, of any dataset: greater after every change that any program makes. 0 before the first.
    package func lastSequence() throws -> Int64 {
        guard try hasTrackingTables() else { return 0 }
        return try Int64.fetchOne(db, sql: "SELECT max(ifnull((SELECT max(seq) FROM snapsync_log), 0), ifnull((SELECT max(seq) FROM snapsync_changes), 0))") ?? 0
    }

    /// Notes that an entity was touched now, as a trigger would: its row, or that it has none, becomes a tracked change.
    ///
    /// - Parameters:
    ///   - seen: the instant that the change must be later than; nil if there is none.
    ///   - isNew: whether the applied version lacks the key.
    package func noteChange(of key: EntityKey, in schema: DatasetSchema, at now: Instant, after seen: Instant?, isNew: Bool) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) VALUES(?, ?, ?, ?, NULL, ?)")
            .bind(.integer(id), .integer(isNew ? 2 : 0), .key(key), .integer(now.microseconds / 1000), seen.map { .key(EntityKey($0.description)) } ?? .null).run()
    }

    /// Forgets every tracked change of a dataset, folded or not. What the rows are is no longer known from the notes.
    package func discardChanges(of schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try foldNotes(of: [schema])
        try db.execute(sql: "DELETE FROM snapsync_changes WHERE dataset = ?", arguments: [id])
        try forgetCompleteness(of: schema)
    }

    /// Says that a dataset's table is the applied version and its noted changes, which the caller has made true.
    package func setComplete(_ schema: DatasetSchema) throws {
        try db.execute(sql: "UPDATE snapsync_tracking SET isComplete = 1 WHERE dataset = ?", arguments: [schema.name])
    }

    /// Whether a tracked edit has another instant than the applied version says of its entity, so that the tail alone is news.
    package func hasNewInstants(of schema: DatasetSchema) throws -> Bool {
        guard let id = try trackingID(schema) else { return false }
        let table = schema.table.sqlIdentifier, key = schema.key.column.sqlIdentifier
        return try Bool.fetchOne(
            db, sql: """
                SELECT EXISTS (SELECT 1 FROM snapsync_changes c JOIN \(table) t ON t.\(key) = c.key
                    WHERE c.dataset = ?1 AND c.state < \(TrackedState.deleted) AND c.at IS NOT \(PublishedChanges.instant(of: schema)))
                """, arguments: [id]) ?? false
    }
}
