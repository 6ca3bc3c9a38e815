import GRDB
package import SnapshotModel
package import StrictText

// Tracked changes that no trigger saw, and the end of tracked changes.
extension ChangeLog {
    /// How a change joins the tracked change that its entity may have already.
    package enum Succession: Sendable {
        /// It takes the place of the earlier change. It counts as made by a device that has seen everything that is not later than it.
        case replacing
        /// It continues the earlier change, whose origin, scope and base stay. `base` is the instant of what the change replaced if there was no
        /// earlier change; nil if it replaced nothing.
        case continuing(base: Instant?)
    }

    /// Tracks, without a log entry, that an entity is now as its row is, or gone if there is no row.
    ///
    /// - Parameters:
    ///   - instant: the change's instant.
    ///   - succession: what becomes of an earlier change of the entity.
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

    /// Makes a tracked change of every row that was here before anything was tracked, at the row's own timestamp.
    ///
    /// A timestamp later than `now` counts as `now`; a row without one is older than everything.
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

    /// Forgets a tracked change, for the version has it or has something later.
    package func forget(of key: EntityKey, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "DELETE FROM snapsync_changes WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key)).run()
    }

    /// Makes the tracked changes up to `sequence` part of the applied version, which now has them.
    ///
    /// What was changed later stays tracked. From here on the tracking is complete; that must be true when this is called.
    package func acknowledge(of schema: DatasetSchema, upTo sequence: Int64) throws {
        guard let id = try trackingID(schema) else { return }
        let those = "SELECT key FROM snapsync_changes WHERE dataset = :id AND seq <= :seq"
        for (table, state) in [("snapsync_tombstones", "state < \(TrackedState.deleted)"), ("snapsync_instants", "state <> \(TrackedState.stamped)")] {
            // SQLite makes a list of all those keys before it looks for the first.
            guard try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM \(table) WHERE dataset = ?)").bind(.integer(id)).integer() == 1 else { continue }
            try db.execute(sql: "DELETE FROM \(table) WHERE dataset = :id AND key IN (\(those) AND \(state))", arguments: ["id": id, "seq": sequence])
        }
        for sql in [
            "INSERT OR REPLACE INTO snapsync_tombstones SELECT dataset, key, at FROM snapsync_changes WHERE dataset = :id AND seq <= :seq AND state = \(TrackedState.deleted)",
            "INSERT OR REPLACE INTO snapsync_instants SELECT dataset, key, at FROM snapsync_changes WHERE dataset = :id AND seq <= :seq AND state = \(TrackedState.stamped)",
        ] { try db.execute(sql: sql, arguments: ["id": id, "seq": sequence]) }
        try drop(of: schema, upTo: sequence)
    }

    /// Gives every tracked edit of a dataset the instant of the latest one.
    ///
    /// - Parameter includingPublished: whether the other rows get that instant, too, as changes made here, where theirs is earlier.
    /// - Returns: how many rows have another instant than before.
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

    /// Forgets the tracked changes up to `sequence`: the applied version has the same entities without them.
    package func drop(of schema: DatasetSchema, upTo sequence: Int64) throws {
        guard let id = try trackingID(schema) else { return }
        try db.execute(sql: "DELETE FROM snapsync_changes WHERE dataset = ? AND seq <= ?", arguments: [id, sequence])
        // What came later was compared with the version before this one.
        try db.execute(sql: "UPDATE snapsync_changes SET isNew = \(TrackedOrigin.unknown) WHERE dataset = ?", arguments: [id])
        try db.execute(sql: "UPDATE snapsync_tracking SET isComplete = 1 WHERE id = ?", arguments: [id])
        try transaction.rowids.setCompared(schema)
    }
}
