import Foundation
import GRDB
package import SnapshotModel
package import StrictText

/// The applied version of each dataset: the table `snapsync_datasets`.
package struct DatasetStateTable: TransactionPart {
    package let transaction: LocalTransaction

    static let name = LocalTable.datasets.name

    /// The state of each dataset, ordered by name.
    package func all() throws -> [DatasetState] {
        try Row.fetchAll(db, sql: "SELECT name, syncTimestamp, recordCount, unknownFields FROM snapsync_datasets ORDER BY name").map { row in
            do {
                return DatasetState(
                    name: try row.decode(atIndex: 0), syncTimestamp: try Instant(parsing: row.decode(String.self, atIndex: 1)),
                    recordCount: try row.decode(atIndex: 2),
                    unknownFields: try StrictJSON.decode([String].self, from: Data(row.decode(String.self, atIndex: 3).utf8)))
            } catch {
                throw damaged(Self.name, "what is known of a dataset cannot be read")
            }
        }
    }

    /// Stores the state of a dataset.
    package func set(_ state: DatasetState) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO snapsync_datasets(name, syncTimestamp, recordCount, unknownFields) VALUES(?, ?, ?, ?)",
            arguments: [
                state.name, state.syncTimestamp.description, state.recordCount, String(decoding: try StrictJSON.encode(state.unknownFields), as: UTF8.self),
            ])
    }

    /// When the applied version of the dataset was made; nil if no version has had the dataset yet.
    package func versionTime(of schema: DatasetSchema) throws -> Instant? {
        guard try db.hasTable(Self.name) else { return nil }
        let statement = try KeyedStatement(db, "SELECT syncTimestamp FROM snapsync_datasets WHERE name = ?").bind(.text(schema.name))
        defer { statement.end() }
        return try statement.step() ? statement.text(0).flatMap { try? Instant(parsing: $0) } : nil
    }

    /// How many rows the applied version of the dataset has in its table; nil if no version has had the dataset yet.
    package func recordCount(of schema: DatasetSchema) throws -> Int? {
        guard try db.hasTable(Self.name) else { return nil }
        return try KeyedStatement(db, "SELECT recordCount FROM snapsync_datasets WHERE name = ?").bind(.text(schema.name)).integer().map(Int.init)
    }
}
