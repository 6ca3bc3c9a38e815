import LocalStore
import LocalTables
import SnapshotEngine
import SnapshotFormat
import SnapshotModel
package import SnapshotVersions
package import StrictText
import SyncRuns

/// Result of `conflicts edit` and `conflicts drop`.
package struct HeldRowReport: Sendable, Encodable {
    package let dataset: String
    package let key: ReportedKey
    /// Whether the row was deleted. Otherwise it is in its table now.
    package let isDeletion: Bool
    /// Why the edit stays on this device, as a clause; nil if the next sync hands it over.
    package let stays: String?
}

extension SyncConflicts {
    /// Changes columns of a held row, so that it fits into its table, or deletes it.
    ///
    /// The next sync publishes or sends the edit.
    ///
    /// - Parameters:
    ///   - key: the row's key, as ``ConflictsReport`` has it.
    ///   - columns: the new values by the columns' names, as text; a column that holds numbers takes a number, `null` is NULL. Nil deletes the row.
    /// - Throws: ``SyncError`` with `.nothingThere` if no such row is held, `.refused` if it still does not fit. Nothing is changed then.
    package func editHeldRow(_ key: String, in dataset: String, setting columns: [ExactText: String]?) throws -> HeldRowReport {
        try engine.lockedHere {
            try engine.database.write { transaction in
                let settings = try transaction.settings.read()
                try transaction.changeLog.consolidate(of: settings.datasets)
                let editor = HeldRowEditor(transaction: transaction, settings: settings, now: engine.now(), path: engine.database.path)
                return try transaction.tracking.keepingOwnColumns(of: settings.datasets) { try editor.edit(key, in: dataset, setting: columns) }
            }
        }
    }
}

/// Edits held rows within the caller's write transaction, which rolls back if this throws.
private struct HeldRowEditor {
    let transaction: LocalTransaction
    let settings: SyncSettings
    let now: Instant
    let path: String

    func edit(_ key: String, in dataset: String, setting columns: [ExactText: String]?) throws -> HeldRowReport {
        let version = TableVersion(transaction, of: settings.datasets, .json, own: nil, hasChanges: true)
        let all = try version.heldRows().filter { settings.datasets[$0.place.dataset].name.exact == dataset.exact }.map { held in
            (held: held, name: try transaction.reported(held.place.key, of: settings.datasets[held.place.dataset]).description)
        }
        let shown = all.first { VisibleText.escape($0.name).exact == key.exact }
        guard let held = (all.first { $0.name.exact == key.exact } ?? shown)?.held else {
            throw SyncError(
                .nothingThere, step: .read, at: path, "no row of \(dataset) with the key \(key) is held",
                hint: "snapsync conflicts lists the rows that are held")
        }
        let schema = settings.datasets[held.place.dataset], key = held.place.key, row = held.row
        guard let columns else {
            try transaction.drop(row, of: key, in: schema, publishes: settings.role.publishes, now: now)
            return try report(key, of: schema, isDeletion: true)
        }
        let isVersions = try transaction.restoreHeld(key, of: schema, publishes: settings.role.publishes)
        let values = try values(of: row, setting: columns, in: schema)
        try insert(values, schema)
        try transaction.changeLog.consolidate(of: [schema])
        // The triggers logged an insertion. It is an edit of the row that was held.
        try transaction.changeLog.trackEdit(of: row, as: values, of: key, in: schema, isVersions: isVersions)
        return try report(key, of: schema, isDeletion: false)
    }

    private func report(_ key: EntityKey, of schema: DatasetSchema, isDeletion: Bool) throws -> HeldRowReport {
        HeldRowReport(
            dataset: schema.name, key: try transaction.reported(key, of: schema), isDeletion: isDeletion,
            stays: try transaction.reasonToStay(key, of: schema.name, settings))
    }

    private func values(of row: VersionRow, setting columns: [ExactText: String], in schema: DatasetSchema) throws -> [OwnedValue] {
        var values = row.values
        for (name, text) in columns {
            // A column may have been renamed in the table.
            let found = schema.columns.firstIndex { $0.name.exact == name } ?? schema.columns.firstIndex { $0.column.exact == name }
            guard let index = found, !schema.keyIndices.contains(index) else {
                throw SyncError(
                    .refused, step: .apply, at: "\(path), dataset \(schema.name)", "it has no column \(name.text) beside its key; nothing was changed",
                    hint: "snapsync conflicts shows the columns of the row")
            }
            values[index] = try transaction.tables.value(text, in: schema.columns[index], replacing: values[index], of: schema)
        }
        if let stamp = RowInstant(schema), columns[schema.columns[stamp.index].name.exact] == nil {
            stamp.set(now, in: &values)
        }
        return values
    }

    /// Inserts the row with the triggers on, as the application would.
    private func insert(_ values: [OwnedValue], _ schema: DatasetSchema) throws {
        let obstacles = try transaction.held.obstacles(of: values, in: schema)
        guard obstacles.isEmpty else { throw misfit(schema, obstacles.joined(separator: "; ")) }
        do {
            let applier = try transaction.rows.inserting(into: schema)
            try values.lending { try applier.receive($0) }
        } catch let error as SyncError where [.badRow, .schemaMismatch].contains(error.database) {
            throw misfit(schema, error.reason)
        }
    }

    private func misfit(_ schema: DatasetSchema, _ reason: String) -> SyncError {
        SyncError(
            .refused, step: .apply, at: "\(path), dataset \(schema.name)", "the row still does not fit: \(reason); nothing was changed",
            hint: "set those columns, too, or change the row that is in the way; snapsync conflicts lists the rows that are held")
    }
}
