import GRDB
package import LocalTables
package import SnapshotModel
package import StrictText

/// Inserts, updates and deletes rows of the datasets' tables.
///
/// Sees the changes of its transaction. Does not enforce foreign keys (``ForeignKeyEnforcer``).
package struct RowAccess: TransactionPart {
    package let transaction: LocalTransaction

    /// Deletes every entity of a dataset and returns an applier for the new ones.
    package func replaceAll(of schema: DatasetSchema) throws -> EntityApplier {
        try SyncError.translating(at: "\(path), table \(schema.table)") {
            try db.execute(sql: "DELETE FROM main.\(schema.table.sqlIdentifier)")
            return try EntityApplier(transaction, schema)
        }
    }

    /// Returns an applier that adds entities to the existing ones.
    package func inserting(into schema: DatasetSchema) throws -> EntityApplier {
        try SyncError.translating(at: "\(path), table \(schema.table)") { try EntityApplier(transaction, schema) }
    }

    /// Returns an applier that adds entities, and updates the rows whose keys exist.
    ///
    /// Columns that the dataset does not describe keep their values.
    package func updating(_ schema: DatasetSchema) throws -> EntityApplier {
        try SyncError.translating(at: "\(path), table \(schema.table)") { try EntityApplier(transaction, schema, updating: true) }
    }

    /// Checks that a dataset's table holds exactly `count` entities after all were inserted.
    ///
    /// A constraint with ON CONFLICT, or an application's trigger, can drop rows without an error.
    ///
    /// - Throws: ``SyncError`` with `.badRow`.
    package func checkCount(of schema: DatasetSchema, is count: Int) throws {
        let found = try rowCount(of: schema, besideIndexes: true)
        guard found == count else {
            guard try rowCount(of: schema) == found else {
                throw SyncError(
                    database: .badRow, at: "\(path), table \(schema.table)", "an index of the table has lost rows: the index is damaged; nothing was changed",
                    hint: "sqlite3 \(path.shellWord) REINDEX")
            }
            throw SyncError(
                database: .badRow, at: "\(path), table \(schema.table)", "\(count) entities were put in, and the table holds \(found); nothing was changed",
                hint: "look for constraints with ON CONFLICT and for triggers that insert into or delete from this table")
        }
    }

    package func deleteEntity(_ key: EntityKey, of schema: DatasetSchema) throws -> Bool {
        try SyncError.translating(at: "\(path), table \(schema.table)") {
            try KeyedStatement(db, "DELETE FROM \(schema.table.sqlIdentifier) WHERE \(schema.keySQL.matches(nil, "?1"))").bind(.key(key)).run()
            return db.changesCount > 0
        }
    }

    /// Deletes the entities whose keys lie in a range.
    package func deleteEntities(of schema: DatasetSchema, in range: KeyRange) throws {
        try SyncError.translating(at: "\(path), table \(schema.table)") {
            let first = range.first.map { KeyedStatement.Parameter.key($0) }, next = range.next.map { KeyedStatement.Parameter.key($0) }
            try KeyedStatement(db, "DELETE FROM \(schema.table.sqlIdentifier) \(schema.keySQL.condition(range))")
                .bind(next.map { [first ?? .null, $0] } ?? [first].compactMap(\.self)).run()
        }
    }

    /// Deletes the entities with those keys, one by one, so that the table's triggers run.
    package func deleteEntities(_ keys: [EntityKey], of schema: DatasetSchema) throws {
        try SyncError.translating(at: "\(path), table \(schema.table)") {
            let statement = try KeyedStatement(db, "DELETE FROM \(schema.table.sqlIdentifier) WHERE \(schema.keySQL.matches(nil, "?1"))")
            for key in keys { try statement.bind(.key(key)).run() }
        }
    }

    /// Deletes rows whose key is NULL.
    package func deleteRowsWithoutKey(of schema: DatasetSchema) throws {
        try db.execute(sql: "DELETE FROM \(schema.table.sqlIdentifier) WHERE \(schema.keySQL.isNull())")
    }

    /// Sets several columns of one row in one statement.
    ///
    /// - Parameter values: the new values by the columns' positions in the schema.
    package func setValues(_ values: [Int: OwnedValue], of key: EntityKey, in schema: DatasetSchema) throws {
        try SyncError.translating(at: "\(path), table \(schema.table)") {
            let columns = values.keys.sorted()
            guard !columns.isEmpty else { return }
            let table = try TableColumns(db, schema.table)
            for index in columns {
                guard let form = table?.column(schema.columns[index].column)?.affinity.changed(values[index] ?? .null) else { continue }
                throw SyncError(
                    database: .badRow, at: "\(path), table \(schema.table)", "the column \(schema.columns[index].column) would store the value as \(form)")
            }
            let assignments = columns.enumerated().map { "\(schema.columns[$1].column.sqlIdentifier) = ?\($0 + 2)" }.joined(separator: ", ")
            let parameters: [KeyedStatement.Parameter] = [.key(key)] + columns.map { .value(values[$0] ?? .null) }
            try KeyedStatement(db, "UPDATE \(schema.table.sqlIdentifier) SET \(assignments) WHERE \(schema.keySQL.matches(nil, "?1"))")
                .bind(parameters).run()
        }
    }

    /// The position of the column that marks a row that stays for its children; nil if the dataset has none.
    func orphanColumn(of schema: DatasetSchema) throws -> Int? {
        guard let index = schema.columns.firstIndex(where: { $0.name == "isOrphan" }) else { return nil }
        let orphan = schema.columns[index]
        let isOrphan = try orphan.shape == .boolean || orphan.shape == nil && TableColumns(db, schema.table)?.column(orphan.column)?.isDeclaredBoolean == true
        return isOrphan ? index : nil
    }

    // MARK: - Queries of the datasets' rows

    package func hasRow(_ key: EntityKey, of schema: DatasetSchema) throws -> Bool {
        try KeyedStatement(db, "SELECT 1 FROM \(schema.table.sqlIdentifier) WHERE \(schema.keySQL.matches(nil, "?1"))").bind(.key(key)).integer() != nil
    }

    /// Whether the dataset's table has a row in a range of keys.
    package func hasRows(_ schema: DatasetSchema, in range: KeyRange) throws -> Bool {
        let statement = try RowStatement(db, schema, where: schema.keySQL.condition(range), path: path)
        try statement.bind(from: range.first, upTo: range.next)
        defer { statement.end() }
        return try statement.step()
    }

    /// Whether the dataset's table holds more than `count` rows.
    package func hasRows(_ schema: DatasetSchema, moreThan count: Int = 0) throws -> Bool {
        try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM \(schema.table.sqlIdentifier) LIMIT 1 OFFSET ?)", arguments: [count]) ?? false
    }

    /// Whether a row of the dataset's table has NULL in a key column.
    package func hasNullKeys(_ schema: DatasetSchema) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM \(schema.table.sqlIdentifier) WHERE \(schema.keySQL.isNull()))") ?? false
    }

    /// How many rows a dataset's table has.
    ///
    /// - Parameter isCounted: whether to count the rows themselves. An index is smaller, and may have lost entries.
    package func rowCount(of schema: DatasetSchema, besideIndexes isCounted: Bool = false) throws -> Int {
        try SyncError.translating(at: "\(path), table \(schema.table)") {
            try Int.fetchOne(db, sql: "SELECT count(*) FROM \(schema.table.sqlIdentifier)\(isCounted ? " NOT INDEXED" : "")") ?? 0
        }
    }

    /// How many changed rows have a timestamp that is no time, and the key of one of them. Looks at the first 10,000 tracked changes.
    package func unreadTimestamps(of schema: DatasetSchema) throws -> (count: Int, key: EntityKey)? {
        guard let id = try trackingID(schema), let stamp = schema.timestampIndex.map({ schema.columns[$0].column.sqlIdentifier }) else { return nil }
        let rows = try KeyedStatement(
            db,
            """
            SELECT key, count(*) FROM (SELECT key FROM snapsync_changes WHERE dataset = ? LIMIT 10000) c
            WHERE (SELECT t.\(stamp) IS NOT NULL AND (\(schema.ownInstantSQL)) IS NULL FROM \(schema.table.sqlIdentifier) t WHERE \(schema.keySQL.matches("t", "c.key")))
            """
        ).bind(.integer(id))
        defer { rows.end() }
        guard try rows.step(), let key = rows.key(0) else { return nil }
        return (Int(rows.integer(1)), key)
    }

    /// The instant of the row's own timestamp, or `distantPast` if it has none; nil if there is no row.
    package func ownInstant(of key: EntityKey, in schema: DatasetSchema) throws -> Instant? {
        let statement = try KeyedStatement(
            db, "SELECT coalesce(\(schema.ownInstantSQL), \(Int64.min)) FROM \(schema.table.sqlIdentifier) t WHERE \(schema.keySQL.matches("t", "?1"))")
        return try statement.bind(.key(key)).integer().map(Instant.init(microseconds:))
    }

    /// Passes the row with that key to a sink, if it exists.
    package func sendRow(_ key: EntityKey, of schema: DatasetSchema, to sink: any EntitySink) throws { _ = try lookup(of: schema).send(key, to: sink) }

    /// Passes every row of a dataset to a sink, in key order.
    package func sendRows(of schema: DatasetSchema, to sink: any EntitySink) throws {
        try ranges(of: schema).read(KeyRange(number: 0, first: nil, next: nil), into: sink)
    }

    /// Prepares lookups of rows by key.
    package func lookup(of schema: DatasetSchema) throws -> RowLookup { try RowLookup(transaction, schema) }

    /// Prepares reading rows by ranges of keys, including the changes of this transaction.
    package func ranges(of schema: DatasetSchema) -> RangeReader { RangeReader(transaction, schema) }

    /// Sets `readAt` and `updatedAt` of up to `count` notifications, chosen by `seed`. Returns how many.
    package func markNotificationsRead(count: Int, seed: UInt64, at instant: Instant) throws -> Int {
        let rowids = try Int64.fetchCursor(db, sql: "SELECT rowid FROM notifications ORDER BY rowid")
        // Reservoir sampling (Vitter's algorithm R): each row is chosen with equal probability, without knowing the number of rows in advance.
        var random = SeededGenerator(seed: seed)
        var chosen: [Int64] = []
        var seen = 0
        while let rowid = try rowids.next() {
            seen += 1
            if chosen.count < count {
                chosen.append(rowid)
            } else {
                let place = random.below(seen)
                if place < count { chosen[place] = rowid }
            }
        }
        for rowid in chosen {
            try db.execute(sql: "UPDATE notifications SET readAt = ?1, updatedAt = ?1 WHERE rowid = ?2", arguments: [instant.description, rowid])
        }
        return chosen.count
    }
}

/// Looks rows up by key and passes them to a sink.
package final class RowLookup {
    private let statement: RowStatement

    init(_ transaction: LocalTransaction, _ schema: DatasetSchema) throws {
        statement = try RowStatement(transaction.db, schema, where: "WHERE \(schema.keySQL.matches(nil, "?1"))", path: transaction.path)
    }

    /// Passes the row with that key to a sink. Returns whether it exists.
    package func send(_ key: EntityKey, to sink: any EntitySink) throws -> Bool {
        try statement.bind(from: key, upTo: nil)
        defer { statement.end() }
        guard try statement.step() else { return false }
        try statement.send(to: sink)
        return true
    }
}
