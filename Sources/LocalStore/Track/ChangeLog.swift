import GRDB
package import SnapshotModel
package import StrictText

/// The change log: `snapsync_log`, which the triggers write, and the tracked changes in `snapsync_changes`, which runs make of the log.
///
/// Source: docs/local-tables.md for the columns and their codes.
package struct ChangeLog: TransactionPart {
    let transaction: LocalTransaction

    /// The sequence number of the last log entry of any dataset; 0 before the first. Every change by any program raises it.
    package func lastSequence() throws -> Int64 {
        guard try transaction.tracking.hasTables() else { return 0 }
        return try Int64.fetchOne(db, sql: "SELECT max(ifnull((SELECT max(seq) FROM snapsync_log), 0), ifnull((SELECT max(seq) FROM snapsync_changes), 0))")
            ?? 0
    }

    /// The sequence number of the last entry that the log ever had; 0 before the first.
    package func lastEntry() throws -> Int64 { try KeyedStatement(db, "SELECT max(seq) FROM snapsync_log").integer() ?? 0 }

    /// Adds an entry as a trigger would. Consolidation makes a tracked change of it: an edit if the key has a row, else a deletion.
    ///
    /// - Parameters:
    ///   - event: what happened. After a comparison (`.compared`) the instant is the row's own timestamp if it has one, else `clock`.
    ///   - seen: the instant that the change replaced; the change's instant will be later. Nil if there is none.
    ///   - clock: the time of the change. Rounded down to milliseconds.
    package func record(_ key: EntityKey, of schema: DatasetSchema, as event: LogEntryKind, replacing seen: Instant?, at clock: Instant) throws {
        guard let id = try trackingID(schema) else { return }
        let stamp =
            event != .compared
            ? "NULL"
            : schema.timestampIndex.map {
                "(SELECT \(schema.columns[$0].column.sqlIdentifier) FROM \(schema.table.sqlIdentifier) WHERE \(schema.keySQL.matches(nil, "?2")))"
            } ?? "NULL"
        try KeyedStatement(db, "INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) VALUES(?1, ?3, ?2, ?4, \(stamp), ?5)")
            .bind(.integer(id), .key(key), .integer(event.rawValue), .integer(clock.microseconds / 1000), .optional(seen?.description)).run()
    }

    /// Adds an entry of no dataset and returns its sequence number, which no other change ever gets.
    func nextSequence() throws -> Int64 {
        try db.execute(sql: "INSERT INTO snapsync_log(dataset, kind, clock) VALUES(\(ReservedDataset.none), \(LogEntryKind.touched), 0)")
        return db.lastInsertedRowID
    }

    /// Deletes every tracked change of a dataset, in the log too. Afterwards the tracked changes no longer say how the rows differ from the
    /// version.
    package func discard(of schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try consolidate(of: [schema])
        try db.execute(sql: "DELETE FROM snapsync_changes WHERE dataset = ?", arguments: [id])
        try transaction.tracking.setIncomplete(of: schema)
    }
}
