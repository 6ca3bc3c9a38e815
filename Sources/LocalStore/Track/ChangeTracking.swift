import GRDB
import LocalTables
package import SnapshotModel
import StrictText

/// Change tracking: its tables, its triggers, and whether the triggers have logged every change.
///
/// ``ChangeLog`` holds what the triggers record.
package struct ChangeTracking: TransactionPart {
    let transaction: LocalTransaction

    /// Whether ``install(_:)`` has nothing to do: all tables and triggers exist and are as expected.
    package func isInstalled(_ schemas: [DatasetSchema]) throws -> Bool {
        guard try transaction.hasTrackingTables(), try transaction.rowids.isQuiet(schemas) else { return false }
        return try schemas.allSatisfy { schema in
            guard let id = try trackingID(schema) else { return false }
            guard let triggers = try ChangeTriggers(db, schema, id: id) else { return true }
            return try triggers.areThese(installedTriggers(schema))
        }
    }

    /// Installs or repairs the tracking of datasets. If it has to repair a dataset's triggers, it records that the dataset's tracking is
    /// incomplete.
    ///
    /// - Returns: the names of the datasets whose triggers were missing or changed.
    package func install(_ schemas: [DatasetSchema]) throws -> [String] {
        let isWhole = try transaction.hasTrackingTables()
        for table in LocalTable.trackingTables { try table.create(in: db) }
        try LocalTable.waiting.create(in: db)
        var mended: [String] = [], moved: [(schema: DatasetSchema, id: Int64, before: DatasetSchema)] = []
        // The triggers of all datasets are read before the first is made: SQLite reads the whole schema again after each change of it.
        let all = try schemas.compactMap { schema -> (schema: DatasetSchema, id: Int64, wanted: ChangeTriggers?, found: [OwnTrigger])? in
            try db.execute(sql: "INSERT OR IGNORE INTO snapsync_tracking(dataset, isComplete) VALUES(?, 0)", arguments: [schema.name])
            guard let id = try trackingID(schema) else { return nil }
            return try (schema, id, ChangeTriggers(db, schema, id: id), installedTriggers(schema))
        }
        for (schema, id, wanted, found) in all {
            if isWhole, wanted.map({ $0.areThese(found) }) ?? found.isEmpty { continue }
            for other in schemas where isWhole && found.contains(where: { $0.table.folded == other.table.folded }) && other != schema {
                try moved.append((schema, id, schema.with { $0.table = other.table }))
            }
            for trigger in found { try db.execute(sql: "DROP TRIGGER \(trigger.name.sqlIdentifier)") }
            for trigger in wanted?.statements ?? [] { try db.execute(sql: trigger.sql) }
            // Rows that may be wrong stay so: what differs in them is no edit.
            try setUntracked(schema)
            mended.append(schema.name)
        }
        // Tables that exchanged their names took the triggers along: what a dataset had is under another name, and what it has not is deleted.
        for (schema, id, before) in moved {
            let key = before.keySQL, columns = try TableColumns(db, before.table)
            guard let columns, before.keyColumns.allSatisfy({ columns.column($0.column) != nil }) else { continue }
            let stamp = before.timestampIndex.map { before.columns[$0].column }.flatMap { columns.column($0) == nil ? nil : "b.\($0.sqlIdentifier)" }
            try db.execute(
                sql: """
                    INSERT INTO snapsync_log(dataset, key, clock, seen, changed)
                    SELECT \(id), \(key.logged(of: "b")), \(LogSQL.clock), \(stamp ?? "NULL"), \(LogEntryKind.touched)
                    FROM \(before.table.sqlIdentifier) b WHERE NOT EXISTS (SELECT 1 FROM \(schema.table.sqlIdentifier) t WHERE \(key.isSame("t", "b")))
                    """)
        }
        for name in try transaction.rowids.install(schemas) where !mended.contains(name) { mended.append(name) }
        return mended
    }

    /// Replaces a dataset's triggers with those of another description, if the present triggers are as expected and so have logged every change.
    /// Otherwise leaves them to ``install(_:)``.
    ///
    /// - Parameter before: the dataset as it was described, with the names that its table and columns have now.
    func replaceTriggers(of before: DatasetSchema, with after: DatasetSchema) throws {
        guard let id = try trackingID(before) else { return }
        let found = try installedTriggers(before)
        let known = try transaction.settings.read().datasets.first { $0.name == before.name }
        let names = known.flatMap { $0.columns.count == before.columns.count ? $0.columns.map(\.column) : nil }
        guard try ChangeTriggers(db, before, id: id, madeWith: names).map({ $0.areThese(found) }) ?? found.isEmpty else { return }
        for trigger in found { try db.execute(sql: "DROP TRIGGER \(trigger.name.sqlIdentifier)") }
        for trigger in try ChangeTriggers(db, after, id: id)?.statements ?? [] { try db.execute(sql: trigger.sql) }
    }

    /// Runs `work`, which makes a dataset's table anew with the same rows, and puts the triggers in again.
    package func rebuilding(_ schema: DatasetSchema, _ work: () throws -> Void) throws {
        try transaction.changeLog.consolidate(of: [schema])
        try work()
        guard let id = try trackingID(schema) else { return }
        for trigger in try ChangeTriggers(db, schema, id: id)?.statements ?? [] { try db.execute(sql: trigger.sql) }
    }

    /// Ends the tracking of one dataset.
    func remove(_ schema: DatasetSchema) throws {
        guard try transaction.hasTrackingTables(), let id = try trackingID(schema) else { return }
        for trigger in try installedTriggers(schema) { try db.execute(sql: "DROP TRIGGER \(trigger.name.sqlIdentifier)") }
        for table in [LocalTable.log, .changes, .tombstones, .instants, .held, .own, .sent] where try db.hasTable(table.name) {
            try db.execute(sql: "DELETE FROM \(table.name) WHERE dataset = ?", arguments: [id])
        }
        try db.execute(sql: "DELETE FROM snapsync_tracking WHERE id = ?", arguments: [id])
        transaction.trackingIDs[schema.name] = nil
    }

    /// Drops the triggers and the tables.
    package func remove() throws {
        transaction.trackingIDs = [:]
        for name in try String.fetchAll(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'snapsync\\_%' ESCAPE '\\'") {
            try db.execute(sql: "DROP TRIGGER \(name.sqlIdentifier)")
        }
        for table in LocalTable.trackingTables + [.waiting, .own] + LocalTable.mailboxTables { try table.drop(in: db) }
        try transaction.rowids.remove()
    }

    /// Records that a dataset's table may differ from the applied version plus the tracked changes, and not by edits.
    package func setIncomplete(of schema: DatasetSchema) throws {
        guard try db.hasTable("snapsync_tracking") else { return }
        try db.execute(
            sql: "UPDATE snapsync_tracking SET isComplete = \(Completeness.doubtful) WHERE dataset = ? AND isComplete = \(Completeness.complete)",
            arguments: [schema.name])
    }

    /// Records that a dataset's table has changes that are not tracked and that may be edits.
    package func setUntracked(_ schema: DatasetSchema) throws {
        try db.execute(
            sql: "UPDATE snapsync_tracking SET isComplete = \(Completeness.untracked) WHERE dataset = ? AND isComplete = \(Completeness.complete)",
            arguments: [schema.name])
    }

    /// Records that a dataset's table equals the applied version plus the tracked changes. The caller makes sure of that.
    package func setComplete(_ schema: DatasetSchema) throws {
        try db.execute(sql: "UPDATE snapsync_tracking SET isComplete = \(Completeness.complete) WHERE dataset = ?", arguments: [schema.name])
        try transaction.rowids.setCompared(schema)
    }

    /// What a comparison of all rows has found of one of them.
    package struct Difference {
        let key: EntityKey
        /// The positions of the columns in which the row differs from the version.
        let columns: [Int]
        /// Whether the row had a tracked change before the comparison.
        let isTracked: Bool

        package init(key: EntityKey, columns: [Int], isTracked: Bool) { (self.key, self.columns, self.isTracked) = (key, columns, isTracked) }
    }

    /// Records what a comparison of all rows has found: the changes have the columns that differ, and the dataset's table equals the applied version
    /// plus the tracked changes again.
    ///
    /// - Parameters:
    ///   - isMissing: whether rows of the version are missing without a tracked deletion, so that the table does not equal it yet.
    ///   - publishes: whether this device is a publisher.
    ///   - differing: the rows that differ from the version.
    ///   - absent: the keys of rows that the applied version does not have; nil if that is not known.
    package func regainCompleteness(
        of schema: DatasetSchema, differing: [Difference], absent: Set<EntityKey>?, isMissing: Bool = false, publishes: Bool = false
    ) throws {
        guard let id = try trackingID(schema) else { return }
        // Entries that were logged after the triggers were restored describe the rows of that moment, not what the version has.
        try transaction.changeLog.consolidate(of: [schema])
        // A row that this device has inserted stays its own, even if the version has another one under its key.
        let origin = absent == nil ? TrackedOrigin.unknown : .inVersion
        let isUncertain = "(isNew <> \(TrackedOrigin.new) OR born IS NULL OR state = \(TrackedState.deleted))"
        let groups = try ColumnGroups(db, schema)
        for one in differing {
            guard let change = try transaction.changeLog.change(of: one.key, in: schema) else { continue }
            // What the triggers logged has its own instants. Of a row that they knew nothing of, only the columns that differ changed.
            var columns = one.isTracked ? change.columns : .some([:])
            guard case .some(let logged) = columns else { continue }
            columns.add(groups.closed(one.columns).filter { logged[$0] == nil }, at: change.instant)
            try KeyedStatement(db, "UPDATE snapsync_changes SET changed = ?1 WHERE dataset = ?2 AND key = ?3 AND \(isUncertain)")
                .bind(.optional(columns.encoded(at: change.instant)), .integer(id), .key(one.key)).run()
        }
        try db.execute(
            sql: """
                UPDATE snapsync_changes SET isNew = CASE state WHEN \(TrackedState.deleted) THEN \(TrackedOrigin.unknown) ELSE \(origin) END,
                    base = nullif(base, \(Int64.min)) WHERE dataset = ? AND \(isUncertain)
                """, arguments: [id])
        for key in absent ?? [] {
            try KeyedStatement(
                db, "UPDATE snapsync_changes SET isNew = \(TrackedOrigin.new), changed = NULL, born = ifnull(born, at) WHERE dataset = ? AND key = ?"
            ).bind(.integer(id), .key(key)).run()
        }
        // Where rows are missing, a publisher compares all of them in each run; a reader does if they may have been edited.
        if !isMissing || publishes {
            let found = isMissing ? Completeness.doubtful : .complete
            try db.execute(sql: "UPDATE snapsync_tracking SET isComplete = ? WHERE id = ?", arguments: [found.rawValue, id])
        }
    }

    /// The triggers of a dataset, on whatever table they are: SQLite leaves them on a table that was renamed, in whose place there may be another.
    func installedTriggers(_ schema: DatasetSchema) throws -> [OwnTrigger] {
        let beginning = "snapsync_\(schema.name)_"
        return try transaction.ownTriggers(beginning).filter { ChangeTriggers.isKind($0.name.utf8.dropFirst(beginning.utf8.count)) }
    }

    // MARK: - Imports: the triggers do not log their changes

    /// Runs `work`, whose changes come from a version, with logging off. Then ``TriggerReplay`` runs the application's triggers for the rows that
    /// differ.
    ///
    /// - Parameters:
    ///   - schemas: all datasets of the database.
    ///   - isRefusable: whether the changes are edits that the application's triggers may refuse: then this throws. Otherwise the rows are the
    ///     version's, whatever triggers say.
    ///   - finish: changes tables that are not synced; runs last.
    package func importing<T>(_ schemas: [DatasetSchema], isRefusable: Bool = false, then finish: () throws -> Void = {}, _ work: () throws -> T) throws -> T {
        try transaction.observe(schemas)
        func body() throws -> T { try keepingOwnColumns(of: schemas, work) }
        return try transaction.settingChecks(off: transaction.ignoresChecks) {
            let triggers = try ApplicationTriggers(db)
            guard triggers.isEmpty else {
                return try TriggerReplay(transaction, of: schemas, triggers).run(noting: false, refusing: isRefusable, then: { try end(schemas, finish) }, body)
            }
            // All triggers are the tracking's. Turning them off costs no page of the log, which the import would have to write at its beginning
            // and again at its end.
            return try TriggerSwitch(db: db).off {
                let result = try body()
                try end(schemas, finish)
                return result
            }
        }
    }

    /// Runs `work`, whose changes are this device's own: rows that differ afterwards are logged as changed now.
    ///
    /// If the application has triggers, they run for the difference alone, as in an import.
    package func changing<T>(_ schemas: [DatasetSchema], then finish: () throws -> Void = {}, _ work: () throws -> T) throws -> T {
        try transaction.observe(schemas)
        func body() throws -> T { try keepingOwnColumns(of: schemas, work) }
        let triggers = try ApplicationTriggers(db)
        guard triggers.isEmpty else {
            return try TriggerReplay(transaction, of: schemas, triggers).run(noting: true, then: { try end(schemas, finish) }, body)
        }
        let result = try body()
        try end(schemas, finish)
        return result
    }

    /// Ends a change that the toolkit made: runs `finish` for tables that are not synced, and moves the generated keys of new rows past those
    /// that exist.
    private func end(_ schemas: [DatasetSchema], _ finish: () throws -> Void) throws {
        try transaction.settingChecks(off: false, finish)
        try transaction.keyRanges.advance(schemas)
    }

    /// Runs `body`, which deletes and inserts rows, and keeps the values of columns that the datasets do not describe: they come back with their rows, now
    /// or in a later call.
    package func keepingOwnColumns<T>(of schemas: [DatasetSchema], _ body: () throws -> T) throws -> T {
        let own = try schemas.enumerated().compactMap { try OwnColumns(transaction, $1, number: $0) }
        let result = try body()
        try withoutTriggers { for one in own { try one.restore() } }
        for one in own { try one.end() }
        return result
    }

    /// Runs `body`, which replaces all rows of a dataset, with the triggers off.
    ///
    /// SQLite empties a table without triggers at once instead of row by row.
    package func withoutTriggers<T>(_ body: () throws -> T) throws -> T { try TriggerSwitch(db: db).off(body) }
}

