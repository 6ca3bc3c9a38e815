import GRDB
package import SnapshotModel
package import StrictText

// What a comparison of all rows puts in where the triggers were gone.
extension LocalTransaction {
    /// Notes that an entity was changed or deleted, as a trigger would have: its instant will be its own timestamp, if it has one.
    ///
    /// - Parameters:
    ///   - seen: the timestamp of what it replaced.
    ///   - clock: the time of the note, for what has no timestamp.
    package func noteTouched(_ key: EntityKey, of schema: DatasetSchema, replacing seen: Instant?, at clock: Instant) throws {
        guard let id = try trackingID(schema) else { return }
        let stamp = schema.timestampIndex.map {
            "(SELECT \(schema.columns[$0].column.sqlIdentifier) FROM \(schema.table.sqlIdentifier) WHERE \(schema.key.column.sqlIdentifier) = ?2)"
        } ?? "NULL"
        // Kind 4: it may be that the version has no such entity.
        try KeyedStatement(db, "INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) VALUES(?1, 4, ?2, ?3, \(stamp), ?4)")
            .bind(.integer(id), .key(key), .integer(clock.microseconds / 1000), seen.map { .key(.text(Array($0.description.utf8))) } ?? .null).run()
    }

    /// Says that a dataset's table is the applied version and its noted changes again.
    package func regainCompleteness(of schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        // What was noted after the triggers came back says what the rows were then, not what the version has.
        try db.execute(sql: "UPDATE snapsync_log SET kind = \(LogEntryKind.compared) WHERE dataset = ? AND kind IN (\(LogEntryKind.touched), \(LogEntryKind.inserted), \(LogEntryKind.marked))", arguments: [id])
        try db.execute(sql: "UPDATE snapsync_changes SET isNew = \(TrackedOrigin.unknown.rawValue) WHERE dataset = ?", arguments: [id])
        try db.execute(sql: "UPDATE snapsync_tracking SET isComplete = 1 WHERE id = ?", arguments: [id])
    }
}
