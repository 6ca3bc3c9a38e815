import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText

/// Which tables of a database are synced: the result of ``SyncEngine/tables(of:)``.
package struct TablesReport: Sendable, Encodable {
    /// A synced table.
    package struct Table: Sendable, Encodable {
        package let dataset: String
        package let table: String
        /// The columns of the key, in its order.
        package let key: [String]
        /// The number of synced columns.
        package let columns: Int
        /// The column with the time of a row's last change; nil if there is none.
        package let timestamp: String?
        /// Whether readers may edit rows.
        package let readersEdit: Bool
    }

    package let database: String
    /// Whether the database is set up. If not, ``tables`` are those that ``SyncEngine/setUp(_:)`` would sync.
    package let isSetUp: Bool
    package let tables: [Table]
    /// The application's tables that are not synced; before the set-up with the reasons.
    package let notSynced: [String]
}

extension SyncEngine {
    /// The synced tables of a database, and the others. Changes nothing.
    package static func tables(of path: String) throws -> TablesReport {
        try SyncError.at(.open) {
            let local = try LocalDatabase(path: path, waiting: LocalDatabase.waiting(for: path))
            let found = try local.read { transaction -> ([DatasetSchema], [String])? in
                guard try transaction.settings.exists() else { return nil }
                let datasets = try transaction.settings.read().datasets, synced = Set(datasets.map(\.table.folded))
                return (datasets, try transaction.describer.applicationTables().filter { !synced.contains($0.folded) })
            }
            if let (datasets, others) = found { return TablesReport(path, isSetUp: true, datasets, notSynced: others) }
            let described = try DatabaseDescriber.describe(local, TableChoice())
            let unfit = described.unfit.map { "\($0.table): \($0.reasons.joined(separator: "; "))" }
            return TablesReport(path, isSetUp: false, described.datasets, notSynced: unfit)
        }
    }
}

extension TablesReport {
    fileprivate init(_ database: String, isSetUp: Bool, _ datasets: [DatasetSchema], notSynced: [String]) {
        let tables = datasets.map { schema in
            Table(
                dataset: schema.name, table: schema.table, key: schema.keyIndices.map { schema.columns[$0].name }, columns: schema.columns.count,
                timestamp: schema.timestamp, readersEdit: schema.messages != .none)
        }
        self.init(database: database, isSetUp: isSetUp, tables: tables, notSynced: notSynced)
    }
}
