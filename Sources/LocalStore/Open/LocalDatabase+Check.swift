import GRDB
import StrictText

extension LocalDatabase {
    /// What SQLite finds wrong with the file: pages, indexes, NOT NULL. Reads the whole file, and compares the indexes with their tables; returns at
    /// most 10 findings.
    ///
    /// Source: `PRAGMA integrity_check` in SQLite's documentation. Its messages name tables, indexes and rows, but no values.
    ///
    /// - Throws: ``LocalStoreError`` if the file is too damaged to be checked.
    package func integrityCheck() throws -> [String] {
        // A row that breaks a CHECK constraint is no damage (``TableInspector/rowsBreakingChecks(of:keys:)``).
        let lines = try read { transaction in
            try transaction.tracking.settingChecks(off: true) {
                let lines = try String.fetchAll(transaction.db, sql: "PRAGMA integrity_check(10)")
                let wrong = lines.contains { $0.exact.hasPrefix("NULL value in ") } ? try Self.untrueFindings(transaction.db) : []
                guard lines.contains(where: wrong.contains) else { return lines }
                // The ten may be untrue ones alone.
                let all = try String.fetchCursor(transaction.db, sql: "PRAGMA integrity_check(1000000000)")
                return try Array(all.filter { !wrong.contains($0) }.prefix(10))
            }
        }
        return lines == ["ok"] ? [] : lines
    }

    /// The findings about NULL that SQLite may report although the column holds none.
    ///
    /// SQLite 3.40 looks for the columns of a WITHOUT ROWID table at the places that they have in the declaration. The table stores the columns of
    /// the key first. A comparison with `IS NULL` would not do here, because SQLite takes it for false where a column is NOT NULL.
    private static func untrueFindings(_ db: Database) throws -> Set<String> {
        let columns = try Row.fetchAll(
            db,
            sql: """
                SELECT t.name, c.name FROM pragma_table_list t, pragma_table_xinfo(t.name) c
                WHERE t.schema = 'main' AND t.type = 'table' AND t.wr = 1 AND c."notnull" = 1
                """)
        return try Set(
            columns.compactMap { row -> String? in
                let table: String = row[0], column: String = row[1]
                let isTrue = try Bool.fetchOne(
                    db, sql: "SELECT EXISTS (SELECT 1 FROM main.\(table.sqlIdentifier) WHERE typeof(\(column.sqlIdentifier)) = 'null')")
                return isTrue == false ? "NULL value in \(table).\(column)" : nil
            })
    }
}

extension LocalDatabase {
    /// Why this user may not write the database, according to modes and mounts; nil if nothing prevents it. Writes nothing.
    package func writingObstacle() -> LocalStoreError? { DatabaseFile.obstacle(path) }
}
