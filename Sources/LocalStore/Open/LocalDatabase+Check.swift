import GRDB

extension LocalDatabase {
    /// What SQLite finds wrong with the file: pages, indexes, NOT NULL. Reads the whole file; returns at most 10 findings.
    ///
    /// Source: `PRAGMA quick_check` in SQLite's documentation. Its messages name tables, indexes and rows, but no values.
    ///
    /// - Throws: ``LocalStoreError`` if the file is too damaged to be checked.
    package func quickCheck() throws -> [String] {
        try check("quick_check")
    }

    /// Like ``quickCheck()``, but also compares indexes with their tables.
    ///
    /// Source: `PRAGMA integrity_check` in SQLite's documentation.
    package func integrityCheck() throws -> [String] { try check("integrity_check") }

    private func check(_ pragma: String) throws -> [String] {
        // A row that breaks a CHECK constraint is no damage (``TableInspector/rowsBreakingChecks(of:keys:)``).
        let lines = try read { transaction in
            try transaction.tracking.settingChecks(off: true) { try String.fetchAll(transaction.db, sql: "PRAGMA \(pragma)(10)") }
        }
        return lines == ["ok"] ? [] : lines
    }
}

extension LocalDatabase {
    /// Why this user may not write the database, according to modes and mounts; nil if nothing prevents it. Writes nothing.
    package func writingObstacle() -> LocalStoreError? { DatabaseFile.obstacle(path) }
}
