import GRDB
package import SnapshotModel
package import StrictText

/// The decisions of an import about the tracked changes: the columns `wins`, `isNew` and `base` of `snapsync_changes`.
///
///     try transaction.merge.keep(of: key, in: schema)      // for each change that wins over the version
///     …                                                    // the import writes the version's rows
///     try transaction.merge.end(of: schema)                // deletes the other changes
package struct MergeTable: TransactionPart {
    let transaction: LocalTransaction

    /// Records that a tracked change wins over the version and stays.
    ///
    /// - Parameter isNew: whether the version is known to lack the entity.
    package func keep(of key: EntityKey, in schema: DatasetSchema, isNew: Bool = false) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "UPDATE snapsync_changes SET wins = \(MergeDecision.kept), isNew = ? WHERE dataset = ? AND key = ?").bind(
            .integer((isNew ? TrackedOrigin.new : .unknown).rawValue), .integer(id), .key(key)
        ).run()
    }

    /// Records the version's instant that a tracked change has now been compared with.
    package func setBase(_ instant: Instant, of key: EntityKey, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "UPDATE snapsync_changes SET base = ? WHERE dataset = ? AND key = ?").bind(.instant(instant), .integer(id), .key(key)).run()
    }

    /// The keys that ``overlay(of:in:)`` marked in the current merge.
    package func overlaidKeys(of schema: DatasetSchema) throws -> [EntityKey] {
        guard let id = try trackingID(schema) else { return [] }
        let statement = try KeyedStatement(db, "SELECT key FROM snapsync_changes WHERE dataset = ? AND wins = \(MergeDecision.overlaid)").bind(.integer(id))
        var keys: [EntityKey] = []
        while try statement.step() { if let key = statement.key(0) { keys.append(key) } }
        return keys
    }

    /// Records that the import writes the version's entity with a part of a tracked change on top, and that the change stays tracked.
    package func overlay(of key: EntityKey, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "UPDATE snapsync_changes SET wins = \(MergeDecision.overlaid) WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key)).run()
        try transaction.outbox.recordFullyCarried(key, in: schema)
    }

    /// Ends a merge: deletes the tracked changes that were not kept, because the version has them or later ones.
    ///
    /// A deletion of an entity that the version does not have stays, with two exceptions: the version has a tombstone that is as late, or the
    /// publisher has applied the deletion's message (it may have given it an earlier instant). A deletion that lost to the version's entity is
    /// deleted: its row exists again by now.
    ///
    /// An edit that was kept as new replaces nothing of the version, so its instant never depends on the version's time.
    ///
    /// - Parameter versionWins: whether every deletion that was not kept ends. True at a first import in which the version wins whatever the instants
    ///   are: what was deleted here was never the version's.
    package func end(of schema: DatasetSchema, versionWins: Bool = false) throws {
        guard let id = try trackingID(schema) else { return }
        let table = schema.table.sqlIdentifier, key = schema.keySQL
        let isApplied =
            try !transaction.mailbox.exist()
            ? ""
            : """
             OR EXISTS (SELECT 1 FROM snapsync_outbox o WHERE o.dataset = ?1 AND o.key = c.key AND o.seq = c.seq AND o.state = 'applied' AND o.covers = 1)
            """
        try db.execute(
            sql: """
                DELETE FROM snapsync_changes AS c WHERE dataset = ?1 AND wins = \(MergeDecision.undecided) AND (\(versionWins) OR state < \(TrackedState.deleted)\(isApplied)
                    OR EXISTS (SELECT 1 FROM snapsync_tombstones t WHERE t.dataset = ?1 AND t.key = c.key AND t.at >= c.at)
                    OR EXISTS (SELECT 1 FROM \(table) t WHERE \(key.matches("t", "c.key"))))
                """, arguments: [id])
        try db.execute(
            sql: """
                UPDATE snapsync_changes SET changed = \(Self.changedAfterMerge), wins = \(MergeDecision.undecided), isNew = CASE
                    WHEN wins = \(MergeDecision.kept) AND isNew = \(TrackedOrigin.new) AND state < \(TrackedState.deleted) THEN isNew ELSE \(TrackedOrigin.unknown) END
                WHERE dataset = ?
                """, arguments: [id])
    }

    /// Records that the tables of datasets equal the version plus the tracked changes.
    ///
    /// Call it once, after the merge of the last dataset. Between two writes of one page, SQLite may have moved it to the write-ahead log; it then
    /// computes the checksums of everything after it again.
    package func setCompared(_ schemas: [DatasetSchema]) throws {
        for schema in schemas {
            guard let id = try trackingID(schema) else { continue }
            try db.execute(sql: "UPDATE snapsync_tracking SET isComplete = 1 WHERE id = ?", arguments: [id])
            try transaction.rowids.setCompared(schema)
        }
    }

    /// Resets the decisions of kept changes that ``end(of:)`` has not reset.
    package func endKeeping() throws {
        guard try transaction.tracking.hasTables() else { return }
        try db.execute(
            sql: "UPDATE snapsync_changes SET changed = \(Self.changedAfterMerge), wins = \(MergeDecision.undecided) WHERE wins <> \(MergeDecision.undecided)")
    }

    /// The row of a kept change now stands on another version as a whole, so it may differ from that version in every column.
    private static let changedAfterMerge = "CASE WHEN wins = \(MergeDecision.kept) THEN NULL ELSE changed END"

    /// Records that a tracked change survived a version that touched its entity, and whether that version lacks the entity.
    package func outlive(of key: EntityKey, in schema: DatasetSchema, isNew: Bool) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "UPDATE snapsync_changes SET isNew = ? WHERE dataset = ? AND key = ?").bind(
            .integer((isNew ? TrackedOrigin.new : .inVersion).rawValue), .integer(id), .key(key)
        ).run()
    }

    /// Deletes a row that must give way to another, and tracks the deletion with the row's own instant, so that any later edit of the same row,
    /// on any device, wins over it.
    package func displaceRow(_ key: EntityKey, of schema: DatasetSchema, at instant: Instant) throws {
        _ = try transaction.rows.deleteEntity(key, of: schema)
        try transaction.changeLog.track(of: key, in: schema, at: instant.forTombstone, isKept: true)
    }

    /// Deletes the entities of datasets that came from the zone. Entities that were changed here since the applied version stay, and their
    /// changes stay tracked.
    ///
    /// The log must have been consolidated. Foreign keys of tables that are not synced are enforced as in an import.
    ///
    /// - Parameter all: all datasets of the database.
    /// - Returns: how many entities were deleted.
    package func eraseApplied(of schemas: [DatasetSchema], among all: [DatasetSchema]) throws -> Int {
        let keeper = try ForeignKeyEnforcer(transaction, datasets: schemas)
        let count = try transaction.tracking.importing(all, then: keeper.enforce) {
            var count = 0
            for schema in schemas {
                let whole = KeyRange(number: 0, first: nil, next: nil)
                for change in try transaction.changeLog.changes(of: schema, in: whole) where !change.isDeletion { try keep(of: change.key, in: schema) }
                let before = try transaction.rows.rowCount(of: schema)
                try transaction.rows.deleteEntities(of: schema, in: whole, sparingKept: true)
                count += before - (try transaction.rows.rowCount(of: schema))
                try transaction.tombstonesAndInstants.clear(of: schema)
                try end(of: schema)
            }
            return count
        }
        // The tables are no longer the applied version plus the tracked changes. If the zone comes back, all rows are compared.
        for schema in schemas { try transaction.tracking.setIncomplete(of: schema) }
        return count
    }
}
