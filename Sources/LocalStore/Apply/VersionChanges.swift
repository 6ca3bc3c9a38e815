import GRDB
package import SnapshotModel
package import StrictText

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

    /// Takes what a version says of an entity that it has: the instant, where that is not the entity's own timestamp.
    package func setPresent(_ key: EntityKey, at instant: Instant?, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "DELETE FROM snapsync_tombstones WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key)).run()
        if let instant {
            try KeyedStatement(db, "INSERT OR REPLACE INTO snapsync_instants VALUES(?, ?, ?)").bind(.integer(id), .key(key), .instant(instant)).run()
        } else {
            try KeyedStatement(db, "DELETE FROM snapsync_instants WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key)).run()
        }
    }

    /// Takes what a version says of an entity that it has no longer: when it was deleted.
    package func setDeleted(_ key: EntityKey, at instant: Instant, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "DELETE FROM snapsync_instants WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key)).run()
        try KeyedStatement(db, "INSERT OR REPLACE INTO snapsync_tombstones VALUES(?, ?, ?)").bind(.integer(id), .key(key), .instant(instant)).run()
    }

    /// Deletes the row with that key. Returns whether there was one.
    package func deleteEntity(_ key: EntityKey, of schema: DatasetSchema) throws -> Bool {
        try LocalStoreError.translating(at: "\(path), table \(schema.table)") {
            try KeyedStatement(db, "DELETE FROM \(schema.table.sqlIdentifier) WHERE \(schema.key.column.sqlIdentifier) = ?").bind(.key(key)).run()
            return db.changesCount > 0
        }
    }

    /// How many rows a dataset's table has.
    package func rowCount(of schema: DatasetSchema) throws -> Int {
        try LocalStoreError.translating(at: "\(path), table \(schema.table)") {
            try Int.fetchOne(db, sql: "SELECT count(*) FROM \(schema.table.sqlIdentifier)") ?? 0
        }
    }

    /// The number of tracked changes, no more than `limit` of them counted; notes must have been folded.
    package func trackedChangeCount(of schema: DatasetSchema, upTo limit: Int) throws -> Int {
        guard let id = try trackingID(schema) else { return 0 }
        return try Int.fetchOne(
            db, sql: "SELECT count(*) FROM (SELECT 1 FROM snapsync_changes WHERE dataset = ? LIMIT ?)", arguments: [id, limit]) ?? 0
    }
}

/// Gives single rows by their keys to a sink.
package final class RowLookup {
    private let statement: RowStatement

    init(_ transaction: LocalTransaction, _ schema: DatasetSchema) throws {
        statement = try RowStatement(transaction.db, schema, where: "WHERE \(schema.key.column.sqlIdentifier) = ?1", path: transaction.path)
    }

    /// Gives the row with that key. Returns whether there is one.
    package func give(_ key: EntityKey, to sink: any EntitySink) throws -> Bool {
        try statement.bind(from: key, upTo: nil)
        defer { statement.end() }
        guard try statement.step() else { return false }
        try statement.give(to: sink)
        return true
    }
}

extension LocalTransaction {
    /// Prepares looking rows up by their keys.
    package func lookup(of schema: DatasetSchema) throws -> RowLookup { try RowLookup(self, schema) }
}
