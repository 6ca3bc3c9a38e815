package import LocalStore
package import SnapshotModel
package import SnapshotVersions
import StrictText

/// Finds synced tables and columns that an application has dropped or renamed.
package enum MissingTables {
    /// The error that names the first such table, and the command that takes the change over; nil if there is none.
    ///
    /// - Parameter outcome: what the run has not done, for the error; nil if nothing is being done.
    package static func refusal(_ found: [TableDifferences], _ settings: SyncSettings, at path: String, _ outcome: String? = nil) -> SyncError? {
        guard let one = found.first(where: \.isBreaking) else { return nil }
        let update = "snapsync describe --update --db \(path.shellWord)"
        let reason: String, hint: String
        if let table = one.table, one.isRenamed {
            (reason, hint) = ("the table is named \(table) now", "to take the new name over: \(update)")
        } else if one.table == nil {
            (reason, hint) = (
                "there is no such table",
                "to take the dataset out\(settings.role.publishes ? " of the zone" : " of this database"): \(update) --remove \(one.schema.name); else make the table again"
            )
        } else if let renamed = one.renamedColumns.first {
            (reason, hint) = ("the column \(renamed.column.column) is named \(renamed.name) now", "to take the new name over: \(update)")
        } else {
            let names = one.lostColumns.map(\.column).joined(separator: ", ")
            (reason, hint) = (
                "it has no column \(names)",
                "if \(Format.word(one.lostColumns.count, "it was", "they were")) dropped on purpose: \(update); else add the column again"
            )
        }
        return SyncError(
            .refused, step: .open, at: "\(path), table \(one.schema.table)",
            "dataset \(one.schema.name): \(reason)\(outcome.map { "; \($0)" } ?? "")", hint: hint)
    }

    /// Compares the tables of some datasets with their descriptions.
    ///
    /// - Throws: ``SyncError`` with `.refused` for the first table that is gone or renamed, or lacks a described column.
    package static func verify(_ schemas: [DatasetSchema], of settings: SyncSettings, in database: LocalDatabase) throws {
        let found = try database.read(at: .read) { transaction in try schemas.map(transaction.tables.differences) }
        if let refusal = refusal(found, settings, at: database.path) { throw refusal }
    }
}
