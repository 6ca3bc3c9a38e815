import GRDB
package import SnapshotModel
package import StrictText

extension LocalTransaction {
    /// The tombstones that the next version has, in key order: the applied version's and those of tracked deletions.
    package func forEachTombstone(of schema: DatasetSchema, _ body: (EntityKey, Instant) throws -> Void) throws {
        guard let id = try trackingID(schema) else { return }
        let table = schema.table.sqlIdentifier, key = schema.key.column.sqlIdentifier
        try forEach(
            """
            SELECT key, at FROM (
                SELECT key, at FROM snapsync_changes WHERE dataset = ?1 AND state = 2 UNION ALL
                SELECT key, at FROM snapsync_tombstones b WHERE dataset = ?1
                    AND NOT EXISTS (SELECT 1 FROM snapsync_changes c WHERE c.dataset = ?1 AND c.key = b.key)) x
            WHERE NOT EXISTS (SELECT 1 FROM \(table) t WHERE t.\(key) = x.key) ORDER BY key
            """, id, body)
    }

    /// The instants that the next version has besides the entities' own timestamps, in key order.
    package func forEachInstant(of schema: DatasetSchema, _ body: (EntityKey, Instant) throws -> Void) throws {
        guard let id = try trackingID(schema) else { return }
        let table = schema.table.sqlIdentifier, key = schema.key.column.sqlIdentifier
        let stamp = schema.timestampIndex.map { "snapsync_instant(t.\(schema.columns[$0].column.sqlIdentifier))" } ?? "NULL"
        try forEach(
            """
            SELECT key, at FROM (
                SELECT key, at FROM snapsync_changes WHERE dataset = ?1 AND state = 1 UNION ALL
                SELECT key, at FROM snapsync_instants b WHERE dataset = ?1
                    AND NOT EXISTS (SELECT 1 FROM snapsync_changes c WHERE c.dataset = ?1 AND c.key = b.key)) x
            WHERE EXISTS (SELECT 1 FROM \(table) t WHERE t.\(key) = x.key AND \(stamp) IS NOT x.at) ORDER BY key
            """, id, body)
    }

    /// Whether the next version has tombstones from before an instant.
    package func hasTombstones(of schema: DatasetSchema, before horizon: Instant) throws -> Bool {
        guard let id = try trackingID(schema) else { return false }
        return try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM snapsync_tombstones WHERE dataset = ?1 AND at < ?2) OR EXISTS (SELECT 1 FROM snapsync_changes WHERE dataset = ?1 AND state = 2 AND at < ?2)",
            arguments: [id, horizon.microseconds]) ?? false
    }

    /// Forgets the applied version's tombstones from before an instant, for the version has them no longer.
    package func dropTombstones(of schema: DatasetSchema, before horizon: Instant) throws {
        guard let id = try trackingID(schema) else { return }
        try db.execute(sql: "DELETE FROM snapsync_tombstones WHERE dataset = ? AND at < ?", arguments: [id, horizon.microseconds])
    }

    /// Forgets the applied version's tombstones and instants, for another version's are coming.
    package func clearTail(of schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try db.execute(sql: "DELETE FROM snapsync_tombstones WHERE dataset = ?", arguments: [id])
        try db.execute(sql: "DELETE FROM snapsync_instants WHERE dataset = ?", arguments: [id])
    }

    /// Takes a tombstone of the version that is being applied.
    package func addTombstone(of key: EntityKey, at instant: Instant, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "INSERT INTO snapsync_tombstones VALUES(?, ?, ?)").bind(.integer(id), .key(key), .instant(instant)).run()
    }

    /// Takes an entity's instant of the version that is being applied.
    package func addInstant(_ instant: Instant, of key: EntityKey, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "INSERT INTO snapsync_instants VALUES(?, ?, ?)").bind(.integer(id), .key(key), .instant(instant)).run()
    }

    private func forEach(_ sql: String, _ id: Int64, _ body: (EntityKey, Instant) throws -> Void) throws {
        let rows = try KeyedStatement(db, sql).bind(.integer(id))
        defer { rows.end() }
        while try rows.step() {
            guard let key = rows.key(0) else { continue }
            try body(key, rows.instant(1))
        }
    }
}
