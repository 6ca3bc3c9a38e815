import GRDB
package import SnapshotModel

extension LocalTransaction {
    /// Deletes the entities with those keys, one by one, through whatever triggers the table has.
    package func deleteEntities(_ keys: [EntityKey], of schema: DatasetSchema) throws {
        try LocalStoreError.translating(at: "\(path), table \(schema.table)") {
            let statement = try KeyedStatement(db, "DELETE FROM \(schema.table.sqlIdentifier) WHERE \(schema.key.column.sqlIdentifier) = ?")
            for key in keys { try statement.bind(.key(key)).run() }
        }
    }

    /// Prepares reading rows by ranges of keys as this transaction sees them, its own changes among them.
    package func ranges(of schema: DatasetSchema) -> RangeReader { RangeReader(self, schema) }
}