/// Keeps the values of columns that the dataset does not describe while their rows are in no table: the table `snapsync_own`. They belong to this
/// database, and nothing that takes a row out of its table and puts it back must change them.
///
///     let own = try OwnColumns(transaction, schema, number: 0)   // before a row changes
///     …                                                          // rows are deleted and inserted
///     try own?.restore()
///
/// A temporary trigger copies the values of each deleted row while the application's triggers are off. Most rows are inserted again before
/// ``restore()``. The entries of the others stay until their rows return. The cost is an entry for each such value; nothing if the dataset describes
/// all columns. In a database that is not set up for syncing, the table is a temporary one.
struct OwnColumns {
    private let transaction: LocalTransaction
    private let db: Database
    private let schema: DatasetSchema
    private let columns: [String]
    /// The positions of the columns that are described since their values were copied.
    private let described: [Int]
    private let isLasting: Bool
    private let trigger: String
    /// The dataset's entries, after FROM.
    private let entries: String
    /// The condition that an entry's row is in the table.
    private let isThere: String
    /// The condition that an entry is old and no row is held for it.
    private let isOld: String

    /// Starts copying values; nil if the dataset describes all columns of its table. What an application has inserted since the last run has the values
    /// that the application gave it.
    ///
    /// - Parameter number: distinguishes the datasets of one import.
    init?(_ transaction: LocalTransaction, _ schema: DatasetSchema, number: Int) throws {
        self.transaction = transaction
        db = transaction.db
        self.schema = schema
        let own = try TableColumns(db, schema.table)?.undescribed(by: schema) ?? []
        let id = try transaction.trackingID(schema), dataset = id ?? Int64(number)
        isLasting = id != nil
        let copied =
            try isLasting && db.hasTable(LocalTable.own.name)
            ? String.fetchSet(db, sql: "SELECT DISTINCT name FROM snapsync_own WHERE dataset = ?", arguments: [dataset]) : []
        described = schema.columns.indices.filter { index in copied.contains { $0.folded == schema.columns[index].column.folded } }
        guard !own.isEmpty || !described.isEmpty else { return nil }
        columns = own.map(\.name)
        trigger = "snapsync_own_\(number)_delete"
        if isLasting {
            try LocalTable.own.create(in: db)
        } else {
            try db.execute(sql: "CREATE TEMP TABLE IF NOT EXISTS \(LocalTable.own.name)\(LocalTable.own.definition)")
        }
        let table = "main.\(schema.table.sqlIdentifier)", key = schema.keySQL, now = "\(LogSQL.clock) * 1000"
        entries = "\(isLasting ? "main" : "temp").\(LocalTable.own.name) AS k WHERE k.dataset = \(dataset)"
        isThere = "EXISTS (SELECT 1 FROM \(table) t WHERE \(key.matches("t", "k.key")))"
        isOld = try "k.at < \(now) - \(ConflictJournal.retention) AND NOT \(transaction.held.isHeld("k.key", of: schema))"
        // A value that equals the column's default need not be copied.
        let isSet = own.map { "OLD.\($0.name.sqlIdentifier) IS NOT (\($0.defaultText ?? "NULL"))" }.joined(separator: " OR ")
        let isKept = "EXISTS (SELECT 1 FROM \(entries) AND k.key = \(key.value(of: "OLD")))"
        let values = columns.map { "(\(dataset), \(key.value(of: "OLD")), \($0.sqlText), OLD.\($0.sqlIdentifier), \(now))" }.joined(separator: ", ")
        try db.execute(sql: "DELETE FROM \(entries) AND \(isThere)")
        guard !own.isEmpty else { return }
        try db.execute(
            sql: """
                CREATE TEMP TRIGGER \(trigger) BEFORE DELETE ON \(table) WHEN \(key.isNotNull("OLD")) AND (\(isSet)) AND NOT \(isKept) BEGIN
                    INSERT INTO \(LocalTable.own.name)(dataset, key, name, value, at) VALUES \(values); END;
                """)
    }

