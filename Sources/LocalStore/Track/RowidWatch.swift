import GRDB
package import SnapshotModel

/// Detects that VACUUM has renumbered the rows of tables whose key is a rowid without a column: the table `snapsync_rowids`.
///
/// VACUUM numbers the rows of a table without indexes from 1. One row of this table has rowid 2. If that row has another rowid, or is gone, the
/// rows of the datasets' tables may have been renumbered too. The table exists only if a dataset's key is a rowid that is not a column.
package struct RowidWatch: TransactionPart {
    let transaction: LocalTransaction

    /// Whether no rows were renumbered; true if no dataset has such a key.
    func isQuiet(_ schemas: [DatasetSchema]) throws -> Bool {
        guard try schemas.contains(where: { try TableInspector.hiddenKey(of: $0, db) != nil }) else { return true }
        guard try db.hasTable(LocalTable.rowids.name) else { return false }
        return try Int64.fetchAll(db, sql: "SELECT rowid FROM snapsync_rowids WHERE dataset IS NULL") == [2]
    }

    /// Starts watching, or starts again after VACUUM. After VACUUM, it records that the tracking of the affected datasets is incomplete.
    ///
    /// - Returns: the names of the datasets whose rows may have other rowids.
    func install(_ schemas: [DatasetSchema]) throws -> [String] {
        guard try !isQuiet(schemas) else { return [] }
        let hidden = try schemas.filter { try TableInspector.hiddenKey(of: $0, db) != nil }.map(\.name)
        let isNew = try !db.hasTable(LocalTable.rowids.name)
        try LocalTable.rowids.create(in: db)
        try db.execute(sql: "DELETE FROM snapsync_rowids; INSERT INTO snapsync_rowids(rowid, dataset) VALUES(2, NULL)")
        if isNew { return [] }
        for name in hidden {
            try db.execute(sql: "INSERT INTO snapsync_rowids(dataset) VALUES(?)", arguments: [name])
            try db.execute(
                sql: "UPDATE snapsync_tracking SET isComplete = \(Completeness.untracked) WHERE dataset = ? AND isComplete = \(Completeness.complete)",
                arguments: [name])
        }
        return hidden
    }

    /// Whether the rowids of a dataset may differ from those in the applied version, and no run has compared the rows since.
    package func mayBeRenumbered(_ schema: DatasetSchema) throws -> Bool {
        guard try db.hasTable(LocalTable.rowids.name) else { return false }
        return try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM snapsync_rowids WHERE dataset = ?)").bind(.text(schema.name)).integer() == 1
    }

    /// Records that a run has compared a dataset's rows with the applied version.
    package func setCompared(_ schema: DatasetSchema) throws {
        guard try db.hasTable(LocalTable.rowids.name) else { return }
        try KeyedStatement(db, "DELETE FROM snapsync_rowids WHERE dataset = ?").bind(.text(schema.name)).run()
    }

    func remove() throws { try LocalTable.rowids.drop(in: db) }
}
