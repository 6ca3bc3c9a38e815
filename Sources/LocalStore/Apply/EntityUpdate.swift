package import SnapshotModel
import StrictText

extension LocalTransaction {
    /// Returns an applier that adds entities, and changes those whose keys are there, as an application would: each is noted.
    package func updating(_ schema: DatasetSchema) throws -> EntityApplier {
        try LocalStoreError.translating(at: "\(path), table \(schema.table)") { try EntityApplier(self, schema, updating: true) }
    }

    /// The timestamp's text in the row of a key. The outer nil: there is no such row; the inner: it has no timestamp.
    package func timestamp(of key: EntityKey, in schema: DatasetSchema) throws -> String?? {
        let stamp = schema.timestampIndex.map { schema.columns[$0].column.sqlIdentifier } ?? "NULL"
        let row = try KeyedStatement(db, "SELECT \(stamp) FROM \(schema.table.sqlIdentifier) WHERE \(schema.key.column.sqlIdentifier) = ?").bind(.key(key))
        defer { row.end() }
        guard try row.step() else { return nil }
        return .some(row.text(0).map { String(decoding: $0, as: UTF8.self) })
    }

    /// The keys of a dataset's rows that refer to a row of another table that is not there.
    package func danglingKeys(of schema: DatasetSchema) throws -> Set<EntityKey> {
        var dangling: Set<EntityKey> = []
        for key in try ForeignKey.all(db) where key.child.asciiLowercased == schema.table.asciiLowercased {
            guard try db.hasTable(key.parent) else { continue }
            let rows = try KeyedStatement(db, "SELECT c.\(schema.key.column.sqlIdentifier) FROM \(key.child.sqlIdentifier) c WHERE \(key.isDangling)")
            defer { rows.end() }
            while try rows.step() {
                if let key = rows.key(0) { dangling.insert(key) }
            }
        }
        return dangling
    }
}
