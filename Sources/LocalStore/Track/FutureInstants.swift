import GRDB
import LocalTables
package import SnapshotModel
package import StrictText

/// Repairs instants that are too late: those of rows whose timestamp a program set in the future, and those of changes that were logged while the
/// clock was ahead.
package struct FutureInstants: TransactionPart {
    let transaction: LocalTransaction

    /// Whether ``correct(of:now:)`` has anything to do.
    package func exist(of schemas: [DatasetSchema], now: Instant) throws -> Bool {
        guard try transaction.hasTrackingTables() else { return false }
        if try transaction.changeLog.hasEntry(after: now) { return true }
        let late = try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM snapsync_changes WHERE dataset = ? AND at > ?)")
        return try schemas.contains { schema in
            // Preparing the whole condition takes longer than this look, which finds nothing unless a clock was wrong.
            guard let id = try trackingID(schema), try late.bind(.integer(id), .integer(FutureChanges.limit(now))).integer() == 1 else { return false }
            guard let future = try FutureChanges(transaction, schema, now: now) else { return false }
            return try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM snapsync_changes c WHERE \(future.condition))", arguments: future.arguments)
                ?? false
        }
    }

    /// Sets the instant of each tracked change that is later than the device's clock to max(now, seen + 1 us).
    ///
    /// A change that was handed over keeps its instant: the other device knows it.
    package func correct(of schemas: [DatasetSchema], now: Instant) throws {
        try transaction.changeLog.consolidate(of: schemas)
        for schema in schemas {
            guard let future = try FutureChanges(transaction, schema, now: now) else { continue }
            let stamp = schema.ownInstantSQL
            let at = "max(:now, ifnull(\(future.seen) + 1, :now))"
            try db.execute(
                sql: """
                    UPDATE snapsync_changes AS c SET at = \(at), born = CASE WHEN born > \(at) THEN \(at) ELSE born END, state = CASE WHEN state = \(TrackedState.deleted) THEN 2
                        WHEN \(at) IS (SELECT \(stamp) FROM \(schema.table.sqlIdentifier) t WHERE \(schema.keySQL.matches("t", "c.key"))) THEN 0 ELSE 1 END
                    WHERE \(future.condition)
                    """, arguments: future.arguments)
        }
    }

    /// Tracks, at `now`, each row whose own timestamp is later than `now` and for which neither the log nor a version has an instant.
    package func adoptRows(of schema: DatasetSchema, now: Instant) throws {
        guard let id = try trackingID(schema), let late = lateRows(of: schema) else { return }
        try db.execute(
            sql: """
                INSERT INTO snapsync_changes(dataset, key, at, seq, state) SELECT :id, \(schema.keySQL.value(of: "t")), :latest, 0, 1 \(late)
                AND NOT EXISTS (SELECT 1 FROM snapsync_changes c WHERE c.dataset = :id AND c.key = \(schema.keySQL.value(of: "t")))
                AND NOT EXISTS (SELECT 1 FROM snapsync_instants i WHERE i.dataset = :id AND i.key = \(schema.keySQL.value(of: "t")))
                """, arguments: lateArguments(id, after: now, of: schema))
    }

    /// Limits the instants of the version's rows to the version's own time: records that time for each row whose timestamp is later.
    ///
    /// Call it while the table has the version's rows alone.
    package func limitTimestamps(of schema: DatasetSchema, to latest: Instant) throws {
        guard let id = try trackingID(schema), let late = lateRows(of: schema) else { return }
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO snapsync_instants(dataset, key, at) SELECT :id, \(schema.keySQL.value(of: "t")), :latest \(late)
                """, arguments: lateArguments(id, after: latest, of: schema))
    }

    /// The rows `t` with timestamps after `:latest`; nil for a table without timestamps. Skips texts from before `:day`, two days earlier: no UTC
    /// offset is that large.
    private func lateRows(of schema: DatasetSchema) -> String? {
        schema.timestampIndex.map {
            let stamp = "t.\(schema.columns[$0].column.sqlIdentifier)"
            // Numbers from the day itself are read as well, and all texts, which SQLite takes to be greater than numbers.
            let isCandidate = schema.timestampUnit == nil ? "\(stamp) COLLATE BINARY > :day" : "\(stamp) >= :day"
            return
                "FROM \(schema.table.sqlIdentifier) t WHERE \(isCandidate) AND \(schema.instantSQL(stamp)) > :latest AND \(schema.keySQL.isNotNull("t"))"
        }
    }

    private func lateArguments(_ id: Int64, after latest: Instant, of schema: DatasetSchema) -> StatementArguments {
        let day = latest.advanced(byMicroseconds: -2 * 86_400_000_000)
        var arguments: StatementArguments = ["id": id, "latest": latest.microseconds]
        arguments += schema.timestampUnit.map { ["day": $0.real(day)] } ?? ["day": String(day.description.prefix(10))]
        return arguments
    }
}

/// The tracked changes `c` of a dataset whose instants must be corrected, in SQL.
private struct FutureChanges {
    let condition: String
    let arguments: StatementArguments
    /// The published instant that a change `c` replaces; NULL if there is none.
    let seen: String

    /// The expression of ``seen``.
    ///
    /// - A change that outlived a version replaces what that version has, which may be later than what it replaced when it was made.
    /// - If the published instant was not recorded, it is no later than the version.
    /// - Without a timestamp column all published instants are recorded. A change without one therefore replaces nothing, or a row from before
    ///   the first version.
    /// - A change of a row without an instant replaces nothing either.
    /// - A change that a rule made has its own instant as its base; it replaces what the version has.
    /// - The instant of an edit that was handed over counts as published until a version decides it.
    private static func seen(_ schema: DatasetSchema, hasSent: Bool) -> String {
        let stamp =
            schema.timestampIndex.map {
                "(SELECT \(schema.instantSQL("t.\(schema.columns[$0].column.sqlIdentifier)")) FROM \(schema.table.sqlIdentifier) t WHERE \(schema.keySQL.matches("t", "c.key")))"
            } ?? "NULL"
        let isUnseen = schema.timestampIndex == nil ? "(c.isNew <> \(TrackedOrigin.inVersion) OR c.base IS NOT c.at)" : "c.isNew = \(TrackedOrigin.new)"
        let recorded = """
            coalesce((SELECT at FROM snapsync_instants i WHERE i.dataset = c.dataset AND i.key = c.key),
                (SELECT at FROM snapsync_tombstones b WHERE b.dataset = c.dataset AND b.key = c.key))
            """
        let base = "nullif(nullif(c.base, c.at), \(Int64.min))"
        let known = """
            coalesce(max(\(base), \(recorded)), \(base), \(recorded),
                CASE WHEN \(isUnseen) OR c.base = \(Int64.min) THEN NULL WHEN c.base = c.at THEN min(:version, ifnull(\(stamp), :version)) ELSE :version END)
            """
        guard hasSent else { return known }
        return """
            nullif(max(ifnull(\(known), \(Int64.min)), ifnull((SELECT max(m.at) FROM snapsync_sent m
                WHERE m.dataset = c.dataset AND m.key = c.key AND m.seq < c.seq), \(Int64.min))), \(Int64.min))
            """
    }

    /// The latest instant that is not corrected, in microseconds: the log's clocks are whole milliseconds, and changes within one millisecond
    /// differ by microseconds.
    static func limit(_ now: Instant) -> Int64 { now.microseconds + 999 }

    init?(_ transaction: LocalTransaction, _ schema: DatasetSchema, now: Instant) throws {
        guard let id = try transaction.trackingID(schema) else { return nil }
        let version = try transaction.datasetStates.versionTime(of: schema)?.microseconds
        let hasSent = try transaction.db.hasTable(LocalTable.sent.name)
        seen = Self.seen(schema, hasSent: hasSent)
        // By a clock that is behind, changes follow what the version has by microseconds, too.
        var condition = "c.dataset = :id AND c.cause <> \(ChangeCause.known) AND c.at > :limit AND c.at > ifnull(\(seen) + 999, :now)"
        if hasSent { condition += " AND NOT EXISTS (SELECT 1 FROM snapsync_sent s WHERE s.dataset = c.dataset AND s.key = c.key AND s.seq = c.seq)" }
        self.condition = condition
        arguments = ["id": id, "now": now.microseconds, "limit": Self.limit(now), "version": version]
    }
}
