import GRDB
package import SnapshotModel
package import StrictText

/// The changes that this device published and that no other device has built on yet: the table `snapsync_published`.
///
/// If the commit turns out to have lost its number to another device's commit, these changes are tracked again with the same instants.
package struct PublishedChanges: TransactionPart {
    let transaction: LocalTransaction

    static let table = LocalTable.published.name

    /// How many publications of one row are told apart. The earlier ones count as one.
    private static let depth = 4

    /// What was published of one row, and what the version before it said of the row.
    private struct Publication {
        let key: OwnedValue
        let version: Int64
        let at: Instant
        let state: Int64
        var columns: ChangedColumns
        var base: KeyedStatement.Parameter
        var born: KeyedStatement.Parameter
        /// The record in `snapsync_instants`; empty if there was none.
        var seen: [KeyedStatement.Parameter]
        /// Whether the row is still as it was published.
        let isPresent: Bool
        let entityKey: EntityKey?

        var isDeletion: Bool { state == TrackedState.deleted.rawValue }

        static let sqlColumns = "key, version, at, state, changed, base, born, seenAt, seenRest, seenBorn, seenColumns"

        /// Reads ``sqlColumns``, and whether the row is as it was published.
        init(_ row: KeyedStatement) {
            func parameter(_ column: Int32) -> KeyedStatement.Parameter { .value(row.value(column)) }
            (key, version, at, state) = (row.value(0), row.integer(1), row.instant(2), row.integer(3))
            entityKey = row.key(0)
            columns = ChangedColumns(row.text(4), at: at)
            (base, born) = (parameter(5), parameter(6))
            seen = row.isNull(7) ? [] : (7...10).map(parameter)
            isPresent = row.integer(11) == 1
        }

        /// This publication and the next one of the row as one.
        func followed(by next: Publication, of schema: DatasetSchema) -> Publication {
            var one = next
            one.columns = isDeletion || next.isDeletion ? next.columns : columns.followed(by: next.columns, of: schema, at: at)
            (one.base, one.seen) = (base, seen)
            if case .null = born {} else { one.born = born }
            return one
        }
    }

    /// Copies the tracked changes up to `sequence`, which version `version` is about to contain.
    ///
    /// Call it before ``ChangeLog/acknowledge(of:upTo:)``, in the same transaction. Disk space: a key and some numbers for each change.
    package func keep(of schema: DatasetSchema, upTo sequence: Int64, version: Int, at clock: Instant) throws {
        guard let id = try trackingID(schema) else { return }
        try LocalTable.published.create(in: db)
        try db.execute(
            sql: """
                INSERT OR REPLACE INTO snapsync_published(dataset, key, at, state, version, clock, changed, base, born, seenAt, seenRest, seenBorn, seenColumns)
                SELECT c.dataset, c.key, c.at, c.state, ?, ?, c.changed, c.base, c.born, i.at, i.rest, i.born, i.columns
                FROM snapsync_changes c LEFT JOIN snapsync_instants i ON i.dataset = c.dataset AND i.key = c.key WHERE c.dataset = ? AND c.seq <= ?
                """, arguments: [version, clock.microseconds, id, sequence])
        let many = try publications(
            of: id,
            where: """
                key IN (SELECT key FROM snapsync_changes c WHERE dataset = ?1 AND seq <= ?2
                    AND (SELECT count(*) FROM snapsync_published q WHERE q.dataset = ?1 AND q.key = c.key) > \(Self.depth))
                """, Int(sequence))
        for rows in many {
            let one = rows[0].followed(by: rows[1], of: schema)
            try KeyedStatement(db, "DELETE FROM snapsync_published WHERE dataset = ? AND key = ? AND version = ?")
                .bind(.integer(id), .value(one.key), .integer(rows[0].version)).run()
            try KeyedStatement(
                db,
                """
                UPDATE snapsync_published SET changed = ?4, base = ?5, born = ?6, seenAt = ?7, seenRest = ?8, seenBorn = ?9, seenColumns = ?10
                WHERE dataset = ?1 AND key = ?2 AND version = ?3
                """
            ).bind(
                [.integer(id), .value(one.key), .integer(one.version), .optional(one.columns.encoded(at: one.at)), one.base, one.born]
                    + (one.seen.isEmpty ? Array(repeating: .null, count: 4) : one.seen)
            ).run()
        }
    }

    /// The publications of each key that satisfies a condition, by their versions.
    private func publications(
        of id: Int64, where condition: String, _ number: Int, isPresent: String = "0"
    ) throws -> [[Publication]] {
        let rows = try KeyedStatement(
            db,
            "SELECT \(Publication.sqlColumns), \(isPresent) FROM snapsync_published p WHERE dataset = ?1 AND key <> \(Self.allRows) AND \(condition) ORDER BY key, version"
        ).bind(.integer(id), .integer(Int64(number)))
        defer { rows.end() }
        var found: [[Publication]] = []
        while try rows.step() {
            let one = Publication(rows)
            if found.last?.last?.key == one.key { found[found.count - 1].append(one) } else { found.append([one]) }
        }
        return found
    }

    /// Records that version `version` is about to contain every row of a rewritten table: one row for the table, and one for each deletion.
    package func keep(_ rewritten: RewrittenTable, of schema: DatasetSchema, version: Int, at clock: Instant) throws {
        guard let id = try trackingID(schema) else { return }
        try LocalTable.published.create(in: db)
        // The row for the table stands for every row that exists, including rows that earlier versions had.
        try db.execute(sql: "DELETE FROM snapsync_published WHERE dataset = ? AND state <> \(TrackedState.deleted)", arguments: [id])
        let insert = { (key: String) in
            try KeyedStatement(db, "INSERT OR REPLACE INTO snapsync_published(dataset, at, state, version, clock, key) VALUES(?, ?, ?, ?, ?, \(key))")
        }
        let rest: [KeyedStatement.Parameter] = [.integer(Int64(version)), .instant(clock)]
        try insert(Self.allRows).bind(.integer(id), .instant(rewritten.latest), .integer(TrackedState.plain.rawValue), rest[0], rest[1]).run()
        for (key, at) in rewritten.deletions {
            try insert("?").bind(.integer(id), .instant(at), .integer(TrackedState.deleted.rawValue), rest[0], rest[1], .key(key)).run()
        }
    }

    /// The key that stands for all rows of a table. No real key is an empty blob.
    private static let allRows = "x''"

    /// Tracks again what this device published in versions after `version`, if the rows are still as it published them, and says again of these rows
    /// what that version says. Changes that were made since on top of them are joined with them.
    ///
    /// The log must have been consolidated, and the tombstones and instants of the version must still be in place: they tell whose the present
    /// state of an entity is.
    package func trackAgain(of schemas: [DatasetSchema], after version: Int) throws {
        guard try db.hasTable(Self.table) else { return }
        try LocalTable.published.create(in: db)
        for schema in schemas {
            guard let id = try trackingID(schema) else { continue }
            let table = schema.table.sqlIdentifier, key = schema.keySQL
            let isPresent = """
                CASE state WHEN \(TrackedState.deleted) THEN NOT EXISTS (SELECT 1 FROM \(table) t WHERE \(key.matches("t", "p.key")))
                        AND at IS (SELECT at FROM snapsync_tombstones b WHERE b.dataset = ?1 AND b.key = p.key)
                    ELSE at IS (SELECT \(Self.instant(of: schema)) FROM \(table) t WHERE \(key.matches("t", "p.key"))) END
                """
            for rows in try publications(of: id, where: "version > ?2", version, isPresent: isPresent) {
                try trackAgain(rows.dropFirst().reduce(rows[0]) { $0.followed(by: $1, of: schema) }, of: schema, id: id)
            }
            try trackAllAgain(schema, id: id, after: version)
            try db.execute(sql: "DELETE FROM snapsync_published WHERE dataset = ? AND version > ?", arguments: [id, version])
        }
    }

    /// Which columns this device published after `version`, by the keys of the rows; nil for all columns of a row.
    package func columns(of schema: DatasetSchema, after version: Int) throws -> [EntityKey: Set<Int>?] {
        guard try db.hasTable(Self.table), let id = try trackingID(schema) else { return [:] }
        return try publications(of: id, where: "version > ?2", version).reduce(into: [:]) { found, rows in
            guard let key = rows[0].entityKey else { return }
            let columns = rows.dropFirst().reduce(rows[0]) { $0.followed(by: $1, of: schema) }.columns
            let some: Set<Int>? = if case .some(let some) = columns { Set(some.keys) } else { nil }
            found[key] = .some(some)
        }
    }

    private func trackAgain(_ one: Publication, of schema: DatasetSchema, id: Int64) throws {
        let place: [KeyedStatement.Parameter] = [.integer(id), .value(one.key)]
        let pending = try KeyedStatement(db, "SELECT \(TrackedChange.sqlColumns) FROM snapsync_changes WHERE dataset = ? AND key = ?").bind(place)
        let later = try pending.step() ? TrackedChange(pending, schema) : nil
        pending.end()
        if let later {
            guard later.base == one.at else { return }
            let columns = one.isDeletion || later.isDeletion ? later.columns : one.columns.followed(by: later.columns, of: schema, at: one.at)
            try KeyedStatement(
                db,
                "UPDATE snapsync_changes SET changed = ?3, base = ?4, born = ifnull(?5, born), isNew = \(TrackedOrigin.unknown) WHERE dataset = ?1 AND key = ?2"
            ).bind(place + [.optional(columns.encoded(at: later.instant)), one.base, one.born]).run()
        } else {
            guard one.isPresent else { return }
            try KeyedStatement(db, "INSERT INTO snapsync_changes(dataset, key, at, seq, state, cause, changed, base, born) VALUES(?, ?, ?, 0, ?, ?, ?, ?, ?)")
                .bind(
                    place + [.instant(one.at), .integer(one.state), .integer(ChangeCause.known.rawValue), .optional(one.columns.encoded(at: one.at))]
                        + [one.base, one.born]
                ).run()
        }
        try KeyedStatement(db, "DELETE FROM snapsync_instants WHERE dataset = ? AND key = ?").bind(place).run()
        guard !one.seen.isEmpty else { return }
        try KeyedStatement(db, "INSERT INTO snapsync_instants(dataset, key, at, rest, born, columns) VALUES(?, ?, ?, ?, ?, ?)").bind(place + one.seen).run()
    }

    /// Tracks every row again, with its instant, if the whole table was published after `version`.
    private func trackAllAgain(_ schema: DatasetSchema, id: Int64, after version: Int) throws {
        let key = schema.keySQL
        try db.execute(
            sql: """
                INSERT INTO snapsync_changes(dataset, key, at, seq, state, cause)
                SELECT ?1, x.key, ifnull(x.at, \(Int64.min)), 0, CASE WHEN x.at IS x.own THEN \(TrackedState.plain) ELSE \(TrackedState.stamped) END, \(ChangeCause.known) FROM (
                    SELECT \(key.value(of: "t")) AS key, \(Self.instant(of: schema)) AS at, \(schema.ownInstantSQL) AS own FROM \(schema.table.sqlIdentifier) t
                    WHERE EXISTS (SELECT 1 FROM snapsync_published WHERE dataset = ?1 AND key = \(Self.allRows) AND version > ?2) AND \(key.isNotNull("t"))) x WHERE 1
                ON CONFLICT(dataset, key) DO UPDATE SET changed = NULL WHERE state <> \(TrackedState.deleted)
                """, arguments: [id, version])
    }

    /// Deletes what is no longer needed: changes of versions before `version`, on which another device has built, and changes that were published
    /// before `instant`.
    package func forget(before version: Int?, orAt instant: Instant) throws {
        guard try db.hasTable(Self.table) else { return }
        try db.execute(sql: "DELETE FROM snapsync_published WHERE version < ? OR clock < ?", arguments: [version ?? 0, instant.microseconds])
    }

    /// The instant that the applied version gives the entity of row `t`, in SQL; `?1` is the dataset's number.
    static func instant(of schema: DatasetSchema) -> String {
        let stamp = schema.ownInstantSQL
        return "coalesce((SELECT at FROM snapsync_instants i WHERE i.dataset = ?1 AND i.key = \(schema.keySQL.value(of: "t"))), \(stamp))"
    }
}
