import GRDB
package import SnapshotModel
package import StrictText

// How a message's change comes into the tables: tracked with an instant of its own, past the triggers.
extension LocalTransaction {
    /// When an entity last changed or was deleted, as far as tracked changes and the applied version say; notes must have been folded.
    package func knownInstant(of key: EntityKey, in schema: DatasetSchema) throws -> Instant? {
        guard let id = try trackingID(schema) else { return nil }
        return try KeyedStatement(db, Self.knownInstantQuery).bind(.integer(id), .key(key)).integer().map(Instant.init(microseconds:))
    }

    /// Tracks a change of an entity with a given instant. The row must be as the change leaves it.
    ///
    /// - Parameter base: the instant of what the change replaced; nil if there was nothing.
    package func track(_ key: EntityKey, of schema: DatasetSchema, at instant: Instant, over base: Instant?) throws {
        guard let id = try trackingID(schema) else { return }
        // A note of nothing takes the next sequence number, which is never given again.
        try db.execute(sql: "INSERT INTO snapsync_log(dataset, kind, clock) VALUES(0, 0, 0)")
        let sequence = db.lastInsertedRowID
        let stamp = schema.ownInstantSQL
        try KeyedStatement(db, """
            INSERT INTO snapsync_changes(dataset, key, at, seq, base, state) VALUES(?1, ?2, ?3, ?4, ?5, coalesce(
                (SELECT CASE WHEN \(stamp) IS ?3 THEN 0 ELSE 1 END FROM \(schema.table.sqlIdentifier) t WHERE t.\(schema.key.column.sqlIdentifier) = ?2), 2))
            ON CONFLICT(dataset, key) DO UPDATE SET at = excluded.at, seq = excluded.seq, state = excluded.state, wins = \(MergeDecision.undecided)
            """).bind(.integer(id), .key(key), .instant(instant), .integer(sequence), base.map { .instant($0) } ?? .null).run()
    }
}
