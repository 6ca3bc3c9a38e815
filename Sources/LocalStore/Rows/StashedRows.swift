import GRDB
package import LocalTables
package import SnapshotModel
import StrictText

/// Rows in a temporary table, to be inserted one by one into a dataset's table whose other rows may hold their UNIQUE values.
///
///     let rows = try StashedRows(transaction, schema, table: "snapsync_returning")
///     try rows.create()
///     try send(rows.applier())
///     if try !rows.insert(key) { let rivals = try rows.rivals(of: key) … }
///     try rows.drop()
///
/// Valid inside the transaction that it was made in, and inside ``ChangeTracking/importing(_:then:_:)``.
package final class StashedRows {
    package let schema: DatasetSchema
    /// The dataset with the temporary table in place of its own.
    let stashed: DatasetSchema
    /// The temporary table, with its schema name.
    let table: String
    /// All columns that can be written, quoted, including columns that the dataset does not describe, and the rowid if it is the key.
    let columnNames: [String]
    private let transaction: LocalTransaction
    private let described: String
    /// The columns of this database alone without which SQLite inserts no row.
    private let required: [String]
    /// What is inserted into the described columns.
    private let values: String
    private var db: Database { transaction.db }
    private var columns: String { columnNames.joined(separator: ", ") }
    private var key: KeySQL { schema.keySQL }

    /// - Parameter table: the temporary table's name, which needs no quotes.
    package init(_ transaction: LocalTransaction, _ schema: DatasetSchema, table: String) throws {
        self.transaction = transaction
        self.schema = schema
        self.table = "temp.\(table)"
        stashed = try schema.with { $0.table = table }
        let own = try TableColumns(transaction.db, schema.table)
        columnNames = (try transaction.tables.hiddenKey(of: schema).map { [$0] } ?? []).map(\.sqlIdentifier) + (own?.plain ?? []).map(\.name.sqlIdentifier)
        required = own?.undescribed(by: schema).filter(\.isRequired).map(\.name.sqlIdentifier) ?? []
        described = (schema.columns.map { $0.column.sqlIdentifier } + required).joined(separator: ", ")
        let defaults = own?.requiredDefaults(of: schema, transaction.db) ?? [:]
        values =
            (schema.columns.map { column in
                defaults[column.column.folded].map { "coalesce(\(column.column.sqlIdentifier), \($0))" } ?? column.column.sqlIdentifier
            } + required).joined(separator: ", ")
    }

    /// Creates the temporary table, after dropping one of the same name.
    ///
    /// - Parameter condition: which rows `t` of the dataset's table are copied into it; nil for none.
    package func create(where condition: String? = nil) throws {
        let name = table.dropFirst("temp.".count)
        let generated = try TableColumns(db, schema.table).map { try GeneratedColumns(db, $0).definitions } ?? []
        try db.execute(
            sql: """
                DROP TABLE IF EXISTS \(table);
                CREATE TEMP TABLE \(name)(\((columnNames + generated).joined(separator: ", ")));
                CREATE UNIQUE INDEX \(table)_key ON \(name)(\(key.indexed));
                """)
        // The columns have no collations, which may be the application's own.
        guard let condition else { return }
        try db.execute(sql: "INSERT INTO \(table)(\(columns)) SELECT \(columns) FROM main.\(schema.table.sqlIdentifier) t WHERE \(condition)")
    }

    /// Creates the temporary table with the rows of which no change is tracked.
    package func createUntracked() throws {
        let id = try transaction.trackingID(schema) ?? 0
        try create(where: "NOT EXISTS (SELECT 1 FROM main.snapsync_changes c WHERE c.dataset = \(id) AND c.key = \(key.value(of: "t")))")
    }

    /// The keys of the rows that the dataset's table no longer has with these values, in their order.
    package func replaced() throws -> [EntityKey] {
        let same = schema.columns.map(\.column.sqlIdentifier).map { "t.\($0) COLLATE BINARY IS s.\($0) AND typeof(t.\($0)) = typeof(s.\($0))" }
        let isThere = "SELECT 1 FROM main.\(schema.table.sqlIdentifier) t WHERE \(([key.isSame("t", "s")] + same).joined(separator: " AND "))"
        return try KeyedStatement(db, "SELECT \(key.value(of: "s")) FROM \(table) s WHERE NOT EXISTS (\(isThere))").keys().sorted()
    }

    package func drop() throws { try db.execute(sql: "DROP TABLE IF EXISTS \(table)") }

    /// Copies a row of the dataset's table. Returns whether there is one.
    package func copy(_ key: EntityKey) throws -> Bool {
        let row = "SELECT \(columns) FROM main.\(schema.table.sqlIdentifier) WHERE \(self.key.matches(nil, "?1"))"
        try KeyedStatement(db, "INSERT INTO \(table)(\(columns)) \(row)").bind(.key(key)).run()
        return db.changesCount > 0
    }

    /// Prepares lookups of stashed rows.
    package func lookup() throws -> RowLookup { try transaction.rows.lookup(of: stashed) }

    /// Adds an entity, replacing the stashed row with the same key.
    package func add(_ key: EntityKey, _ give: (any EntitySink) throws -> Void) throws {
        try KeyedStatement(db, "DELETE FROM \(table) WHERE \(self.key.matches(nil, "?1"))").bind(.key(key)).run()
        try give(try EntityApplier(transaction, stashed, for: schema))
        guard !required.isEmpty else { return }
        let list = required.joined(separator: ", ")
        try KeyedStatement(
            db,
            """
            UPDATE \(table) SET (\(list)) = (SELECT \(list) FROM main.\(schema.table.sqlIdentifier) t WHERE \(self.key.matches("t", "?1")))
            WHERE \(self.key.matches(nil, "?1"))
            """
        ).bind(.key(key)).run()
    }

    /// Adds an entity with these values.
    func add(_ key: EntityKey, _ values: [OwnedValue]) throws { try add(key) { sink in try values.lending { try sink.receive($0) } } }

    /// The rows that hold a UNIQUE value of the stashed row, each with the positions of the constraint's columns.
    func clashes(of key: EntityKey) throws -> [(rival: EntityKey, columns: Set<Int>)] {
        let rivals = try rivals(of: key)
        guard !rivals.isEmpty else { return [] }
        let unique = try UniqueKey.others(db, schema) ?? []
        return try rivals.flatMap { rival in
            let found = try unique.filter { one in
                let isTaken =
                    "EXISTS (SELECT 1 FROM main.\(schema.table.sqlIdentifier) t WHERE \(one.isTakenFrom) AND \(self.key.matches("t", "?2")))"
                return try KeyedStatement(db, "SELECT 1 FROM \(table) \"NEW\" WHERE \(self.key.matches("NEW", "?1")) AND \(isTaken)")
                    .bind(.key(key), .key(rival)).integer() != nil
            }
            return (found.isEmpty ? unique : found).map { one in
                (rival, Set(one.columns.compactMap { name in schema.columns.firstIndex { $0.column.folded == name.folded } }))
            }
        }
    }

    /// Copies a stashed row into the dataset's table. Returns false if it violates a constraint, even a constraint with its own ON CONFLICT
    /// clause.
    package func insert(_ key: EntityKey) throws -> Bool {
        do {
            try KeyedStatement(db, statement("ABORT")).bind(.key(key)).run()
            return true
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            return false
        }
    }

    /// Inserts rows whose keys no version can contain, and no merge decides, where the table does not have them.
    func putBack(_ keys: [OwnedValue]) throws {
        let stashed = key.value(of: "s"), own = key.value(of: "t"), name = "main.\(schema.table.sqlIdentifier)"
        for key in keys {
            do {
                try KeyedStatement(
                    db,
                    """
                    INSERT INTO \(name)(\(columns)) SELECT \(columns) FROM \(table) s
                    WHERE \(stashed) = ?1 AND NOT EXISTS (SELECT 1 FROM \(name) t WHERE \(own) = ?1)
                    """
                ).bind(.value(key)).run()
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
                throw SyncError(
                    database: .badRow, at: "\(transaction.path), table \(schema.table)",
                    "a row of this device, whose key no version can contain, does not fit beside the version's rows; nothing was changed",
                    hint: "snapsync check --local lists such rows; change their keys or delete them, then run the same command again")
            }
        }
    }

    /// The keys of the rows that hold a UNIQUE value of the stashed row, in key order: the rows that REPLACE would remove.
    ///
    /// SQLite itself determines them, so that partial indexes, indexes on expressions and collations count as they do in the table.
    package func rivals(of key: EntityKey) throws -> [EntityKey] {
        // REPLACE runs delete triggers only if recursive triggers are on.
        let wasRecursive = try Bool.fetchOne(db, sql: "PRAGMA recursive_triggers") ?? false
        try db.execute(
            sql: """
                PRAGMA recursive_triggers = ON;
                CREATE TEMP TABLE IF NOT EXISTS snapsync_rivals(key);
                CREATE TEMP TRIGGER IF NOT EXISTS snapsync_rivals_noted AFTER DELETE ON main.\(schema.table.sqlIdentifier)
                BEGIN INSERT INTO snapsync_rivals VALUES(\(self.key.value(of: "OLD"))); END;
                """)
        defer {
            // If this fails, the transaction is rolled back anyway.
            try? db.execute(sql: "DROP TRIGGER IF EXISTS temp.snapsync_rivals_noted; DROP TABLE IF EXISTS temp.snapsync_rivals")
            if !wasRecursive { try? db.execute(sql: "PRAGMA recursive_triggers = OFF") }
        }
        var found: Set<EntityKey> = []
        do {
            try db.inSavepoint {
                try KeyedStatement(db, statement("REPLACE")).bind(.key(key)).run()
                found = Set(try KeyedStatement(db, "SELECT key FROM temp.snapsync_rivals").bind().keys())
                return .rollback
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            // The row violates a constraint other than UNIQUE, so no other row conflicts.
            return []
        }
        found.remove(key)
        return found.sorted()
    }

    private func statement(_ conflict: String) -> String {
        "INSERT OR \(conflict) INTO main.\(schema.table.sqlIdentifier)(\(described)) SELECT \(values) FROM \(table) WHERE \(key.matches(nil, "?1"))"
    }
}
