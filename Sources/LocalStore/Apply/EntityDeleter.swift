import GRDB
package import SnapshotModel

extension LocalTransaction {
    /// Deletes the entities with those keys, one by one, through whatever triggers the table has.
    package func deleteEntities(_ keys: [EntityKey], of schema: DatasetSchema) throws {
        try LocalStoreError.translating(at: "\(path), table \(schema.table)") {
            let statement = try db.makeStatement(sql: "DELETE FROM \(schema.table.sqlIdentifier) WHERE \(schema.key.column.sqlIdentifier) = ?")
            for key in keys { try statement.execute(arguments: [key.databaseValue]) }
        }
    }

    /// Prepares reading rows by ranges of keys as this transaction sees them, its own changes among them.
    package func ranges(of schema: DatasetSchema) -> RangeReader { RangeReader(self, schema) }

    /// How many rows a dataset's table has.
    package func rowCount(_ schema: DatasetSchema) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM \(schema.table.sqlIdentifier)") ?? 0
    }
}
