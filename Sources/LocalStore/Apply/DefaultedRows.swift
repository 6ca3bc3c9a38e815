import GRDB
package import SnapshotModel
import StrictText

/// The entities that an import inserted with this table's default where the version has NULL: the table declares a column NOT NULL that the table
/// of the device that published does not.
///
/// A temporary table holds their keys during the import.
package struct DefaultedRows: TransactionPart {
    let transaction: LocalTransaction

    /// Starts to note keys in this transaction, if the dataset's table has such columns.
    package func begin(of schema: DatasetSchema) throws {
        guard try !db.requiredDefaults(of: schema).isEmpty else { return }
        try db.execute(
            sql:
                "DROP TABLE IF EXISTS temp.snapsync_defaulted; CREATE TEMP TABLE snapsync_defaulted(dataset INTEGER, key, PRIMARY KEY(dataset, key)) WITHOUT ROWID"
        )
        transaction.notesDefaults = true
    }

    /// Notes a key, between ``begin(of:)`` and ``end(of:)``.
    func add(_ key: EntityKey, of schema: DatasetSchema) throws {
        guard transaction.notesDefaults, let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "INSERT OR IGNORE INTO temp.snapsync_defaulted VALUES(?, ?)").bind(.integer(id), .key(key)).run()
    }

    /// The condition that the key of a row `t` of a dataset was noted.
    ///
    /// - Parameter id: the dataset's tracking number.
    static func contains(rowsOf schema: DatasetSchema, id: Int64) -> String {
        "EXISTS (SELECT 1 FROM temp.snapsync_defaulted d WHERE d.dataset = \(id) AND d.key = \(schema.keySQL.value(of: "t")))"
    }

    /// Ends the noting. The rows count as changed here, so that a publisher's next version has what they hold.
    package func end(of schema: DatasetSchema) throws {
        guard transaction.notesDefaults else { return }
        transaction.notesDefaults = false
        if let id = try trackingID(schema) {
            let defaults = try db.requiredDefaults(of: schema)
            let columns = schema.columns.indices.filter { defaults[schema.columns[$0].column.folded] != nil }
            try CarriedColumns.track(
                columns, ofRows: Self.contains(rowsOf: schema, id: id), of: schema, in: transaction, order: .after, as: .defaulted)
        }
        try db.execute(sql: "DROP TABLE temp.snapsync_defaulted")
    }
}
