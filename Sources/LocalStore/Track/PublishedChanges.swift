import GRDB
package import SnapshotModel
package import StrictText

/// The changes that this device published and that no other device has built on yet: the table `snapsync_published`.
///
/// If the commit turns out to have lost its number to another device's commit, these changes are tracked again with the same instants.
package struct PublishedChanges: TransactionPart {
    let transaction: LocalTransaction

    static let table = LocalTable.published.name

    /// Copies the tracked changes up to `sequence`, which version `version` is about to contain.
    ///
    /// Call it before ``ChangeLog/acknowledge(of:upTo:)``, in the same transaction. Disk space: a key and three numbers for each change.
    package func keep(of schema: DatasetSchema, upTo sequence: Int64, version: Int, at clock: Instant) throws {
        guard let id = try trackingID(schema) else { return }
        try LocalTable.published.create(in: db)
        try db.execute(
            sql: """
                INSERT OR REPLACE INTO snapsync_published(dataset, key, at, state, version, clock, changed, base, born)
                SELECT dataset, key, at, state, ?, ?, changed, base, born FROM snapsync_changes WHERE dataset = ? AND seq <= ?
                """, arguments: [version, clock.microseconds, id, sequence])
    }

    /// Records that version `version` is about to contain every row of a rewritten table: one row for the table, and one for each deletion.
    package func keep(_ rewritten: RewrittenTable, of schema: DatasetSchema, version: Int, at clock: Instant) throws {
        guard let id = try trackingID(schema) else { return }
        try LocalTable.published.create(in: db)
        // The row for the table stands for every row that exists, including rows that earlier versions had.
        try db.execute(sql: "DELETE FROM snapsync_published WHERE dataset = ? AND state <> \(TrackedState.deleted)", arguments: [id])
        let insert = { (key: String) in
            try KeyedStatement(db, "INSERT OR REPLACE INTO snapsync_published(dataset, at, state, version, clock, key) VALUES(?, ?, ?, ?, ?, \(key))")
        }
        let rest: [KeyedStatement.Parameter] = [.integer(Int64(version)), .instant(clock)]
        try insert(Self.allRows).bind(.integer(id), .instant(rewritten.latest), .integer(TrackedState.plain.rawValue), rest[0], rest[1]).run()
        for (key, at) in rewritten.deletions {
            try insert("?").bind(.integer(id), .instant(at), .integer(TrackedState.deleted.rawValue), rest[0], rest[1], .key(key)).run()
        }
    }

    /// The key that stands for all rows of a table. No real key is an empty blob.
    private static let allRows = "x''"

    /// Tracks again what this device published in versions after `version`, if the rows are still as it published them.
    ///
    /// The log must have been consolidated, and the tombstones and instants of the version must still be in place: they tell whose the present
    /// state of an entity is. Rows that were changed since are tracked anyway, and those changes stay as they are.
    ///
    /// - Returns: how many changes are tracked again.
    package func trackAgain(of schemas: [DatasetSchema], after version: Int) throws -> Int {
        guard try db.hasTable(Self.table) else { return 0 }
        var count = 0
        for schema in schemas {
            guard let id = try trackingID(schema) else { continue }
            let table = schema.table.sqlIdentifier, key = schema.keySQL
            try LocalTable.published.create(in: db)
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO snapsync_changes(dataset, key, at, seq, state, changed, base, born)
                    SELECT dataset, key, at, 0, state, changed, base, born FROM snapsync_published p WHERE dataset = ?1 AND version > ?2 AND CASE state
                        WHEN 2 THEN NOT EXISTS (SELECT 1 FROM \(table) t WHERE \(key.matches("t", "p.key")))
                            AND at IS (SELECT at FROM snapsync_tombstones b WHERE b.dataset = ?1 AND b.key = p.key)
                        ELSE at IS (SELECT \(Self.instant(of: schema)) FROM \(table) t WHERE \(key.matches("t", "p.key"))) END
                    """, arguments: [id, version])
            count += db.changesCount
            count += try trackAllAgain(schema, id: id, after: version)
            try db.execute(sql: "DELETE FROM snapsync_published WHERE dataset = ? AND version > ?", arguments: [id, version])
        }
        return count
    }

    /// Tracks every row again, with its instant, if the whole table was published after `version`.
    private func trackAllAgain(_ schema: DatasetSchema, id: Int64, after version: Int) throws -> Int {
        let key = schema.keySQL
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO snapsync_changes(dataset, key, at, seq, state)
                SELECT ?1, x.key, ifnull(x.at, \(Int64.min)), 0, CASE WHEN x.at IS x.own THEN \(TrackedState.plain) ELSE \(TrackedState.stamped) END FROM (
                    SELECT \(key.value(of: "t")) AS key, \(Self.instant(of: schema)) AS at, \(schema.ownInstantSQL) AS own FROM \(schema.table.sqlIdentifier) t
                    WHERE EXISTS (SELECT 1 FROM snapsync_published WHERE dataset = ?1 AND key = \(Self.allRows) AND version > ?2) AND \(key.isNotNull("t"))) x
                """, arguments: [id, version])
        return db.changesCount
    }

    /// Deletes what is no longer needed: changes of versions before `version`, on which another device has built, and changes that were published
    /// before `instant`.
    package func forget(before version: Int?, orAt instant: Instant) throws {
        guard try db.hasTable(Self.table) else { return }
        try db.execute(sql: "DELETE FROM snapsync_published WHERE version < ? OR clock < ?", arguments: [version ?? 0, instant.microseconds])
    }

    /// The instant that the applied version gives the entity of row `t`, in SQL; `?1` is the dataset's number.
    static func instant(of schema: DatasetSchema) -> String {
        let stamp = schema.ownInstantSQL
        return "coalesce((SELECT at FROM snapsync_instants i WHERE i.dataset = ?1 AND i.key = \(schema.keySQL.value(of: "t"))), \(stamp))"
    }
}
