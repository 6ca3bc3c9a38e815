import GRDB
package import LocalTables
package import SnapshotModel
package import StrictText

/// What the change log says of a table whose every row was written since the applied version: by `DELETE` and `INSERT` of all rows, or by an
/// `UPDATE` of every row.
///
///     if let rewritten = try transaction.changeLog.rewrittenTable(of: schema, atLeast: 20_000) { … }
///
/// The instants of such a change equal the rows' own timestamps or, if the statement did not change those, one common instant; except for a few
/// rows. So the log need not become a tracked change for each row: an export reads all rows, publishes these exceptions beside them, and clears
/// the log. Until then the log stays as it is, and any other run consolidates it as usual.
package struct RewrittenTable: Sendable {
    /// The most rows whose instants may differ from their timestamps, or from the common instant.
    package static let exceptionLimit = 20_000

    /// The sequence number of the last log entry that is included.
    package let sequence: Int64
    /// The latest instant of a change.
    package let latest: Instant
    /// How many rows the table has.
    package let rowCount: Int
    /// The columns that were changed in every row, each at the row's instant; nil if rows differ in that, or if all columns were changed.
    package let columns: [Int]?
    /// The instant of all rows outside ``instants``; nil if those rows have the instants of their own timestamps.
    package let common: Instant?
    /// The instants of the exceptions, in key order; nil if the row's own timestamp is the instant.
    package let instants: [(key: EntityKey, at: Instant?)]
    /// The instants of the deletions of the rows that are gone, in key order.
    package let deletions: [(key: EntityKey, at: Instant)]
}

extension ChangeLog {
    /// Finds out whether every row of a dataset's table was written since the applied version. Then an export needs no tracked change for each
    /// row.
    ///
    /// Computes the same instants as ``consolidate(of:)``, in one pass over the log for each 1,100,000 rows. Memory: 30 bytes for each row
    /// of a pass, at most 33 MB.
    ///
    /// - Parameters:
    ///   - count: the least number of rows for which this is worth the work.
    ///   - limit: the most rows that may be exceptions.
    ///   - versionCount: how many rows the applied version shows. Without a timestamp, only consolidation tells those of which it states no instants
    ///     from rows that were inserted.
    ///   - database: opens a connection on which another thread helps to read a long log in WAL mode; nil to do without.
    ///   - partSize: how many sequence numbers a thread reads at a time.
    /// - Returns: nil if a row was not written, if there are too many exceptions, or if the log has an entry that only consolidation can resolve.
    package func rewrittenTable(
        of schema: DatasetSchema, atLeast count: Int, exceptions limit: Int = RewrittenTable.exceptionLimit, versionCount: Int = 0,
        helpedBy database: LocalDatabase? = nil,
        inPartsOf partSize: Int64 = 4096
    ) throws -> RewrittenTable? {
        guard let id = try trackingID(schema), try !hasChanges(of: schema) else { return nil }
        let first = try KeyedStatement(db, "SELECT min(seq) FROM snapsync_log").integer() ?? 0
        let last = try lastEntry()
        guard last - first + 1 >= Int64(count) else { return nil }
        // A trigger of the application may change a row before our trigger runs. Then the log's order is not the order of the changes.
        guard try ApplicationTriggers(db).of(schema).isEmpty, try UniqueKey.others(db, schema) != nil else { return nil }
        let rowCount = try transaction.rows.rowCount(of: schema)
        guard rowCount >= count, last - first + 1 >= Int64(rowCount) else { return nil }
        let stated = "SELECT (SELECT count(*) FROM snapsync_instants WHERE dataset = ?1) - (SELECT count(*) FROM snapsync_held WHERE dataset = ?1)"
        guard try schema.timestampIndex != nil || KeyedStatement(db, stated).bind(.integer(id)).integer() ?? 0 >= versionCount else { return nil }
        let parts = LogReplay.parts(from: first, upTo: last, size: partSize)
        // In the rollback-journal modes, an application's commit would wait for one more reader. The other connection may see a later state, in
        // which another run has consolidated entries; then what is found here is not current, and a session does not use it.
        let mayHelp = try parts.count > 7 && db.journalMode() == "wal"
        let helper = try mayHelp ? database.map { try ReadSession(alongside: $0, readers: 1) } : nil
        return try LogReplay(transaction, schema, id: id, in: parts, limit: limit, ahead: helper).run(rowCount: rowCount)
    }

    /// Whether the log, and therefore the rows, are unchanged since ``rewrittenTable(of:atLeast:)`` read them.
    func isCurrent(_ rewritten: RewrittenTable, of schema: DatasetSchema) throws -> Bool {
        try lastEntry() == rewritten.sequence && hasEntries([schema]) && !hasChanges(of: schema)
    }

    /// Moves a rewritten table into the applied version, which now contains it. Later changes stay in the log.
    package func acknowledge(_ rewritten: RewrittenTable, of schema: DatasetSchema, settling doubt: TrackingDoubt? = nil) throws {
        guard let id = try trackingID(schema) else { return }
        // Another run may have consolidated the log in the meantime.
        let keys = """
            SELECT \(schema.keySQL.unlogged("key")) FROM snapsync_log WHERE dataset = :id AND seq <= :seq
            UNION ALL SELECT key FROM snapsync_changes WHERE dataset = :id AND seq <= :seq
            """
        let tables = transaction.tombstonesAndInstants
        let exceptions = try rewritten.instants.map { one in
            // A statement that changed the timestamps leaves no trace of what they were.
            let before = try tables.instants(of: one.key, in: schema)
            let own = try transaction.rows.ownInstant(of: one.key, in: schema) ?? .distantPast
            return (key: one.key, instants: RowInstants(row: one.at, born: before.born ?? (rewritten.common == nil ? nil : before.row ?? own)), own: own)
        }
        if let common = rewritten.common {
            try transaction.tombstonesAndInstants.setAll(of: schema, at: common, columns: rewritten.columns, asOf: rewritten.sequence)
        }
        for table in [LocalTable.tombstones.name] + (rewritten.common == nil ? [LocalTable.instants.name] : []) {
            guard try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM \(table) WHERE dataset = ?)").bind(.integer(id)).integer() == 1 else { continue }
            let hasBorn = table == LocalTable.instants.name ? " AND born IS NULL" : ""
            try db.execute(sql: "DELETE FROM \(table) WHERE dataset = :id\(hasBorn) AND key IN (\(keys))", arguments: ["id": id, "seq": rewritten.sequence])
        }
        if rewritten.common == nil {
            try db.execute(
                sql: """
                    UPDATE snapsync_instants AS i SET rest = NULL, columns = NULL,
                        at = ifnull((SELECT \(schema.ownInstantSQL) FROM \(schema.table.sqlIdentifier) t WHERE \(schema.keySQL.matches("t", "i.key"))), at)
                    WHERE dataset = :id AND born IS NOT NULL AND key IN (\(keys))
                    """, arguments: ["id": id, "seq": rewritten.sequence])
        }
        for (key, at) in rewritten.deletions { try transaction.tombstonesAndInstants.setDeleted(key, at: at, in: schema) }
        for one in exceptions { try tables.setPresent(one.key, one.instants, own: one.own, in: schema) }
        try removeEntries(of: [id], upTo: rewritten.sequence)
        try drop(of: schema, upTo: rewritten.sequence, settling: doubt)
    }
}
