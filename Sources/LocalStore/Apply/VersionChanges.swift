import GRDB
package import SnapshotModel
import StrictText

// What an import of single changes does, key by key. The whole of it runs inside ``LocalTransaction/importing(_:)``.
extension LocalTransaction {
    /// The tracked change of one entity; nil if it was not touched. Notes must have been folded.
    package func trackedChange(of key: EntityKey, in schema: DatasetSchema) throws -> TrackedChange? {
        guard let id = try trackingID(schema) else { return nil }
        let statement = try KeyedStatement(db, "SELECT \(TrackedChange.columns) FROM snapsync_changes WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key))
        defer { statement.end() }
        return try statement.step() ? TrackedChange(statement) : nil
    }

    /// Forgets a tracked change, for the version has it or has something later.
    package func forgetChange(of key: EntityKey, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "DELETE FROM snapsync_changes WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key)).run()
    }

    /// Says that a tracked change outlived a version that touched its entity, and whether the version lacks it.
    package func outlive(of key: EntityKey, in schema: DatasetSchema, isNew: Bool) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "UPDATE snapsync_changes SET isNew = ? WHERE dataset = ? AND key = ?").bind(.integer((isNew ? TrackedOrigin.new : .inVersion).rawValue), .integer(id), .key(key)).run()
    }

    /// The number of tracked changes, no more than `limit` of them counted; notes must have been folded.
    package func trackedChangeCount(of schema: DatasetSchema, upTo limit: Int) throws -> Int {
        guard let id = try trackingID(schema) else { return 0 }
        return try Int.fetchOne(
            db, sql: "SELECT count(*) FROM (SELECT 1 FROM snapsync_changes WHERE dataset = ? LIMIT ?)", arguments: [id, limit]) ?? 0
    }
}
