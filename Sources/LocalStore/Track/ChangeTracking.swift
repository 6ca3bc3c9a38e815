import GRDB
package import SnapshotModel

/// What is known of the changes of one dataset since the applied version.
package struct TrackedChanges: Sendable, Hashable {
    /// Whether every change since the applied version is noted: local data = the applied version + the noted changes.
    package let isComplete: Bool
    /// How many entities are noted as touched.
    package let count: Int
    /// The last change's sequence number, of any dataset; 0 if there is none.
    package let lastSequence: Int64
}

extension LocalTransaction {
    /// Whether ``track(_:)`` has anything to do: tables or triggers are missing or not what they should be.
    package func isTracking(_ schemas: [DatasetSchema]) throws -> Bool {
        guard try hasTrackingTables(), try !LocalMigration.isPending(db), try ImportFlag.isInstalled(db) else { return false }
        return try schemas.allSatisfy { schema in
            guard let id = try trackingID(schema) else { return false }
            guard let triggers = try ChangeTriggers(db, schema, id: id) else { return true }
            return try triggers.areThese(installed(schema))
        }
    }

    /// Puts the tracking of datasets in, or mends it. What was mended is no longer known to be complete.
    ///
    /// The triggers of an earlier snapsync, which noted the same, are renewed without a word.
    ///
    /// - Returns: the names of the datasets whose triggers were not as they should be.
    package func track(_ schemas: [DatasetSchema]) throws -> [String] {
        let isWhole = try hasTrackingTables()
        for table in LocalTable.trackingTables { try table.create(in: db) }
        try addColumns()
        if try LocalMigration.pending(db).contains(where: { $0.column == LocalMigration.limitedInstants.column }) {
            try LocalMigration.limitedInstants.run(db)
            for schema in schemas { try limitKnownInstants(of: schema) }
        }
        try LocalTable.setAside.create(in: db)
        let isMarked = try ImportFlag.isInstalled(db)
        if !isMarked { try ImportFlag.install(db) }
        var mended: [String] = []
        for schema in schemas {
            try db.execute(sql: "INSERT OR IGNORE INTO snapsync_tracking(dataset, isComplete) VALUES(?, 0)", arguments: [schema.name])
            guard let id = try trackingID(schema) else { continue }
            let wanted = try ChangeTriggers(db, schema, id: id)
            let found = try installed(schema)
            if isWhole, wanted.map({ isMarked && $0.areThese(found) }) ?? found.isEmpty { continue }
            let areEarlier = try isWhole && ChangeTriggers.Form.earlier.contains {
                // Other triggers than these keep a flag of their own while an import runs.
                try (isMarked || $0 == .unmarked) && ChangeTriggers(db, schema, id: id, form: $0)?.areThese(found) == true
            }
            for trigger in found { try db.execute(sql: "DROP TRIGGER \(trigger.name.sqlIdentifier)") }
            for trigger in wanted?.statements ?? [] { try db.execute(sql: trigger.sql) }
            if areEarlier { continue }
            try db.execute(sql: "UPDATE snapsync_tracking SET isComplete = 0 WHERE id = ?", arguments: [id])
            mended.append(schema.name)
        }
        return mended
    }

    /// Adds the columns that tables of an earlier version lack. The one of ``LocalMigration/limitedInstants`` waits for ``track(_:)``.
    func addColumns() throws {
        for migration in try LocalMigration.pending(db) where migration.column != LocalMigration.limitedInstants.column { try migration.run(db) }
    }

    /// Takes triggers, notes and tables out again.
    package func untrack() throws {
        trackingIDs = [:]
        for name in try String.fetchAll(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'snapsync\\_%' ESCAPE '\\'") {
            try db.execute(sql: "DROP TRIGGER \(name.sqlIdentifier)")
        }
        for table in LocalTable.trackingTables + [.setAside] { try table.drop(in: db) }
        try removeMailbox()
    }

