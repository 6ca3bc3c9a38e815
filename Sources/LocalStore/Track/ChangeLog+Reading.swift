import GRDB
package import SnapshotModel
package import StrictText

// Queries of the tracked changes.
extension ChangeLog {
    /// Whether the instant of a tracked edit differs from the instant that the applied version gives the entity. Then a commit changes at least
    /// the version's instants.
    package func hasNewInstants(of schema: DatasetSchema) throws -> Bool {
        guard let id = try trackingID(schema) else { return false }
        let table = schema.table.sqlIdentifier, key = schema.keySQL
        return try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM snapsync_changes c JOIN \(table) t ON \(key.matches("t", "c.key"))
                    WHERE c.dataset = ?1 AND c.state < \(TrackedState.deleted) AND c.at IS NOT \(PublishedChanges.instant(of: schema)))
                """, arguments: [id]) ?? false
    }

    /// The instant of an entity on this device: that of its tracked change, else of the applied version, else its own timestamp. Nil if there is
    /// no row.
    package func instant(of key: EntityKey, in schema: DatasetSchema) throws -> Instant? {
        if let change = try change(of: key, in: schema) { return change.instant }
        if let applied = try transaction.tombstonesAndInstants.appliedInstant(of: key, in: schema) { return applied }
        return try transaction.rows.ownInstant(of: key, in: schema)
    }

    /// Whether the table has rows without a tracked change; the log must have been consolidated.
    package func hasUntrackedRows(of schema: DatasetSchema) throws -> Bool {
        guard let id = try trackingID(schema) else { return try transaction.rows.hasRows(schema) }
        return try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 \(untrackedRows(of: schema)))", arguments: [id]) ?? false
    }

    /// Whether the dataset has tracked changes; the log must have been consolidated.
    package func hasChanges(of schema: DatasetSchema) throws -> Bool {
        guard let id = try trackingID(schema) else { return false }
        return try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM snapsync_changes WHERE dataset = ?)", arguments: [id]) ?? false
    }

    /// The tracked changes whose keys lie in a range, in key order. With `onlyKept`, only those that ``MergeTable/keep(of:in:)`` marked.
    package func changes(of schema: DatasetSchema, in range: KeyRange, onlyKept: Bool = false) throws -> [TrackedChange] {
        guard let id = try trackingID(schema) else { return [] }
        var conditions = ["dataset = ?1"]
        if onlyKept { conditions.append("wins = \(MergeDecision.kept)") }
        if range.first != nil { conditions.append("key >= ?2") }
        if range.next != nil { conditions.append("key < ?3") }
        let statement = try KeyedStatement(
            db, "SELECT \(TrackedChange.columns) FROM snapsync_changes WHERE \(conditions.joined(separator: " AND ")) ORDER BY key")
        switch (range.first, range.next) {
        case (nil, nil): try statement.bind(.integer(id))
        case (let first?, nil): try statement.bind(.integer(id), .key(first))
        case (let first, let next?): try statement.bind(.integer(id), first.map { .key($0) } ?? .null, .key(next))
        }
        var changes: [TrackedChange] = []
        while try statement.step() {
            if let change = TrackedChange(statement) { changes.append(change) }
        }
        return changes
    }

    /// The keys in a range that were touched since the applied version, consolidated or not.
    package func touchedKeys(of schema: DatasetSchema, in range: KeyRange) throws -> Set<EntityKey> {
        guard let id = try trackingID(schema) else { return [] }
        var keys = Set(try changes(of: schema, in: range).map(\.key))
        let notes = try KeyedStatement(
            db, "SELECT DISTINCT \(schema.keySQL.unlogged("key")) FROM snapsync_log WHERE dataset = ? AND kind <> \(LogEntryKind.overwritten)"
        ).bind(.integer(id))
        while try notes.step() {
            guard let key = notes.key(0), range.contains(key) else { continue }
            keys.insert(key)
        }
        return keys
    }

    /// The tracked change of one entity; nil if there is none. The log must have been consolidated.
    package func change(of key: EntityKey, in schema: DatasetSchema) throws -> TrackedChange? {
        guard let id = try trackingID(schema) else { return nil }
        let statement = try KeyedStatement(db, "SELECT \(TrackedChange.columns) FROM snapsync_changes WHERE dataset = ? AND key = ?").bind(
            .integer(id), .key(key))
        defer { statement.end() }
        return try statement.step() ? TrackedChange(statement) : nil
    }

    /// The number of tracked changes; counting stops at `limit`. The log must have been consolidated.
    package func count(of schema: DatasetSchema, upTo limit: Int) throws -> Int {
        guard let id = try trackingID(schema) else { return 0 }
        return try Int.fetchOne(
            db, sql: "SELECT count(*) FROM (SELECT 1 FROM snapsync_changes WHERE dataset = ? LIMIT ?)", arguments: [id, limit]) ?? 0
    }

    /// When an entity was last changed or deleted, according to the tracked changes and the applied version. The log must have been consolidated.
    package func knownInstant(of key: EntityKey, in schema: DatasetSchema) throws -> Instant? {
        guard let id = try trackingID(schema) else { return nil }
        return try KeyedStatement(db, Self.knownInstantQuery).bind(.integer(id), .key(key)).integer().map(Instant.init(microseconds:))
    }

    /// The latest instant of a tracked change of any dataset; nil if there is none.
    package func latestInstant() throws -> Instant? {
        try KeyedStatement(db, "SELECT max(at) FROM snapsync_changes").integer().map(Instant.init(microseconds:))
    }

    /// Whether every change of a dataset since the applied version is tracked. Does not read the changes.
    package func isComplete(of schema: DatasetSchema) throws -> Bool {
        // Triggers cannot follow some tables. Runs compare all rows of such a table, and track the differences like other changes.
        guard try transaction.tracking.hasTables(), let id = try trackingID(schema), try UniqueKey.others(db, schema) != nil else { return false }
        return try KeyedStatement(db, "SELECT isComplete FROM snapsync_tracking WHERE id = ?").bind(.integer(id)).integer() ?? 0 != 0
    }

    /// Whether any entity of a dataset was changed since the applied version, in the log or in the tracked changes. Stops at the first one found.
    package func isTouched(_ schema: DatasetSchema) throws -> Bool {
        guard let id = try trackingID(schema) else { return false }
        if try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM snapsync_changes WHERE dataset = ?)").bind(.integer(id)).integer() == 1 { return true }
        guard try hasEntries([schema]) else { return false }
        let key = schema.keySQL
        return try KeyedStatement(
            db,
            """
            SELECT EXISTS (SELECT 1 FROM snapsync_log l
                WHERE dataset = ?1 AND kind <> \(LogEntryKind.overwritten) AND (kind <> \(LogEntryKind.mayBeReplaced)
                    OR NOT EXISTS (SELECT 1 FROM \(schema.table.sqlIdentifier) t WHERE \(key.matches("t", key.unlogged("l.key"))))))
            """
        ).bind(.integer(id)).integer() == 1
    }

    /// A summary of a dataset's changes, in the log and in the tracked changes.
    package func summary(of schema: DatasetSchema) throws -> TrackedChanges {
        guard try transaction.tracking.hasTables(), let id = try trackingID(schema) else { return TrackedChanges(isComplete: false, count: 0, lastSequence: 0) }
        let isComplete = try isComplete(of: schema)
        let table = schema.table.sqlIdentifier, key = schema.keySQL
        let count =
            try KeyedStatement(
                db,
                """
                SELECT (SELECT count(*) FROM snapsync_changes WHERE dataset = ?1) + (
                    SELECT count(DISTINCT \(key.unlogged("key"))) + ifnull(max(key IS NULL), 0) FROM snapsync_log l
                    WHERE dataset = ?1 AND kind <> \(LogEntryKind.overwritten) AND (kind <> \(LogEntryKind.mayBeReplaced) OR NOT EXISTS (SELECT 1 FROM \(table) t WHERE \(key.matches("t", key.unlogged("l.key")))))
                    AND NOT EXISTS (SELECT 1 FROM snapsync_changes c WHERE c.dataset = ?1 AND c.key = \(key.unlogged("l.key"))))
                """
            ).bind(.integer(id)).integer() ?? 0
        let last = try lastEntry()
        return TrackedChanges(isComplete: isComplete, count: Int(count), lastSequence: last)
    }

    /// Whether there is a tracked deletion that the applied version does not have with the same instant.
    package func hasNewDeletions(of schema: DatasetSchema) throws -> Bool {
        guard let id = try trackingID(schema) else { return false }
        return try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM snapsync_changes c WHERE dataset = ?1 AND state = \(TrackedState.deleted)
                    AND NOT EXISTS (SELECT 1 FROM snapsync_tombstones t WHERE t.dataset = ?1 AND t.key = c.key AND t.at = c.at))
                """, arguments: [id]) ?? false
    }

    /// When the entity of dataset ?1 with key ?2 was last changed or deleted, as far as this device knows. A mark can be tracked on top of an
    /// entity that the version changed later than the mark; hence the max.
    static let knownInstantQuery = """
        SELECT coalesce(
            (SELECT max(c.at, ifnull((SELECT at FROM snapsync_instants WHERE dataset = ?1 AND key = ?2), c.at)) FROM snapsync_changes c WHERE dataset = ?1 AND key = ?2),
            (SELECT at FROM snapsync_instants WHERE dataset = ?1 AND key = ?2), (SELECT at FROM snapsync_tombstones WHERE dataset = ?1 AND key = ?2))
        """
}
