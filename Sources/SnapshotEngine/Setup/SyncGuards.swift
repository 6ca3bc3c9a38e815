package import LocalStore
package import SnapshotModel
import SnapshotVersions
import StrictText

/// Checks that refuse before anything is changed.
package enum SyncGuards {
    /// Refuses a table with a column that must have a value and that the dataset does not describe: an import cannot insert rows.
    package static func refuseUnfillableColumns(_ shape: TableShape, _ schema: DatasetSchema, at database: String) throws {
        guard let column = shape.unfillableColumns.first else { return }
        throw SyncError(
            .refused, step: .open, at: "\(database), table \(schema.table)",
            "dataset \(schema.name) does not describe the column \(column), which is NOT NULL and has no default, so an import cannot insert rows",
            hint:
                "if nobody needs the column any more: sqlite3 \(database.shellWord) \("ALTER TABLE \(schema.table.sqlIdentifier) DROP COLUMN \(column.sqlIdentifier)".shellWord); else give it a default, or let it be NULL; or describe it"
        )
    }

    /// Refuses to publish if the device's dataset file lacks fields of the zone's data: the publication would lose them.
    package static func refuseUnknownFields(_ states: [DatasetState]) throws {
        guard let state = states.first(where: { !$0.unknownFields.isEmpty }) else { return }
        throw SyncError(
            .refused, step: .read, at: "dataset \(state.name)",
            "the entities that were imported have fields that this device does not know (\(state.unknownFields.joined(separator: ", "))); publishing would lose them",
            hint: "snapsync describe --update --create takes them over; or update snapsync on this device")
    }

    /// Refuses a view if there are unpublished changes: the view replaces the rows, and the changes would be lost.
    static func refuseViewOverChanges(_ transaction: LocalTransaction, _ schemas: [DatasetSchema], at database: String) throws {
        for schema in schemas {
            let count = try transaction.changeLog.summary(of: schema).count
            guard count > 0 else { continue }
            throw SyncError(
                .refused, step: .apply, at: "\(database), table \(schema.table)",
                "\(Format.count(count, "entity was", "entities were")) changed here and \(Format.word(count, "is", "are")) in no version yet; showing something else would lose \(Format.word(count, "it", "them"))",
                hint: "import it into another database, or look at it: snapsync cat"
            ).asSlip
        }
    }
}