    /// What is known of a dataset's changes, folded or not.
    package func trackedChanges(of schema: DatasetSchema) throws -> TrackedChanges {
        guard try hasTrackingTables(), let id = try trackingID(schema) else { return TrackedChanges(isComplete: false, count: 0, lastSequence: 0) }
        // A table that triggers cannot follow is compared instead; what the comparison found is tracked like any change.
        let isComplete = try UniqueKey.others(db, schema) != nil && KeyedStatement(db, "SELECT isComplete FROM snapsync_tracking WHERE id = ?").bind(.integer(id)).integer() ?? 0 != 0
        let table = schema.table.sqlIdentifier, key = schema.key.column.sqlIdentifier
        let count = try KeyedStatement(db, """
            SELECT (SELECT count(*) FROM snapsync_changes WHERE dataset = ?1) + (
                SELECT count(DISTINCT key) + ifnull(max(key IS NULL), 0) FROM snapsync_log l
                WHERE dataset = ?1 AND kind <> \(LogEntryKind.overwritten) AND (kind <> \(LogEntryKind.mayBeReplaced) OR NOT EXISTS (SELECT 1 FROM \(table) t WHERE t.\(key) = l.key))
                AND NOT EXISTS (SELECT 1 FROM snapsync_changes c WHERE c.dataset = ?1 AND c.key = l.key))
            """).bind(.integer(id)).integer() ?? 0
        let last = try KeyedStatement(db, "SELECT max(seq) FROM snapsync_log").integer() ?? 0
        return TrackedChanges(isComplete: isComplete, count: Int(count), lastSequence: last)
    }

    /// Whether a tracked deletion is not in the applied version yet, with that instant.
    package func hasNewDeletions(of schema: DatasetSchema) throws -> Bool {
        guard let id = try trackingID(schema) else { return false }
        return try Bool.fetchOne(
            db, sql: """
                SELECT EXISTS (SELECT 1 FROM snapsync_changes c WHERE dataset = ?1 AND state = \(TrackedState.deleted)
                    AND NOT EXISTS (SELECT 1 FROM snapsync_tombstones t WHERE t.dataset = ?1 AND t.key = c.key AND t.at = c.at))
                """, arguments: [id]) ?? false
    }

    /// Makes the tracked changes up to `sequence` part of the applied version, which now has them.
    ///
    /// What was changed later stays tracked. From here on the tracking is complete; that must be true when this is called.
    package func settleChanges(of schema: DatasetSchema, upTo sequence: Int64) throws {
        guard let id = try trackingID(schema) else { return }
        let those = "SELECT key FROM snapsync_changes WHERE dataset = :id AND seq <= :seq"
        for sql in [
            "DELETE FROM snapsync_tombstones WHERE dataset = :id AND key IN (\(those) AND state < \(TrackedState.deleted))",
            "DELETE FROM snapsync_instants WHERE dataset = :id AND key IN (\(those) AND state <> \(TrackedState.stamped))",
            "INSERT OR REPLACE INTO snapsync_tombstones SELECT dataset, key, at FROM snapsync_changes WHERE dataset = :id AND seq <= :seq AND state = \(TrackedState.deleted)",
            "INSERT OR REPLACE INTO snapsync_instants SELECT dataset, key, at FROM snapsync_changes WHERE dataset = :id AND seq <= :seq AND state = \(TrackedState.stamped)",
        ] { try db.execute(sql: sql, arguments: ["id": id, "seq": sequence]) }
        try dropChanges(of: schema, upTo: sequence)
    }

    /// Forgets the tracked changes up to `sequence`: the applied version has the same entities without them.
    package func dropChanges(of schema: DatasetSchema, upTo sequence: Int64) throws {
        guard let id = try trackingID(schema) else { return }
        try db.execute(sql: "DELETE FROM snapsync_changes WHERE dataset = ? AND seq <= ?", arguments: [id, sequence])
        // What came later was compared with the version before this one.
        try db.execute(sql: "UPDATE snapsync_changes SET isNew = \(TrackedOrigin.unknown) WHERE dataset = ?", arguments: [id])
        try db.execute(sql: "UPDATE snapsync_tracking SET isComplete = 1 WHERE id = ?", arguments: [id])
    }