    /// Writes the values back into the rows that exist again, and drops the trigger. In a column that is synced by now, a value is an edit of this device,
    /// unless the row has one.
    func restore() throws {
        let key = schema.keySQL, table = "main.\(schema.table.sqlIdentifier)"
        for index in described {
            let name = schema.columns[index].column, those = "\(entries) AND k.name = \(name.sqlText) COLLATE NOCASE AND k.value IS NOT NULL"
            let isUnset = "t.\(name.sqlIdentifier) IS NULL AND \(key.isIn(keys: "k.key", of: those))"
            guard try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM \(table) t WHERE \(isUnset))") == true else { continue }
            let cause = CarriedColumns.cause(publishes: try transaction.settings.read().role.publishes)
            try CarriedColumns.track([index], ofRows: isUnset, of: schema, in: transaction, order: .after, as: cause)
            let value = "SELECT k.value FROM \(those) AND k.key = \(key.value(of: "t"))"
            try db.execute(sql: "UPDATE \(table) AS t SET \(name.sqlIdentifier) = (\(value)) WHERE \(isUnset)")
        }
        guard !columns.isEmpty else { return try db.execute(sql: "DELETE FROM \(entries) AND (\(isThere) OR \(isOld))") }
        let values: String = columns.map { column -> String in
            let entry = "\(entries) AND k.key = \(key.value(of: "t")) AND k.name = \(column.sqlText)", name = column.sqlIdentifier
            // A column may be younger than the entry.
            return "\(name) = CASE WHEN EXISTS (SELECT 1 FROM \(entry)) THEN (SELECT k.value FROM \(entry)) ELSE t.\(name) END"
        }.joined(separator: ", ")
        try db.execute(
            sql: """
                DROP TRIGGER temp.\(trigger);
                UPDATE main.\(schema.table.sqlIdentifier) AS t SET \(values) WHERE \(key.isIn(keys: "k.key", of: entries));
                DELETE FROM \(entries) AND (\(isThere) OR \(isOld));
                """)
    }

    /// Drops the temporary table, if there is one.
    func end() throws { if !isLasting { try db.execute(sql: "DROP TABLE IF EXISTS temp.\(LocalTable.own.name)") } }
}

