import GRDB
package import SnapshotModel
package import StrictText

// Changes that are tracked without a trigger's note, because a rule makes them and no program.
extension LocalTransaction {
    /// Tracks that an entity is now as its row is, or gone if there is none, with that instant.
    ///
    /// The change counts as made by somebody who has seen whatever is not later than it.
    ///
    /// - Parameter isKept: whether a merge is under way that must not forget it.
    package func trackChange(of key: EntityKey, in schema: DatasetSchema, at instant: Instant, isKept: Bool = false) throws {
        guard let id = try trackingID(schema) else { return }
        // A note of nothing has the next sequence number.
        try db.execute(sql: "INSERT INTO snapsync_log(dataset, kind, clock) VALUES(0, 0, 0)")
        let table = schema.table.sqlIdentifier, column = schema.key.column.sqlIdentifier
        try KeyedStatement(db, """
            INSERT OR REPLACE INTO snapsync_changes(dataset, key, at, seq, state, wins, base) VALUES(?1, ?2, ?3, ?4,
                coalesce((SELECT CASE WHEN \(schema.ownInstantSQL) IS ?3 OR ?3 = \(Int64.min) THEN 0 ELSE 1 END FROM \(table) t WHERE t.\(column) = ?2), 2), ?5, ?3)
            """).bind(.integer(id), .key(key), .instant(instant), .integer(db.lastInsertedRowID), .integer(isKept ? 1 : 0)).run()
    }

    /// The instant of an entity as it is here: its tracked change's, else the applied version's, else its own timestamp; nil if there is no row.
    package func instant(of key: EntityKey, in schema: DatasetSchema) throws -> Instant? {
        if let change = try trackedChange(of: key, in: schema) { return change.instant }
        if let applied = try tombstonesAndInstants.appliedInstant(of: key, in: schema) { return applied }
        return try rows.ownTimestamp(of: key, in: schema)
    }

    /// Whether the table has rows that no tracked change is noted for; notes must have been folded.
    package func hasUntrackedRows(of schema: DatasetSchema) throws -> Bool {
        guard let id = try trackingID(schema) else { return try rows.hasRows(schema) }
        return try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 \(untrackedRows(of: schema)))", arguments: [id]) ?? false
    }

    /// Makes a tracked change of every row that was here before anything was tracked, at the row's own timestamp.
    ///
    /// A timestamp later than `now` counts as `now`; a row without one is older than everything.
    package func adoptRows(of schema: DatasetSchema, now: Instant) throws {
        guard let id = try trackingID(schema) else { return }
        let own = schema.ownInstantSQL, key = schema.key.column.sqlIdentifier
        try db.execute(
            sql: """
                INSERT INTO snapsync_changes(dataset, key, at, seq, state)
                SELECT ?1, t.\(key), coalesce(min(\(own), ?2), \(Int64.min)), 0, CASE WHEN \(own) > ?2 THEN 1 ELSE 0 END \(untrackedRows(of: schema)) AND t.\(key) IS NOT NULL
                """, arguments: [id, now.microseconds])
    }

    private func untrackedRows(of schema: DatasetSchema) -> String {
        let key = schema.key.column.sqlIdentifier
        return "FROM \(schema.table.sqlIdentifier) t WHERE NOT EXISTS (SELECT 1 FROM snapsync_changes c WHERE c.dataset = ?1 AND c.key = t.\(key))"
    }
}