    /// Says that a dataset's table is no longer the applied version and its noted changes.
    package func forgetCompleteness(of schema: DatasetSchema) throws {
        guard try db.hasTable("snapsync_tracking") else { return }
        try db.execute(sql: "UPDATE snapsync_tracking SET isComplete = 0 WHERE dataset = ?", arguments: [schema.name])
    }

    /// Runs `body` without its changes being noted: they come from a version. Then an application's triggers see what differs (``TriggerReplay``).
    ///
    /// - Parameters:
    ///   - schemas: all datasets of the database.
    ///   - settle: changes tables that are not synced; runs last.
    package func importing<T>(_ schemas: [DatasetSchema], then settle: () throws -> Void = {}, _ body: () throws -> T) throws -> T {
        try unnoted {
            let triggers = try ApplicationTriggers(db)
            guard triggers.isEmpty else { return try TriggerReplay(self, schemas, triggers).run(noting: false, then: settle, body) }
            let result = try body()
            try settle()
            return result
        }
    }

    /// Runs `body`, whose changes are this device's own: what differs in the end is noted as changed now.
    ///
    /// Where the application has triggers they see the difference alone, as in an import.
    package func changing<T>(_ schemas: [DatasetSchema], then settle: () throws -> Void = {}, _ body: () throws -> T) throws -> T {
        let triggers = try ApplicationTriggers(db)
        guard triggers.isEmpty else { return try unnoted { try TriggerReplay(self, schemas, triggers).run(noting: true, then: settle, body) } }
        let result = try body()
        try settle()
        return result
    }

    private func unnoted<T>(_ body: () throws -> T) throws -> T {
        guard try db.hasTable("snapsync_importing") else { return try body() }
        try db.execute(sql: "INSERT OR IGNORE INTO snapsync_importing VALUES(1)")
        let result = try body()
        // If `body` throws, the transaction is rolled back, and this mark with it.
        try db.execute(sql: "DELETE FROM snapsync_importing")
        return result
    }

    private static let trackingTableCount = """
        SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND name COLLATE NOCASE IN (\(LocalTable.trackingTables.map { "'\($0.name)'" }.joined(separator: ", ")))
        """

    /// Whether all tables of the tracking are there; an earlier snapsync had fewer of them.
    func hasTrackingTables() throws -> Bool {
        try KeyedStatement(db, Self.trackingTableCount).integer() == Int64(LocalTable.trackingTables.count)
    }

    /// Runs `body`, which replaces a dataset whole, with the dataset's triggers taken out, and puts the same ones in again.
    ///
    /// A table without triggers is emptied at once instead of row by row. If `body` throws, the transaction is rolled back, and
    /// the triggers are as they were.
    package func suspendingTriggers<T>(of schema: DatasetSchema, _ body: () throws -> T) throws -> T {
        let triggers = try installed(schema)
        for trigger in triggers { try db.execute(sql: "DROP TRIGGER \(trigger.name.sqlIdentifier)") }
        let result = try body()
        for trigger in triggers { try db.execute(sql: trigger.sql) }
        return result
    }

    /// The number that stands for a dataset in the tracking tables; nil where it is not tracked.
    func trackingID(_ schema: DatasetSchema) throws -> Int64? {
        if let known = trackingIDs[schema.name] { return known }
        guard try hasTrackingTables(), let id = try KeyedStatement(db, "SELECT id FROM snapsync_tracking WHERE dataset = ?").bind(.text(schema.name)).integer() else { return nil }
        trackingIDs[schema.name] = id
        return id
    }

    private func installed(_ schema: DatasetSchema) throws -> [(name: String, sql: String)] {
        try Row.fetchAll(
            db, sql: "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name GLOB ? AND tbl_name = ? COLLATE NOCASE ORDER BY name",
            arguments: ["snapsync_\(schema.name)_*", schema.table]
        ).map { ($0[0], $0[1]) }
    }
}
