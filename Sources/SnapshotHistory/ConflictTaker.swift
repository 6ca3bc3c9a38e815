import LocalStore
import LocalTables
import SnapshotEngine
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

/// Restores an edit that lost a conflict as a new edit. The triggers log it like an application's.
///
/// Runs in the caller's write transaction, which rolls back if this throws.
struct ConflictTaker {
    let transaction: LocalTransaction
    let settings: SyncSettings
    let now: Instant
    let path: String

    /// Makes the edit. Returns the key under which it is stored.
    func take(_ entry: ConflictEntry, to place: SyncConflicts.Place) throws -> EntityKey {
        let conflict = entry.conflict
        guard let schema = settings.datasets.first(where: { $0.name == conflict.dataset }) else {
            throw refusal(
                entry, "the dataset \(conflict.dataset) is not described here any longer", hint: "snapsync conflicts show \(entry.id) prints the edit")
        }
        _ = try transaction.tables.check(of: schema)
        try transaction.observe(settings.datasets)
        guard let entity = conflict.loser.entity else { return try delete(entry, schema: schema, at: place) }
        let isAlias = try transaction.tables.hasRowidKey(schema)
        let isTaken = try transaction.rows.hasRow(conflict.key, of: schema)
        let key: EntityKey
        do {
            if let columns = conflict.columns, isTaken, place == .usual {
                guard schema.columns.contains(where: { column in columns.contains { $0.exact == column.name.exact } }) else {
                    throw refusal(
                        entry, "\(columns.joined(separator: ", ")) is not synced any more", hint: "snapsync conflicts show \(entry.id) prints the value")
                }
                try set(columns, of: conflict.key, to: entity, schema)
                key = conflict.key
            } else {
                let isNew = place == .newKey || place == .usual && conflict.reason == .sameKey && isAlias && isTaken
                guard !isNew || isAlias else {
                    throw refusal(
                        entry, "the keys of \(schema.name) are made by the application, not by SQLite",
                        hint: "without --as-new the edit takes the place of the row that has its key")
                }
                key = isNew ? try transaction.tables.unusedKey(in: schema) : conflict.key
                try insert(entity, at: key, schema: schema, asNew: isNew)
            }
        } catch let error as SyncError where [.badRow, .schemaMismatch].contains(error.database) {
            throw refusal(
                entry, error.reason,
                hint: "change the row that is in the way, then run the same command again; snapsync conflicts show \(entry.id) prints the edit")
        }
        guard try !transaction.references.isDangling(key, of: schema, among: settings.datasets) else {
            throw refusal(entry, "it refers to a row that is not there", hint: "bring that row back first; snapsync conflicts lists it if it lost, too")
        }
        return key
    }

    /// Sets the columns that lost in the row that is there.
    private func set(_ names: [String], of key: EntityKey, to entity: String, _ schema: DatasetSchema) throws {
        var values = try EntityCodec.json.values(schema, entity)
        let names = Set(names.map(\.exact))
        var columns = schema.columns.indices.filter { names.contains(schema.columns[$0].name.exact) }
        if let stamp = RowInstant(schema) {
            stamp.set(now, in: &values)
            columns.append(stamp.index)
        }
        try transaction.rows.setValues(Dictionary(columns.map { ($0, values[$0]) }) { $1 }, of: key, in: schema)
    }

    /// Writes the row, with the present time: with its old time it would lose again to what it replaces.
    private func insert(_ entity: String, at key: EntityKey, schema: DatasetSchema, asNew: Bool) throws {
        var values = try EntityCodec.json.values(schema, entity)
        if asNew, case .integer(let integer) = key { values[schema.keyIndices[0]] = .integer(integer) }
        RowInstant(schema)?.set(now, in: &values)
        let applier = try transaction.rows.updating(schema)
        try values.lending { try applier.receive($0) }
    }

    private func delete(_ entry: ConflictEntry, schema: DatasetSchema, at place: SyncConflicts.Place) throws -> EntityKey {
        let key = entry.conflict.key
        if place == .newKey { throw refusal(entry, "the edit that lost is a deletion", hint: "leave out --as-new") }
        guard try transaction.rows.hasRow(key, of: schema) else {
            throw refusal(entry, "the row is not there any longer", hint: "snapsync conflicts clear \(entry.id) takes it off the list")
        }
        if let table = try transaction.references.tableReferring(at: key, of: schema, among: settings.datasets) {
            throw refusal(entry, "rows of \(table) point at the row that it deletes", hint: "change or delete those rows first")
        }
        try transaction.rows.deleteEntities([key], of: schema)
        return key
    }

    private func refusal(_ entry: ConflictEntry, _ reason: String, hint: String) -> SyncError {
        SyncError(.refused, step: .apply, at: "\(path), conflict \(entry.id)", "\(reason); nothing was changed", hint: hint)
    }
}

extension RowInstant {
    /// Sets the timestamp of a row, later than the one that it has.
    func set(_ now: Instant, in values: inout [OwnedValue]) {
        values[index] = unit.map { OwnedValue($0.value(of: now, replacing: values[index])) } ?? OwnedValue(now.description)
    }
}
