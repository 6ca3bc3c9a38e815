import GRDB
package import LocalTables
package import SnapshotModel
package import StrictText

/// The change log: `snapsync_log`, which the triggers write, and the tracked changes in `snapsync_changes`, which runs make of the log.
///
/// Source: docs/local-tables.md for the columns and their codes.
package struct ChangeLog: TransactionPart {
    package let transaction: LocalTransaction

    /// The sequence number of the last log entry of any dataset; 0 before the first. Every change by any program raises it.
    package func lastSequence() throws -> Int64 {
        guard try transaction.hasTrackingTables() else { return 0 }
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
        try KeyedStatement(
            db, "INSERT INTO snapsync_log(dataset, changed, key, clock, stamp, seen) VALUES(?1, ?3, \(schema.keySQL.logged(key: "?2")), ?4, \(stamp), ?5)"
        )
        .bind(.integer(id), .key(key), .integer(event.rawValue), .integer(clock.microseconds / 1000), .optional(seen?.description)).run()
    }

    /// Adds an entry of no dataset and returns its sequence number, which no other change ever gets.
    func nextSequence() throws -> Int64 {
        try db.execute(sql: "INSERT INTO snapsync_log(dataset, clock) VALUES(\(ReservedDataset.none), 0)")
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

    // MARK: - Consolidation: runs turn log entries into tracked changes

    /// Whether the log has entries of these datasets that ``consolidate(of:)`` has not processed.
    package func hasEntries(_ schemas: [DatasetSchema]) throws -> Bool {
        try schemas.contains { schema in try trackingID(schema).map { try hasEntries(of: $0) } ?? false }
    }

    /// Whether log entries of a dataset wait. The log has no index but its numbers, so that may read all of it.
    private func hasEntries(of id: Int64) throws -> Bool {
        try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM snapsync_log WHERE dataset = ?)").bind(.integer(id)).integer() == 1
    }

    /// Whether an entry has a clock later than `now`. Reads the whole log.
    func hasEntry(after now: Instant) throws -> Bool {
        let late = "SELECT EXISTS (SELECT 1 FROM snapsync_log WHERE dataset > 0 AND clock > ? AND typeof(changed) = 'integer')"
        return try KeyedStatement(db, late).bind(.integer(now.microseconds / 1000)).integer() == 1
    }

    /// Turns log entries into tracked changes and fixes each change's instant. Later runs do not compute it again. A row that was inserted and
    /// deleted again before anybody else had it leaves none.
    ///
    /// The instant is max(min(u, clock), seen + 1 us, own + 1 us):
    ///
    /// - u is the row's timestamp if the statement changed it, else the clock;
    /// - *seen* is the published instant of the entity or tombstone that the change replaced on this device;
    /// - *own* is the instant of an unpublished change that it replaced, unless that instant is later than the clock and *seen*.
    ///
    /// Source: docs/local-tables.md, "snapsync_changes".
    package func consolidate(of schemas: [DatasetSchema]) throws {
        var consolidated: [Int64] = []
        for schema in schemas {
            guard let id = try trackingID(schema) else { continue }
            let hasEntries = try hasEntries(of: id)
            if hasEntries { try LogConsolidation(transaction, schema, id: id).run() }
            try review(schema, id: id)
            if hasEntries { consolidated.append(id) }
        }
        try forgetPassing(of: schemas)
        // Where only other datasets have entries, only the last entry of no dataset could be removed.
        let second = try KeyedStatement(db, "SELECT dataset FROM snapsync_log ORDER BY seq LIMIT 1 OFFSET 1").integer()
        if consolidated.isEmpty, second == nil || second != ReservedDataset.none.rawValue { return }
        try removeEntries(of: consolidated)
    }

    /// Deletes the log entries of datasets.
    private func removeEntries(of ids: [Int64]) throws {
        let those = (ids + [ReservedDataset.none.rawValue]).map(String.init).joined(separator: ", "), last = try lastEntry()
        // Without a condition, SQLite frees the pages without reading the rows.
        try db.execute(sql: "DELETE FROM snapsync_log\(hasNoOthers(than: ids) ? "" : " WHERE dataset IN (\(those))")")
        // Sequence numbers are never reused. The last one stays in the table, as an entry of no dataset.
        if last > 0 { try db.execute(sql: "INSERT OR IGNORE INTO snapsync_log(seq, dataset, clock) VALUES(?, 0, 0)", arguments: [last]) }
    }

    /// Whether the log has entries of these datasets, of none, and of those that are tracked no longer alone.
    private func hasNoOthers(than ids: [Int64]) throws -> Bool {
        let tracked = try Int64.fetchAll(db, sql: "SELECT id FROM snapsync_tracking")
        return try tracked.allSatisfy { try ids.contains($0) || !hasEntries(of: $0) }
    }

    /// The published instant that an entry says its change replaced. Triggers write the row's own timestamp, the toolkit writes RFC 3339 text.
    static func seen(_ value: ColumnValue, _ unit: TimestampUnit?) -> Instant? {
        RowInstant.instant(of: value, unit) ?? RowInstant.instant(of: value, nil)
    }

    static func next(_ microseconds: Int64) -> Int64 { Instant(microseconds: microseconds).advanced(byMicroseconds: 1).microseconds }

    /// Compares the tracked changes with the rows as they are now.
    private func review(_ schema: DatasetSchema, id: Int64) throws {
        guard try KeyedStatement(db, "SELECT 1 FROM snapsync_changes WHERE dataset = ? LIMIT 1").bind(.integer(id)).integer() != nil else { return }
        try classify(schema, id: id)
        try forgetMisfits(schema, id: id)
    }

    /// Deletes tracked deletions whose keys no version can contain, such as one that is too long: a tombstone could not name such a key. While such a
    /// row exists its change stays tracked, and the export reports the row.
    private func forgetMisfits(_ schema: DatasetSchema, id: Int64) throws {
        for key in try misfits(of: schema, id: id, where: "state = \(TrackedState.deleted)") {
            try KeyedStatement(db, "DELETE FROM snapsync_changes WHERE dataset = ? AND key = ?").bind(.integer(id), .value(key)).run()
        }
    }

    /// The keys of tracked changes that no version can contain.
    func misfits(of schema: DatasetSchema, id: Int64, where condition: String) throws -> [OwnedValue] {
        let isInteger = "typeof(key) = 'integer'"
        let isText = "typeof(key) = 'text' AND length(CAST(key AS BLOB)) <= \(KeyShape.byteLimit) AND snapsync_is_utf8(key)"
        let isUsual =
            switch schema.keyColumns[0].shape {
            case _ where !schema.keyShape.isSingle: "0"
            case nil: "\(isInteger) OR \(isText)"
            case .integer: isInteger
            case .text: isText
            default: "0"
            }
        let rows = try KeyedStatement(db, "SELECT key FROM snapsync_changes WHERE dataset = ? AND \(condition) AND NOT (\(isUsual))").bind(.integer(id))
        var misfits: [OwnedValue] = []
        while try rows.step() { if rows.key(0).map(schema.keyShape.holds) != true { misfits.append(rows.value(0)) } }
        return misfits
    }

    /// Forgets rows that were inserted and deleted again before anybody else had them.
    ///
    /// While a commit of this device may still arrive in the zone, none is forgotten: the commit may have such a row.
    private func forgetPassing(of datasets: [DatasetSchema]) throws {
        guard try !mayArriveLate() else { return }
        for schema in datasets {
            guard let id = try trackingID(schema) else { continue }
            try KeyedStatement(db, "DELETE \(passing())").bind(.integer(id), .text(schema.name)).run()
        }
    }

    /// Whether ``forgetPassing(of:)`` has something to forget.
    func hasPassing(of datasets: [DatasetSchema]) throws -> Bool {
        guard try !mayArriveLate() else { return false }
        return try datasets.contains { schema in
            guard let id = try trackingID(schema) else { return false }
            return try KeyedStatement(db, "SELECT EXISTS (SELECT 1 \(passing()))").bind(.integer(id), .text(schema.name)).integer() == 1
        }
    }

    /// Whether a commit of this device may still arrive in the zone.
    private func mayArriveLate() throws -> Bool { try db.hasTable(LocalTable.state.name) && transaction.state.intended() != nil }

    /// The changes of passing rows, in SQL; `?1` and `?2` are the dataset's number and name.
    private func passing() throws -> String {
        let isSent = try db.hasTable(LocalTable.sent.name) ? " OR EXISTS (SELECT 1 FROM snapsync_sent s WHERE s.dataset = c.dataset AND s.key = c.key)" : ""
        let waits = try db.hasTable(LocalTable.waiting.name) ? " OR EXISTS (SELECT 1 FROM snapsync_waiting a WHERE a.dataset = ?2 AND a.key = c.key)" : ""
        return """
            FROM snapsync_changes AS c WHERE dataset = ?1 AND state = \(TrackedState.deleted) AND isNew = \(TrackedOrigin.new) AND ?2 IS NOT NULL
                AND NOT (EXISTS (SELECT 1 FROM snapsync_tombstones t WHERE t.dataset = c.dataset AND t.key = c.key)\(waits)\(isSent))
            """
    }

    /// Marks each change as a deletion if its row is gone, else as an edit.
    private func classify(_ schema: DatasetSchema, id: Int64) throws {
        let table = schema.table.sqlIdentifier, key = schema.keySQL
        let stamp = schema.ownInstantSQL
        try db.execute(
            sql: """
                UPDATE snapsync_changes AS c SET state = coalesce(
                    (SELECT CASE WHEN \(stamp) IS c.at OR c.at = \(Int64.min) THEN \(TrackedState.plain) ELSE \(TrackedState.stamped) END
                        FROM \(table) t WHERE \(key.matches("t", "c.key"))),
                    CASE c.state WHEN \(TrackedState.deleted) THEN \(TrackedState.deleted) ELSE \(TrackedState.vanished) END) WHERE dataset = ?
                """, arguments: [id])
        // Deleted while the triggers were off, or an index has lost the row: no deletion that may be published. A comparison of all rows tells.
        let vanished = "FROM snapsync_changes WHERE dataset = ? AND state = \(TrackedState.vanished)"
        guard try KeyedStatement(db, "SELECT EXISTS (SELECT 1 \(vanished))").bind(.integer(id)).integer() == 1 else { return }
        try db.execute(sql: "DELETE \(vanished)", arguments: [id])
        try transaction.tracking.setIncomplete(of: schema)
    }

    /// Gives the changed columns of tracked changes the positions that they have in another description.
    func renumberColumns(of before: DatasetSchema, as after: DatasetSchema) throws {
        let positions = before.columns.map { column in after.columns.firstIndex { $0.name.exact == column.name.exact } }
        guard let id = try trackingID(before), positions != before.columns.indices.map({ $0 }) else { return }
        try renumbering(positions) {
            try db.execute(sql: "UPDATE snapsync_changes SET changed = snapsync_renumbered(changed) WHERE dataset = ? AND changed <> ''", arguments: [id])
        }
    }

    /// Runs `body` with an SQL function `snapsync_renumbered` for the texts of ``ChangedColumns``.
    ///
    /// - Parameter positions: the new position of each column; nil for a column that is gone.
    func renumbering(_ positions: [Int?], _ body: () throws -> Void) throws {
        let function = DatabaseFunction("snapsync_renumbered", argumentCount: 1, pure: true) { values in
            guard let text = String.fromDatabaseValue(values[0]) else { return nil }
            return text.exact.split(separator: " ").compactMap { part in
                let number = part.prefix { $0 != "@" }
                return Int(number).flatMap { positions.indices.contains($0) ? positions[$0] : nil }.map { "\($0)\(part.dropFirst(number.count))" }
            }.joined(separator: " ")
        }
        db.add(function: function)
        defer { db.remove(function: function) }
        try body()
    }

    // MARK: - Tracking without triggers, and the removal of tracked changes

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
    ///   - columns: the positions of the columns that changed; nil for all.
    ///   - isInVersion: whether the row is one of the version's, unless an earlier change says another thing.
    package func track(
        of key: EntityKey, in schema: DatasetSchema, at instant: Instant, joining succession: Succession = .replacing, columns: Set<Int>? = nil,
        isInVersion: Bool = false
    ) throws {
        guard let id = try trackingID(schema) else { return }
        let base: Instant?, rest: String, earlier: TrackedChange?
        switch succession {
        case .replacing: (base, rest, earlier) = (instant, ", isNew = excluded.isNew, cause = excluded.cause, base = excluded.base", nil)
        case .continuing(let first): (base, rest, earlier) = (first, "", try change(of: key, in: schema))
        }
        var changed = earlier.map { $0.isDeletion ? .all : $0.columns } ?? .some([:])
        changed.add(try columns.map { try ColumnGroups(db, schema).closed($0.sorted()) }, at: instant)
        try KeyedStatement(
            db,
            """
            INSERT INTO snapsync_changes(dataset, key, at, seq, state, base, changed, isNew)
                VALUES(?1, ?2, ?3, ?4, \(Self.state(of: schema)), ?5, ?6, ?7)
            ON CONFLICT(dataset, key) DO UPDATE SET at = excluded.at, seq = excluded.seq, state = excluded.state, changed = excluded.changed\(rest)
            """
        ).bind(
            .integer(id), .key(key), .instant(instant), .integer(nextSequence()), base.map { .instant($0) } ?? .null,
            .optional(changed.encoded(at: instant)), .integer((isInVersion ? TrackedOrigin.inVersion : .unknown).rawValue)
        ).run()
    }

    /// SQL for the state of the change of key `?2` at the instant `?3`.
    static func state(of schema: DatasetSchema) -> String {
        """
        coalesce((SELECT CASE WHEN \(schema.ownInstantSQL) IS ?3 OR ?3 = \(Int64.min) THEN \(TrackedState.plain) ELSE \(TrackedState.stamped) END
            FROM main.\(schema.table.sqlIdentifier) t WHERE \(schema.keySQL.matches("t", "?2"))), \(TrackedState.deleted))
        """
    }

    /// Tracks every row that existed before tracking began, with the row's own timestamp as its instant.
    ///
    /// A timestamp later than `now` counts as `now`. A row without a timestamp gets the earliest instant, so that every other change wins over
    /// it.
    ///
    /// - Parameter areEarliest: whether all rows get the earliest instant.
    package func adoptRows(of schema: DatasetSchema, now: Instant, areEarliest: Bool = false) throws {
        guard let id = try trackingID(schema) else { return }
        let own = areEarliest ? "NULL" : schema.ownInstantSQL, key = schema.keySQL
        try db.execute(
            sql: """
                INSERT INTO snapsync_changes(dataset, key, at, seq, state, isNew, born)
                SELECT ?1, x.key, x.at, 0, x.state, \(TrackedOrigin.new), x.at FROM (
                    SELECT \(key.value(of: "t")) AS key, coalesce(min(\(own), ?2), \(Int64.min)) AS at, CASE WHEN \(own) > ?2 THEN 1 ELSE 0 END AS state
                    \(untrackedRows(of: schema)) AND \(key.isNotNull("t"))) x
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
    /// Later changes stay tracked.
    ///
    /// - Parameter doubt: as in ``drop(of:upTo:settling:)``.
    package func acknowledge(of schema: DatasetSchema, upTo sequence: Int64, settling doubt: TrackingDoubt? = nil) throws {
        try transaction.tombstonesAndInstants.setChanged(of: schema, upTo: sequence)
        try transaction.waiting.acknowledge(schema)
        try drop(of: schema, upTo: sequence, settling: doubt)
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
                UPDATE snapsync_changes AS c SET at = ?2, changed = NULL, born = ?2, state = (SELECT \(state) FROM \(table) t WHERE \(key.matches("t", "c.key")))
                WHERE dataset = ?1 AND state < \(TrackedState.deleted) AND at < ?2
                """, arguments: [id, latest])
        var count = db.changesCount
        guard includingPublished else { return count }
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO snapsync_changes(dataset, key, at, seq, state, isNew, base, born)
                SELECT ?1, x.key, ?2, 0, \(TrackedState.stamped), 0, x.at, ?2 FROM (
                    SELECT \(key.value(of: "t")) AS key, \(Self.appliedInstant(of: schema)) AS at FROM \(table) t WHERE \(key.isNotNull("t"))) x
                WHERE ifnull(x.at, \(Int64.min)) < ?2
                """, arguments: [id, latest])
        count += db.changesCount
        return count
    }

    /// Deletes the tracked changes up to `sequence`. Call it when the applied version has the same entities without them.
    ///
    /// - Parameter doubt: what was known of the tracking when the rows of the version were read: the version settles it, and no doubt that arose
    ///   since then. Nil if that is not known any more.
    package func drop(of schema: DatasetSchema, upTo sequence: Int64, settling doubt: TrackingDoubt? = nil) throws {
        guard let id = try trackingID(schema) else { return }
        try db.execute(sql: "DELETE FROM snapsync_changes WHERE dataset = ? AND seq <= ?", arguments: [id, sequence])
        // The origin of later changes was determined against the version before this one.
        try db.execute(sql: "UPDATE snapsync_changes SET isNew = \(TrackedOrigin.unknown) WHERE dataset = ?", arguments: [id])
        guard let doubt, try self.doubt(of: schema) == doubt else { return }
        try transaction.tracking.setComplete(schema)
    }

    // MARK: - Queries of the tracked changes

    /// What is known now of whether every change of a dataset is tracked.
    package func doubt(of schema: DatasetSchema) throws -> TrackingDoubt? {
        guard let id = try trackingID(schema) else { return nil }
        return try KeyedStatement(db, "SELECT isComplete FROM snapsync_tracking WHERE id = ?").bind(.integer(id)).integer().map(TrackingDoubt.init)
    }

    /// Whether the instant of a tracked edit differs from the instant that the applied version gives the entity. Then a commit changes at least
    /// the version's instants.
    package func hasNewInstants(of schema: DatasetSchema) throws -> Bool {
        guard let id = try trackingID(schema) else { return false }
        let table = schema.table.sqlIdentifier, key = schema.keySQL
        return try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM snapsync_changes c JOIN \(table) t ON \(key.matches("t", "c.key"))
                    WHERE c.dataset = ?1 AND c.state < \(TrackedState.deleted) AND c.at IS NOT \(Self.appliedInstant(of: schema)))
                """, arguments: [id]) ?? false
    }

    /// The instant that the applied version gives the entity of row `t`, in SQL; `?1` is the dataset's number.
    private static func appliedInstant(of schema: DatasetSchema) -> String {
        "coalesce((SELECT at FROM snapsync_instants i WHERE i.dataset = ?1 AND i.key = \(schema.keySQL.value(of: "t"))), \(schema.ownInstantSQL))"
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

    /// The tracked changes whose keys lie in a range, in key order.
    package func changes(of schema: DatasetSchema, in range: KeyRange) throws -> [TrackedChange] {
        guard let id = try trackingID(schema) else { return [] }
        var conditions = ["dataset = ?1"]
        if range.first != nil { conditions.append("key >= ?2") }
        if range.next != nil { conditions.append("key < ?3") }
        let statement = try KeyedStatement(
            db, "SELECT \(TrackedChange.sqlColumns) FROM snapsync_changes WHERE \(conditions.joined(separator: " AND ")) ORDER BY key")
        switch (range.first, range.next) {
        case (nil, nil): try statement.bind(.integer(id))
        case (let first?, nil): try statement.bind(.integer(id), .key(first))
        case (let first, let next?): try statement.bind(.integer(id), first.map { .key($0) } ?? .null, .key(next))
        }
        var changes: [TrackedChange] = []
        while try statement.step() {
            if let change = TrackedChange(statement, schema) { changes.append(change) }
        }
        return changes
    }

    /// The keys in a range that were touched since the applied version, consolidated or not.
    package func touchedKeys(of schema: DatasetSchema, in range: KeyRange) throws -> Set<EntityKey> {
        guard let id = try trackingID(schema) else { return [] }
        var keys = Set(try changes(of: schema, in: range).map(\.key))
        let notes = try KeyedStatement(
            db, "SELECT DISTINCT \(schema.keySQL.unlogged("key")) FROM snapsync_log WHERE dataset = ? AND typeof(changed) = 'integer'"
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
        let statement = try KeyedStatement(db, "SELECT \(TrackedChange.sqlColumns) FROM snapsync_changes WHERE dataset = ? AND key = ?")
            .bind(.integer(id), .key(key))
        defer { statement.end() }
        return try statement.step() ? TrackedChange(statement, schema) : nil
    }

    /// The number of tracked changes; counting stops at `limit`. The log must have been consolidated.
    package func count(of schema: DatasetSchema, upTo limit: Int) throws -> Int {
        guard let id = try trackingID(schema) else { return 0 }
        return try Int.fetchOne(
            db, sql: "SELECT count(*) FROM (SELECT 1 FROM snapsync_changes WHERE dataset = ? LIMIT ?)", arguments: [id, limit]) ?? 0
    }

    /// How many entities more than the applied version the table has, at least and at most, if every change is tracked. The log must have been
    /// consolidated. The two differ where it is not known whether the version has a changed entity.
    package func growth(of schema: DatasetSchema) throws -> ClosedRange<Int> {
        guard let id = try trackingID(schema) else { return 0...0 }
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT sum((state <> \(TrackedState.deleted)) - (isNew <> \(TrackedOrigin.new))), sum((state <> \(TrackedState.deleted)) - (isNew = \(TrackedOrigin.inVersion)))
                FROM snapsync_changes WHERE dataset = ?
                """, arguments: [id])
        return (row?[0] ?? 0)...(row?[1] ?? 0)
    }

    /// Whether a table has more rows than the applied version and the tracked changes explain. The log must have been consolidated. Counts the rows.
    package func hasUnexplainedRows(of schema: DatasetSchema) throws -> Bool {
        guard let known = try transaction.datasetStates.recordCount(of: schema), try isComplete(of: schema) else { return false }
        return try transaction.rows.rowCount(of: schema) > known + growth(of: schema).upperBound
    }

    /// The latest instant of a tracked change, or of a row that waits, of any dataset; nil if there is none.
    package func latestInstant() throws -> Instant? {
        let waiting = try db.hasTable(LocalTable.waiting.name) ? " UNION ALL SELECT at FROM snapsync_waiting" : ""
        return try KeyedStatement(db, "SELECT max(at) FROM (SELECT at FROM snapsync_changes\(waiting))").integer().map(Instant.init(microseconds:))
    }

    /// Whether every change of a dataset since the applied version is tracked. Does not read the changes.
    package func isComplete(of schema: DatasetSchema) throws -> Bool {
        // Triggers cannot follow some tables. Runs compare all rows of such a table, and track the differences like other changes.
        guard try transaction.hasTrackingTables(), let id = try trackingID(schema), try UniqueKey.others(db, schema) != nil else { return false }
        return try KeyedStatement(db, "SELECT isComplete FROM snapsync_tracking WHERE id = ?").bind(.integer(id)).integer() == Completeness.complete.rawValue
    }

    /// Whether a dataset's rows may have been edited since they were those of the version, while no triggers existed or because none can follow the
    /// table. Without a key the rows say nothing of that: VACUUM and a rebuilt table
    /// give them other rowids.
    package func mayHaveUntrackedEdits(of schema: DatasetSchema) throws -> Bool {
        guard try TableInspector.hiddenKey(of: schema, db) == nil else { return false }
        return try isUntracked(schema)
            || doubt(of: schema) == TrackingDoubt(Completeness.complete.rawValue) && UniqueKey.others(db, schema) == nil
    }

    /// Whether triggers were missing for a while, and no run has compared the rows since.
    package func isUntracked(_ schema: DatasetSchema) throws -> Bool { try doubt(of: schema) == TrackingDoubt(Completeness.untracked.rawValue) }

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
                WHERE dataset = ?1 AND typeof(changed) = 'integer' AND (changed <> \(LogEntryKind.mayBeReplaced)
                    OR NOT EXISTS (SELECT 1 FROM \(schema.table.sqlIdentifier) t WHERE \(key.matches("t", key.unlogged("l.key"))))))
            """
        ).bind(.integer(id)).integer() == 1
    }

    package func summary(of schema: DatasetSchema) throws -> TrackedChanges {
        guard try transaction.hasTrackingTables(), let id = try trackingID(schema) else { return TrackedChanges(isComplete: false, count: 0, lastSequence: 0) }
        let isComplete = try isComplete(of: schema)
        let table = schema.table.sqlIdentifier, key = schema.keySQL
        let count =
            try KeyedStatement(
                db,
                """
                SELECT (SELECT count(*) FROM snapsync_changes WHERE dataset = ?1) + (
                    SELECT count(DISTINCT \(key.unlogged("key"))) + ifnull(max(key IS NULL), 0) FROM snapsync_log l
                    WHERE dataset = ?1 AND typeof(changed) = 'integer' AND (changed <> \(LogEntryKind.mayBeReplaced) OR NOT EXISTS (SELECT 1 FROM \(table) t WHERE \(key.matches("t", key.unlogged("l.key")))))
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
}
