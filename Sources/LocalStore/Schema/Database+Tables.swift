import GRDB
import GRDBSQLite
import SnapshotModel

extension Database {
    /// The journal mode of the file, in lower case: `wal`, `delete`, …
    func journalMode() throws -> String { try String.fetchOne(self, sql: "PRAGMA main.journal_mode")?.lowercased() ?? "" }

    /// Whether a table of that name exists, as this transaction sees the database.
    ///
    /// GRDB's `tableExists` caches its answer until this connection changes the schema, but other programs change it too.
    func hasTable(_ name: String) throws -> Bool {
        try KeyedStatement(self, "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE)").bind(.text(name))
            .integer() == 1
    }

    /// The defaults of a table's columns, as the table declares them, by the columns' names in lower case.
    ///
    /// - Parameter required: only those of columns that are NOT NULL.
    func defaults(of table: String, required: Bool = false) throws -> [String: String] {
        let sql = "SELECT name, dflt_value FROM pragma_table_info(?) WHERE dflt_value IS NOT NULL AND (\"notnull\" = 1 OR NOT ?)"
        return Dictionary(
            try Row.fetchAll(cachedStatement(sql: sql), arguments: [table, required]).map { (($0[0] as String).asciiLowercased, $0[1] as String) },
            uniquingKeysWith: { first, _ in first })
    }

    /// The defaults of optional columns of a dataset that the table declares NOT NULL, by the columns' names in lower case.
    func requiredDefaults(of schema: DatasetSchema) throws -> [String: String] {
        let optional = Set(schema.columns.filter(\.isOptional).map { $0.column.asciiLowercased })
        return optional.isEmpty ? [:] : try defaults(of: schema.table, required: true).filter { optional.contains($0.key) }
    }
}

/// The collation that a column is declared with, in upper case; `BINARY` if none is declared.
func columnCollation(_ db: Database, table: String, column: String) throws -> String {
    var collation: UnsafePointer<CChar>?
    let code = sqlite3_table_column_metadata(db.sqliteConnection, "main", table, column, nil, &collation, nil, nil, nil)
    guard code == SQLITE_OK, let collation else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    // SAFETY: SQLite's text is valid until the schema changes; it is copied at once.
    return String(cString: collation).uppercased()
}
