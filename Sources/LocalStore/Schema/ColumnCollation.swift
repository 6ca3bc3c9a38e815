import GRDB
import GRDBSQLite

/// The collation that a column is declared with, in upper case; `BINARY` if none is declared.
func columnCollation(_ db: Database, table: String, column: String) throws -> String {
    var collation: UnsafePointer<CChar>?
    let code = sqlite3_table_column_metadata(db.sqliteConnection, "main", table, column, nil, &collation, nil, nil, nil)
    guard code == SQLITE_OK, let collation else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    // SAFETY: SQLite's text is valid until the schema changes; it is copied at once.
    return String(cString: collation).uppercased()
}
