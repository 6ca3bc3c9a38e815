import GRDB
package import SnapshotModel
package import StrictText

/// What is known of each dataset's version in this database: the table `snapsync_datasets`.
package struct DatasetStateTable: TransactionPart {
    let transaction: LocalTransaction

    static let name = LocalTable.datasets.name

    /// What is known of each dataset, in the order of names.
    package func all() throws -> [DatasetState] {
        try Row.fetchAll(db, sql: "SELECT name, syncTimestamp, recordCount, unknownFields FROM snapsync_datasets ORDER BY name").map { row in
            do {
                return DatasetState(
                    name: try row.decode(atIndex: 0), syncTimestamp: try Instant(parsing: row.decode(String.self, atIndex: 1)),
                    recordCount: try row.decode(atIndex: 2),
                    unknownFields: try StrictJSON.decode([String].self, from: row.decode(String.self, atIndex: 3)))
            } catch {
                throw damaged(Self.name, "what is known of a dataset cannot be read")
            }
        }
    }

    /// Records what is now known of a dataset.
    package func set(_ state: DatasetState) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO snapsync_datasets(name, syncTimestamp, recordCount, unknownFields) VALUES(?, ?, ?, ?)",
            arguments: [state.name, state.syncTimestamp.description, state.recordCount, try StrictJSON.text(state.unknownFields)])
    }

    /// When the dataset's version that is here was made; nil if it was never in one.
    package func versionTime(of schema: DatasetSchema) throws -> Instant? {
        guard try db.hasTable(Self.name) else { return nil }
        let statement = try KeyedStatement(db, "SELECT syncTimestamp FROM snapsync_datasets WHERE name = ?").bind(.text(schema.name))
        defer { statement.end() }
        return try statement.step() ? statement.text(0).flatMap { try? Instant(parsing: $0) } : nil
    }
}
