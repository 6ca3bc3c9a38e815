import GRDB

extension Database {
    /// Whether a table of that name exists, as this transaction sees the database.
    ///
    /// GRDB's `tableExists` caches its answer until this connection changes the schema, but other programs change it too.
    func hasTable(_ name: String) throws -> Bool {
        try KeyedStatement(self, "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE)").bind(.text(name))
            .integer() == 1
    }

    /// Whether a table of the main database has a column.
    func hasColumn(_ column: String, in table: String) throws -> Bool {
        try KeyedStatement(self, "SELECT EXISTS (SELECT 1 FROM pragma_table_info(?) WHERE name = ? COLLATE NOCASE)").bind(.text(table), .text(column)).integer()
            == 1
    }
}
