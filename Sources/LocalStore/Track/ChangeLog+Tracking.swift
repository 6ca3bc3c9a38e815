import GRDB
package import SnapshotModel
package import StrictText

// Tracking without triggers, and the removal of tracked changes.
extension ChangeLog {
    /// How a change relates to an earlier tracked change of the same entity.
    package enum Succession: Sendable {
        /// It replaces the earlier change. It counts as made with knowledge of everything up to its instant.
        case replacing
        /// It continues the earlier change: the origin, scope and base of that stay. `base` is used if there is no earlier change: the instant of
        /// the entity or tombstone that the change replaced, or nil if it replaced nothing.
        case continuing(base: Instant?)
    }

    /// Tracks a change of an entity without a log entry: an edit if its row exists, else a deletion.
    ///
    /// - Parameters:
    ///   - instant: the change's instant.
    ///   - succession: how the change relates to an earlier change of the entity.
    ///   - isKept: whether the merge that is under way must keep the change.
    package func track(of key: EntityKey, in schema: DatasetSchema, at instant: Instant, joining succession: Succession = .replacing, isKept: Bool = false)
        throws
    {
        guard let id = try trackingID(schema) else { return }
        let base: Instant?, rest: String
        switch succession {
        case .replacing: (base, rest) = (instant, ", isNew = excluded.isNew, isMark = excluded.isMark, base = excluded.base")
        case .continuing(let first): (base, rest) = (first, "")
        }
        try KeyedStatement(
            db,
            """
            INSERT INTO snapsync_changes(dataset, key, at, seq, state, wins, base) VALUES(?1, ?2, ?3, ?4,
                coalesce((SELECT CASE WHEN \(schema.ownInstantSQL) IS ?3 OR ?3 = \(Int64.min) THEN \(TrackedState.plain) ELSE \(TrackedState.stamped) END
                    FROM \(schema.table.sqlIdentifier) t WHERE \(schema.keySQL.matches("t", "?2"))), \(TrackedState.deleted)), ?5, ?6)
            ON CONFLICT(dataset, key) DO UPDATE SET at = excluded.at, seq = excluded.seq, state = excluded.state, wins = excluded.wins\(rest)
            """
        ).bind(
            .integer(id), .key(key), .instant(instant), .integer(nextSequence()), .integer((isKept ? MergeDecision.kept : .undecided).rawValue),
            base.map { .instant($0) } ?? .null
        ).run()
    }

    /// Tracks every row that existed before tracking began, with the row's own timestamp as its instant.
    ///
    /// A timestamp later than `now` counts as `now`. A row without a timestamp gets the earliest instant, so that every other change wins over
    /// it.
    package func adoptRows(of schema: DatasetSchema, now: Instant) throws {
        guard let id = try trackingID(schema) else { return }
        let own = schema.ownInstantSQL, key = schema.keySQL
        try db.execute(
            sql: """
                INSERT INTO snapsync_changes(dataset, key, at, seq, state)
                SELECT ?1, \(key.value(of: "t")), coalesce(min(\(own), ?2), \(Int64.min)), 0, CASE WHEN \(own) > ?2 THEN 1 ELSE 0 END \(untrackedRows(of: schema)) AND \(key.isNotNull("t"))
                """, arguments: [id, now.microseconds])
    }

    func untrackedRows(of schema: DatasetSchema) -> String {
        return
            "FROM \(schema.table.sqlIdentifier) t WHERE NOT EXISTS (SELECT 1 FROM snapsync_changes c WHERE c.dataset = ?1 AND c.key = \(schema.keySQL.value(of: "t")))"
    }

    /// Deletes a tracked change. Call it when the version contains that change or a later one.
    package func forget(of key: EntityKey, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "DELETE FROM snapsync_changes WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key)).run()
    }

