import GRDB
package import SnapshotModel
package import StrictText

/// Repairs instants that are too late: those of rows whose timestamp a program set in the future, and those of changes that were logged while the
/// clock was ahead.
package struct FutureInstants: TransactionPart {
    let transaction: LocalTransaction

    /// Whether ``correct(of:now:)`` has anything to do.
    package func exist(of schemas: [DatasetSchema], now: Instant) throws -> Bool {
        guard try transaction.tracking.hasTables() else { return false }
        if try transaction.changeLog.hasEntry(after: now) || hasRefusableMessages(now: now) { return true }
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
    /// A change that was sent with an instant that the publisher accepts, at most a day ahead, keeps it. A message that was not sent is deleted,
    /// and composed again later. A message whose file is in the mailbox is withdrawn, and the sender removes the file.
    package func correct(of schemas: [DatasetSchema], now: Instant) throws {
        try transaction.changeLog.consolidate(of: schemas)
        if try hasRefusableMessages(now: now) {
            let numbers = try Int64.fetchAll(
                db, sql: "SELECT number FROM snapsync_outbox WHERE \(Self.isRefusable)", arguments: [now.microseconds + 86_400_000_000])
            for number in numbers { try takeBack(number) }
        }
        for schema in schemas {
            guard let future = try FutureChanges(transaction, schema, now: now) else { continue }
            if try transaction.mailbox.exist() { try takeBackMessages(about: future) }
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

    /// Withdraws the messages about changes whose instants are corrected, because they carry the old instant. A change whose message is already
    /// in the mailbox becomes a new change.
    private func takeBackMessages(about future: FutureChanges) throws {
        let those = "SELECT 1 FROM snapsync_changes c WHERE c.dataset = o.dataset AND c.key = o.key AND c.seq = o.seq AND \(future.condition)"
        try db.execute(
            sql: "DELETE FROM snapsync_outbox AS o WHERE id IS NOT NULL AND filed = 0 AND state = 'stored' AND EXISTS (\(those))", arguments: future.arguments)
        let filed = "SELECT number FROM snapsync_outbox o WHERE id IS NOT NULL AND filed = 1 AND state IN ('stored', 'sent', 'doubtful') AND EXISTS (\(those))"
        for number in try Int64.fetchAll(db, sql: filed, arguments: future.arguments) { try takeBack(number) }
    }

    /// Withdraws a message; the sender removes its file later. If the change that it carried is still tracked, it becomes a new change and is
    /// sent again.
    private func takeBack(_ number: Int64) throws {
        let sequence = try transaction.changeLog.nextSequence()
        try db.execute(
            sql: """
                UPDATE snapsync_changes AS c SET seq = ? WHERE EXISTS (
                    SELECT 1 FROM snapsync_outbox o WHERE o.number = ? AND c.dataset = o.dataset AND c.key = o.key AND c.seq = o.seq)
                """, arguments: [sequence, number])
        try db.execute(
            sql: "UPDATE snapsync_outbox SET state = 'refused', reason = 'taken back: its instant came from a wrong clock' WHERE number = ?",
            arguments: [number])
    }

    /// Whether the mailbox has messages of this device that publishers refuse because their instants are more than a day ahead. A publisher would
    /// apply such a message later, when it may be out of date.
    private func hasRefusableMessages(now: Instant) throws -> Bool {
        guard try transaction.mailbox.exist() else { return false }
        return try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM snapsync_outbox WHERE \(Self.isRefusable))", arguments: [now.microseconds + 86_400_000_000]) ?? false
    }

    private static let isRefusable = """
        id IS NOT NULL AND dataset > 0 AND filed = 1 AND state IN ('stored', 'sent', 'doubtful') AND snapsync_instant(json_extract(body, '$.timestamp')) > ?
        """

    /// Tracks, at `now`, each row whose own timestamp is later than `now` and for which neither the log nor a version has an instant.
    package func adoptRows(of schema: DatasetSchema, now: Instant) throws {
        guard let id = try trackingID(schema), let late = lateRows(of: schema) else { return }
        try db.execute(
            sql: """
                INSERT INTO snapsync_changes(dataset, key, at, seq, state) SELECT :id, \(schema.keySQL.value(of: "t")), :latest, 0, 1 \(late)
                AND NOT EXISTS (SELECT 1 FROM snapsync_changes c WHERE c.dataset = :id AND c.key = \(schema.keySQL.value(of: "t")))
                AND NOT EXISTS (SELECT 1 FROM snapsync_instants i WHERE i.dataset = :id AND i.key = \(schema.keySQL.value(of: "t")))
                """, arguments: lateArguments(id, now, schema))
    }

    /// Limits the instants of the version's rows to the version's own time: records that time for each row whose timestamp is later.
    ///
    /// Call it while the table has the version's rows alone.
    package func limitTimestamps(of schema: DatasetSchema, to latest: Instant) throws {
        guard let id = try trackingID(schema), let late = lateRows(of: schema) else { return }
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO snapsync_instants(dataset, key, at) SELECT :id, \(schema.keySQL.value(of: "t")), :latest \(late)
                """, arguments: lateArguments(id, latest, schema))
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

    private func lateArguments(_ id: Int64, _ latest: Instant, _ schema: DatasetSchema) -> StatementArguments {
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
    /// - The instant of a message that may be in the mailbox counts as published until a version answers the message.
    private static func seen(_ schema: DatasetSchema, hasMailbox: Bool) -> String {
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
        guard hasMailbox else { return known }
        return """
            nullif(max(ifnull(\(known), \(Int64.min)), ifnull((SELECT max(snapsync_instant(json_extract(m.body, '$.timestamp'))) FROM snapsync_outbox m
                WHERE m.dataset = c.dataset AND m.key = c.key AND m.seq < c.seq AND m.filed = 1 AND m.state IN ('stored', 'sent', 'doubtful')), \(Int64.min))), \(Int64.min))
            """
    }

    /// The latest instant that is not corrected, in microseconds: the log's clocks are whole milliseconds, and changes within one millisecond
    /// differ by microseconds.
    static func limit(_ now: Instant) -> Int64 { now.microseconds + 999 }

    init?(_ transaction: LocalTransaction, _ schema: DatasetSchema, now: Instant) throws {
        guard let id = try transaction.tracking.id(of: schema) else { return nil }
        let version = try transaction.datasetStates.versionTime(of: schema)?.microseconds
        var values: [String: (any DatabaseValueConvertible)?] = ["id": id, "now": now.microseconds, "limit": Self.limit(now), "version": version]
        let hasMailbox = try transaction.mailbox.exist()
        seen = Self.seen(schema, hasMailbox: hasMailbox)
        // A parent that was restored is 1 us later than its deletion, and the deletion is 1 us later than what the version has.
        var condition = "c.dataset = :id AND c.at > :limit AND c.at > ifnull(\(seen) + 2, :now)"
        if hasMailbox {
            values["day"] = now.microseconds + 86_400_000_000
            condition += """
                 AND NOT EXISTS (SELECT 1 FROM snapsync_outbox s WHERE s.dataset = c.dataset AND s.key = c.key AND s.seq = c.seq AND s.id IS NOT NULL
                    AND (s.filed = 1 AND s.state IN ('stored', 'sent', 'doubtful') AND c.at <= :day OR s.state IN ('applied', 'refused')))
                """
        }
        self.condition = condition
        arguments = StatementArguments(values)
    }
}
