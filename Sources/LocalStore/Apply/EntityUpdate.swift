import GRDB
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
        let sql = "SELECT \(stamp) FROM \(schema.table.sqlIdentifier) WHERE \(schema.key.column.sqlIdentifier) = ?"
        guard let row = try Row.fetchOne(db, sql: sql, arguments: [key.databaseValue]) else { return nil }
        return .some(try? row.decode(String.self, atIndex: 0))
    }

    /// The keys of a dataset's rows that refer to a row of another table that is not there.
    package func danglingKeys(of schema: DatasetSchema) throws -> Set<EntityKey> {
        var dangling: Set<EntityKey> = []
        for key in try ForeignKey.all(db) where key.child.asciiLowercased == schema.table.asciiLowercased {
            guard try db.hasTable(key.parent) else { continue }
            let values = try DatabaseValue.fetchAll(db, sql: "SELECT c.\(schema.key.column.sqlIdentifier) FROM \(key.child.sqlIdentifier) c WHERE \(key.isDangling)")
            dangling.formUnion(values.compactMap(EntityKey.init))
        }
        return dangling
    }
}

extension LocalTransaction {
    /// How many entities a dataset's table holds.
    package func rowCount(of schema: DatasetSchema) throws -> Int {
        try LocalStoreError.translating(at: "\(path), table \(schema.table)") {
            try Int.fetchOne(db, sql: "SELECT count(*) FROM \(schema.table.sqlIdentifier)") ?? 0
        }
    }
}