    /// Moves the tracked changes up to `sequence` into the applied version, which now contains them.
    ///
    /// Later changes stay tracked. The call also records that tracking is complete; the caller makes sure that this is true.
    package func acknowledge(of schema: DatasetSchema, upTo sequence: Int64) throws {
        guard let id = try trackingID(schema) else { return }
        let those = "SELECT key FROM snapsync_changes WHERE dataset = :id AND seq <= :seq"
        for (table, state) in [("snapsync_tombstones", "state < \(TrackedState.deleted)"), ("snapsync_instants", "state <> \(TrackedState.stamped)")] {
            // SQLite collects all those keys before it looks up the first one. An empty table makes that work needless.
            guard try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM \(table) WHERE dataset = ?)").bind(.integer(id)).integer() == 1 else { continue }
            try db.execute(sql: "DELETE FROM \(table) WHERE dataset = :id AND key IN (\(those) AND \(state))", arguments: ["id": id, "seq": sequence])
        }
        for sql in [
            "INSERT OR REPLACE INTO snapsync_tombstones SELECT dataset, key, at FROM snapsync_changes WHERE dataset = :id AND seq <= :seq AND state = \(TrackedState.deleted)",
            "INSERT OR REPLACE INTO snapsync_instants SELECT dataset, key, at FROM snapsync_changes WHERE dataset = :id AND seq <= :seq AND state = \(TrackedState.stamped)",
        ] { try db.execute(sql: sql, arguments: ["id": id, "seq": sequence]) }
        try drop(of: schema, upTo: sequence)
    }

    /// Gives every tracked edit of a dataset the instant of the latest tracked edit.
    ///
    /// - Parameter includingPublished: whether all other rows with earlier instants get that instant too, as changes of this device.
    /// - Returns: how many rows got another instant.
    package func levelInstants(of schema: DatasetSchema, includingPublished: Bool) throws -> Int {
        try consolidate(of: [schema])
        guard let id = try trackingID(schema) else { return 0 }
        let table = schema.table.sqlIdentifier, key = schema.keySQL
        let tracked = "SELECT max(at) FROM snapsync_changes WHERE dataset = ?1 AND state < \(TrackedState.deleted)"
        let published = "SELECT max(at) FROM snapsync_instants WHERE dataset = ?1"
        let latest = try Int64.fetchOne(
            db, sql: includingPublished ? "SELECT max(ifnull((\(tracked)), \(Int64.min)), ifnull((\(published)), \(Int64.min)))" : tracked, arguments: [id])
        guard let latest, latest > .min else { return 0 }
        let state = "CASE WHEN \(schema.ownInstantSQL) IS ?2 THEN \(TrackedState.plain) ELSE \(TrackedState.stamped) END"
        try db.execute(
            sql: """
                UPDATE snapsync_changes AS c SET at = ?2, state = (SELECT \(state) FROM \(table) t WHERE \(key.matches("t", "c.key")))
                WHERE dataset = ?1 AND state < \(TrackedState.deleted) AND at < ?2
                """, arguments: [id, latest])
        var count = db.changesCount
        guard includingPublished else { return count }
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO snapsync_changes(dataset, key, at, seq, state, isNew, base)
                SELECT ?1, x.key, ?2, 0, \(TrackedState.stamped), 0, x.at FROM (
                    SELECT \(key.value(of: "t")) AS key, \(PublishedChanges.instant(of: schema)) AS at FROM \(table) t WHERE \(key.isNotNull("t"))) x
                WHERE ifnull(x.at, \(Int64.min)) < ?2
                """, arguments: [id, latest])
        count += db.changesCount
        return count
    }

    /// Deletes the tracked changes up to `sequence`. Call it when the applied version has the same entities without them.
    package func drop(of schema: DatasetSchema, upTo sequence: Int64) throws {
        guard let id = try trackingID(schema) else { return }
        try db.execute(sql: "DELETE FROM snapsync_changes WHERE dataset = ? AND seq <= ?", arguments: [id, sequence])
        // The origin of later changes was determined against the version before this one.
        try db.execute(sql: "UPDATE snapsync_changes SET isNew = \(TrackedOrigin.unknown) WHERE dataset = ?", arguments: [id])
        try db.execute(sql: "UPDATE snapsync_tracking SET isComplete = 1 WHERE id = ?", arguments: [id])
        try transaction.rowids.setCompared(schema)
    }
}
