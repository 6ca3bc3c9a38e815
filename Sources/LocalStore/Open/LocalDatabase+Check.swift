import GRDB

extension LocalDatabase {
    /// What SQLite finds wrong with the file: pages, indexes, NOT NULL. Reads all of it; 10 findings at most.
    ///
    /// Source: `PRAGMA quick_check` in SQLite's documentation. Its sentences name tables, indexes and rows, and no values.
    ///
    /// - Throws: ``LocalStoreError`` where the file is too damaged to be looked through.
    package func quickCheck() throws -> [String] {
        try check("quick_check")
    }

    /// What SQLite finds wrong with the file, indexes compared with their tables, too; 10 findings at most.
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
    /// Why this user may not write the database, as far as modes and mounts say; nil if nothing is in the way. Nothing is written.
    package func writingObstacle() -> LocalStoreError? { DatabaseFile.obstacle(path) }
}
