import GRDB
package import SnapshotModel

/// Rows in a temporary table that are to be put into a dataset's table one by one, where other rows may hold their UNIQUE values.
///
///     let rows = try StashedRows(transaction, schema, table: "snapsync_returning")
///     try rows.create()
///     try give(rows.applier())
///     if try !rows.insert(key) { let rivals = try rows.rivals(of: key) … }
///     try rows.drop()
///
/// Works inside the transaction that it came from, and inside ``ChangeTracking/importing(_:)``.
package final class StashedRows {
    package let schema: DatasetSchema
    /// The dataset as it stands in the temporary table.
    let stashed: DatasetSchema
    /// The temporary table, with its schema.
    let table: String
    /// The columns that can be written, described or not, quoted; the rowid among them where it is the key.
    let columnNames: [String]
    private let transaction: LocalTransaction
    private let described: String
    private var db: Database { transaction.db }
    private var columns: String { columnNames.joined(separator: ", ") }
    private var key: KeySQL { schema.keySQL }

    /// - Parameter table: the temporary table's name, which needs no quotes.
    package init(_ transaction: LocalTransaction, _ schema: DatasetSchema, table: String) throws {
        self.transaction = transaction
        self.schema = schema
        self.table = "temp.\(table)"
        stashed = try schema.inTable(table)
        let columns = try String.fetchAll(transaction.db, sql: "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", arguments: [schema.table])
        columnNames = (try transaction.tables.hiddenKey(of: schema).map { [$0] } ?? []).map(\.sqlIdentifier) + columns.map(\.sqlIdentifier)
        described = schema.columns.map { $0.column.sqlIdentifier }.joined(separator: ", ")
    }

    /// Creates the temporary table; one that is there already is dropped first.
    ///
    /// - Parameter condition: of the rows `t` of the dataset's table that it takes over; nil for none.
    package func create(where condition: String? = nil) throws {
        let name = table.dropFirst("temp.".count)
        try db.execute(
            sql: """
                DROP TABLE IF EXISTS \(table);
                CREATE TEMP TABLE \(name) AS SELECT \(columns) FROM main.\(schema.table.sqlIdentifier) t WHERE \(condition ?? "0");
                CREATE UNIQUE INDEX \(table)_key ON \(name)(\(key.indexed));
                """)
    }

    /// Puts values of stashed rows into the rows of the same keys, where those have NULL.
    ///
    /// - Parameter columns: the columns' positions in the schema.
    package func fillNulls(of columns: [Int]) throws {
        let values = columns.map { schema.columns[$0].column.sqlIdentifier }.map { name in
            "\(name) = coalesce(t.\(name), (SELECT k.\(name) FROM \(table) k WHERE \(key.isSame("k", "t"))))"
        }
        guard !values.isEmpty else { return }
        try db.execute(
            sql: "UPDATE main.\(schema.table.sqlIdentifier) AS t SET \(values.joined(separator: ", ")) WHERE \(key.isIn("t", table: table))")
    }

    package func drop() throws { try db.execute(sql: "DROP TABLE IF EXISTS \(table)") }

    /// Takes an entity in, in place of the row of its key.
    package func take(_ key: EntityKey, _ give: (any EntitySink) throws -> Void) throws {
        try KeyedStatement(db, "DELETE FROM \(table) WHERE \(self.key.matches(nil, "?1"))").bind(.key(key)).run()
        try give(try EntityApplier(transaction, stashed))
    }

    /// Copies a stashed row into the dataset's table. Returns false if a constraint refuses it, whatever the constraint itself would do.
    ///
    /// - Parameter isWhole: whether columns that the dataset does not describe are copied, too.
    package func insert(_ key: EntityKey, isWhole: Bool = false) throws -> Bool {
        do {
            try KeyedStatement(db, statement("ABORT", isWhole)).bind(.key(key)).run()
            return true
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            return false
        }
    }

    /// The keys of the rows that hold a UNIQUE value of the stashed row, in their order: those that REPLACE would remove.
    ///
    /// SQLite itself says which these are, so that partial indexes, indexes on expressions and collations count as they do in the table.
    package func rivals(of key: EntityKey, isWhole: Bool = false) throws -> [EntityKey] {
        // REPLACE runs delete triggers only with recursive triggers.
        let wasRecursive = try Bool.fetchOne(db, sql: "PRAGMA recursive_triggers") ?? false
        try db.execute(
            sql: """
                PRAGMA recursive_triggers = ON;
                CREATE TEMP TABLE IF NOT EXISTS snapsync_rivals(key);
                CREATE TEMP TRIGGER IF NOT EXISTS snapsync_rivals_noted AFTER DELETE ON main.\(schema.table.sqlIdentifier)
                BEGIN INSERT INTO snapsync_rivals VALUES(\(self.key.value(of: "OLD"))); END;
                """)
        defer {
            // The transaction would be rolled back anyway if this could fail.
            try? db.execute(sql: "DROP TRIGGER IF EXISTS temp.snapsync_rivals_noted; DROP TABLE IF EXISTS temp.snapsync_rivals")
            if !wasRecursive { try? db.execute(sql: "PRAGMA recursive_triggers = OFF") }
        }
        var found: Set<EntityKey> = []
        do {
            try db.inSavepoint {
                try KeyedStatement(db, statement("REPLACE", isWhole)).bind(.key(key)).run()
                found = Set(try KeyedStatement(db, "SELECT key FROM temp.snapsync_rivals").bind().keys())
                return .rollback
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            // Another constraint than UNIQUE: no other row is in the way.
            return []
        }
        found.remove(key)
        return found.sorted()
    }

    private func statement(_ conflict: String, _ isWhole: Bool) -> String {
        let columns = isWhole ? columns : described
        return "INSERT OR \(conflict) INTO main.\(schema.table.sqlIdentifier)(\(columns)) SELECT \(columns) FROM \(table) WHERE \(key.matches(nil, "?1"))"
    }
}