/// Detects that VACUUM has renumbered the rows of tables whose key is a rowid without a column: the table `snapsync_rowids`.
///
/// VACUUM numbers the rows of a table without indexes from 1. One row of this table has rowid 2. If that row has another rowid, or is gone, the
/// rows of the datasets' tables may have been renumbered too. The table exists only if a dataset's key is a rowid that is not a column.
package struct RowidWatch: TransactionPart {
    let transaction: LocalTransaction

    /// Whether no rows were renumbered; true if no dataset has such a key.
    func isQuiet(_ schemas: [DatasetSchema]) throws -> Bool {
        guard try schemas.contains(where: { try TableInspector.hiddenKey(of: $0, db) != nil }) else { return true }
        guard try db.hasTable(LocalTable.rowids.name) else { return false }
        return try Int64.fetchAll(db, sql: "SELECT rowid FROM snapsync_rowids WHERE dataset IS NULL") == [2]
    }

    /// Starts watching, or starts again after VACUUM. After VACUUM, it records that the tracking of the affected datasets is incomplete.
    ///
    /// - Returns: the names of the datasets whose rows may have other rowids.
    func install(_ schemas: [DatasetSchema]) throws -> [String] {
        guard try !isQuiet(schemas) else { return [] }
        let hidden = try schemas.filter { try TableInspector.hiddenKey(of: $0, db) != nil }
        let isNew = try !db.hasTable(LocalTable.rowids.name)
        try LocalTable.rowids.create(in: db)
        try db.execute(sql: "DELETE FROM snapsync_rowids; INSERT INTO snapsync_rowids(rowid, dataset) VALUES(2, NULL)")
        if isNew { return [] }
        for schema in hidden {
            try db.execute(sql: "INSERT INTO snapsync_rowids(dataset) VALUES(?)", arguments: [schema.name])
            try transaction.tracking.setUntracked(schema)
        }
        return hidden.map(\.name)
    }

    /// Whether the rowids of a dataset may differ from those in the applied version, and no run has compared the rows since.
    package func mayBeRenumbered(_ schema: DatasetSchema) throws -> Bool {
        guard try db.hasTable(LocalTable.rowids.name) else { return false }
        return try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM snapsync_rowids WHERE dataset = ?)").bind(.text(schema.name)).integer() == 1
    }

    /// Records that a run has compared a dataset's rows with the applied version.
    package func setCompared(_ schema: DatasetSchema) throws {
        guard try db.hasTable(LocalTable.rowids.name) else { return }
        try KeyedStatement(db, "DELETE FROM snapsync_rowids WHERE dataset = ?").bind(.text(schema.name)).run()
    }

    func remove() throws { try LocalTable.rowids.drop(in: db) }
}
