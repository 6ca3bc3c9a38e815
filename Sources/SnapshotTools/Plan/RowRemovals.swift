import LocalStore
import SnapshotModel

/// The rows that a sync would remove from a database in which tables that are not synced have foreign keys. Such a key can forbid the import.
final class RowRemovals {
    private let keeper: ForeignKeyEnforcer
    private let schemas: [DatasetSchema]
    private let transaction: LocalTransaction
    private var keys: [String: [EntityKey]] = [:]

    /// Nil if no table that is not synced has such a key. Call it before anything is removed.
    init?(of schemas: [DatasetSchema], in transaction: LocalTransaction) throws {
        keeper = try ForeignKeyEnforcer(transaction, datasets: schemas, takesVersion: true)
        guard keeper.isNeeded else { return nil }
        (self.schemas, self.transaction) = (schemas, transaction)
    }

    func note(_ key: EntityKey, of schema: DatasetSchema) { keys[schema.name, default: []].append(key) }

    /// Removes the rows as an import would, and returns why that is forbidden; nil if it is not. The caller rolls the transaction back.
    func refusal() throws -> String? {
        guard !keys.isEmpty else { return nil }
        do {
            try transaction.undoingOnError {
                try transaction.tracking.importing(schemas, then: { try keeper.enforce() }) {
                    for schema in schemas { try transaction.rows.deleteEntities(keys[schema.name] ?? [], of: schema) }
                }
            }
            return nil
        } catch let error as LocalStoreError where error.code == .foreignKeyViolated {
            return "\(error.place): \(error.reason)"
        }
    }
}
