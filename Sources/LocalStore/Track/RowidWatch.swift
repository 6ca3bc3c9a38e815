import GRDB
package import SnapshotModel

/// Notices that VACUUM has given the rows of tables without a key other rowids: the table `snapsync_rowids`.
///
/// VACUUM numbers the rows of a table without indexes from 1. One row of this table has number 2, and when it has another, or is gone, the rows of the
/// datasets' tables may have others, too. The table is there only if a dataset's key is a rowid that is no column.
package struct RowidWatch: TransactionPart {
    let transaction: LocalTransaction

    /// Whether rowids are still what they were; true where no dataset has such a key.
    func isQuiet(_ schemas: [DatasetSchema]) throws -> Bool {
        guard try schemas.contains(where: { try TableInspector.hiddenKey(of: $0, db) != nil }) else { return true }
        guard try db.hasTable(LocalTable.rowids.name) else { return false }
        return try Int64.fetchAll(db, sql: "SELECT rowid FROM snapsync_rowids WHERE dataset IS NULL") == [2]
    }

    /// Begins to watch, or begins again after VACUUM. From then on the datasets in question are not known to be tracked completely.
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
            try db.execute(sql: "UPDATE snapsync_tracking SET isComplete = 0 WHERE dataset = ?", arguments: [name])
        }
        return hidden
    }

    /// Whether a dataset's rows may have other rowids than in the applied version, and were not compared since.
    package func mayBeRenumbered(_ schema: DatasetSchema) throws -> Bool {
        guard try db.hasTable(LocalTable.rowids.name) else { return false }
        return try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM snapsync_rowids WHERE dataset = ?)").bind(.text(schema.name)).integer() == 1
    }

    /// Says that a dataset's rows were compared with the applied version.
    package func setCompared(_ schema: DatasetSchema) throws {
        guard try db.hasTable(LocalTable.rowids.name) else { return }
        try KeyedStatement(db, "DELETE FROM snapsync_rowids WHERE dataset = ?").bind(.text(schema.name)).run()
    }

    func remove() throws { try LocalTable.rowids.drop(in: db) }
}
