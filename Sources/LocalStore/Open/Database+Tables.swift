import GRDB

extension Database {
    /// Whether there is a table of that name, in this transaction's eyes.
    ///
    /// GRDB's `tableExists` remembers what it saw until this connection itself changes the schema; other programs change it, too.
    func hasTable(_ name: String) throws -> Bool {
        try Bool.fetchOne(
            self, sql: "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE)", arguments: [name]) ?? false
    }

    /// Whether a table of the main database has a column.
    func hasColumn(_ column: String, in table: String) throws -> Bool {
        try Bool.fetchOne(self, sql: "SELECT EXISTS (SELECT 1 FROM pragma_table_info(?) WHERE name = ? COLLATE NOCASE)", arguments: [table, column]) ?? false
    }
}
