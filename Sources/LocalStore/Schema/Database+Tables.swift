import GRDB
import GRDBSQLite
import SnapshotModel
import StrictText

extension Database {
    /// The journal mode of the file, in lower case: `wal`, `delete`, …
    func journalMode() throws -> String { try String.fetchOne(self, sql: "PRAGMA main.journal_mode")?.folded.text ?? "" }

    /// A statement that the connection keeps, so that SQLite compiles it once.
    ///
    /// GRDB finds it by its SQL as a `String`, to which names that are canonically equal are one. So what is not ASCII stands in front of the SQL
    /// once more, as digits.
    func keptStatement(sql: String) throws -> Statement {
        let others = sql.utf8.filter { $0 >= 0x80 }
        guard !others.isEmpty else { return try cachedStatement(sql: sql) }
        return try cachedStatement(sql: "/* \(others.map { String($0, radix: 16) }.joined()) */ \(sql)")
    }

    /// Whether a table of that name exists, as this transaction sees the database.
    ///
    /// GRDB's `tableExists` caches its answer until this connection changes the schema, but other programs change it too.
    func hasTable(_ name: String) throws -> Bool {
        try KeyedStatement(self, "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE)").bind(.text(name))
            .integer() == 1
    }

    /// The defaults of a table's columns, as the table declares them, by the columns' folded names.
    ///
    /// - Parameter required: only those of columns that are NOT NULL.
    func defaults(of table: String, required: Bool = false) throws -> [ExactText: String] {
        let sql = "SELECT name, dflt_value FROM pragma_table_info(?) WHERE dflt_value IS NOT NULL AND (\"notnull\" = 1 OR NOT ?)"
        return Dictionary(
            try Row.fetchAll(keptStatement(sql: sql), arguments: [table, required]).map { (($0[0] as String).folded, $0[1] as String) },
            uniquingKeysWith: { first, _ in first })
    }

    /// The defaults of optional columns of a dataset that the table declares NOT NULL, by the columns' folded names.
    ///
    /// A default that calls a function of the application is not among them: only the application can use it.
    func requiredDefaults(of schema: DatasetSchema) throws -> [ExactText: String] {
        let optional = Set(schema.columns.filter(\.isOptional).map { $0.column.folded })
        guard !optional.isEmpty else { return [:] }
        return try defaults(of: schema.table, required: true).filter { optional.contains($0.key) && (try? makeStatement(sql: "SELECT (\($0.value))")) != nil }
    }

    /// The columns, quoted, that a dataset does not describe and without which SQLite inserts no row.
    func requiredColumns(besides schema: DatasetSchema) throws -> [String] {
        let described = Set(schema.columns.map { $0.column.folded })
        return try String.fetchAll(
            keptStatement(sql: "SELECT name FROM pragma_table_info(?) WHERE \"notnull\" = 1 AND dflt_value IS NULL AND pk = 0"), arguments: [schema.table]
        ).filter { !described.contains($0.folded) }.map(\.sqlIdentifier)
    }
}

/// The collation that a column is declared with, in upper case; `BINARY` if none is declared.
func columnCollation(_ db: Database, table: String, column: String) throws -> String {
    var collation: UnsafePointer<CChar>?
    let code = sqlite3_table_column_metadata(db.sqliteConnection, "main", table, column, nil, &collation, nil, nil, nil)
    guard code == SQLITE_OK, let collation else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    // SAFETY: SQLite's text is valid until the schema changes; it is copied at once.
    return String(cString: collation).upper
}
