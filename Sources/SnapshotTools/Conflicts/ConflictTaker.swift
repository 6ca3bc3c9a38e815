import LocalStore
import SnapshotEngine
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Restores an edit that lost a conflict as a new edit. The triggers log it like an application's.
///
/// Runs in the caller's write transaction, which rolls back if this throws.
struct ConflictTaker {
    let transaction: LocalTransaction
    let settings: SyncSettings
    let now: Instant
    let path: String

    /// The key under which the losing edit is restored.
    enum Place: Sendable {
        /// Its own key. If two devices inserted rows under the same integer key, the restored row gets a new key.
        case usual
        /// Its own key; the edit replaces the row that has it.
        case sameKey
        /// A key that the table has not used.
        case newKey
    }

    /// Makes the edit. Returns the key under which it is stored.
    func take(_ entry: ConflictEntry, to place: Place) throws -> EntityKey {
        let conflict = entry.conflict
        guard let schema = settings.datasets.first(where: { $0.name == conflict.dataset }) else {
            throw refusal(
                entry, "the dataset \(conflict.dataset) is not described here any longer", hint: "snapsync conflicts show \(entry.id) prints the edit")
        }
        _ = try transaction.tables.check(of: schema)
        try transaction.observe(settings.datasets)
        guard let entity = conflict.loser.entity else { return try delete(entry, schema, place) }
        let isAlias = try transaction.tables.hasRowidKey(schema)
        let isTaken = try transaction.rows.hasRow(conflict.key, of: schema)
        if let columns = conflict.columns, isTaken, case .usual = place { return try set(columns, of: entity, entry, schema) }
        let isNew: Bool
        switch place {
        case .sameKey: isNew = false
        case .newKey: isNew = true
        case .usual: isNew = conflict.reason == .sameKey && isAlias && isTaken
        }
        guard !isNew || isAlias else {
            throw refusal(
                entry, "the keys of \(schema.name) are made by the application, not by SQLite",
                hint: "without --as-new the edit takes the place of the row that has its key")
        }
        let key: EntityKey
        do {
            key = try insert(entity, conflict.key, schema, asNew: isNew)
        } catch let error as LocalStoreError where [.badRow, .schemaMismatch].contains(error.code) {
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
    private func set(_ names: [String], of entity: String, _ entry: ConflictEntry, _ schema: DatasetSchema) throws -> EntityKey {
        let key = entry.conflict.key
        var values = try EntityCodec.json.values(schema, entity)
        let names = Set(names.map(\.exact))
        var columns = schema.columns.indices.filter { names.contains(schema.columns[$0].name.exact) }
        if let stamp = RowInstant(schema) {
            values[stamp.index] = stamp.unit.map { OwnedValue($0.value(of: now, replacing: values[stamp.index])) } ?? OwnedValue(now.description)
            columns.append(stamp.index)
        }
        do {
            try transaction.rows.setValues(Dictionary(columns.map { ($0, values[$0]) }) { $1 }, of: key, in: schema)
        } catch let error as LocalStoreError where [.badRow, .schemaMismatch].contains(error.code) {
            throw refusal(
                entry, error.reason,
                hint: "change the row that is in the way, then run the same command again; snapsync conflicts show \(entry.id) prints the edit")
        }
        guard try !transaction.references.isDangling(key, of: schema, among: settings.datasets) else {
            throw refusal(entry, "it refers to a row that is not there", hint: "bring that row back first; snapsync conflicts lists it if it lost, too")
        }
        return key
    }

    private func insert(_ entity: String, _ key: EntityKey, _ schema: DatasetSchema, asNew: Bool) throws -> EntityKey {
        let key = asNew ? try transaction.tables.unusedKey(in: schema) : key
        let applier = try transaction.rows.updating(schema)
        // The edit gets the present time: with its old time it would lose again to what it replaces.
        try EntityDocument.give(entity, of: schema.withoutShapes, to: ReplacingSink(applier, key: asNew ? key : nil, schema, now: now))
        return key
    }

    private func delete(_ entry: ConflictEntry, _ schema: DatasetSchema, _ place: Place) throws -> EntityKey {
        let key = entry.conflict.key
        if case .newKey = place { throw refusal(entry, "the edit that lost is a deletion", hint: "leave out --as-new") }
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

/// Passes an entity on with another key and another timestamp.
private final class ReplacingSink: EntitySink {
    private let sink: any EntitySink
    /// The new key, an integer; nil keeps the entity's key.
    private let key: EntityKey?
    private let keyIndex: Int
    private let timestamp: RowInstant?
    private let now: Instant

    init(_ sink: any EntitySink, key: EntityKey?, _ schema: DatasetSchema, now: Instant) {
        self.sink = sink
        self.key = key
        keyIndex = schema.keyIndices[0]
        timestamp = RowInstant(schema)
        self.now = now
    }

    func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        var replaced = Array(values)
        if case .integer(let integer)? = key { replaced[keyIndex] = .integer(integer) }
        guard let timestamp else { return try give(replaced) }
        if let unit = timestamp.unit {
            replaced[timestamp.index] = unit.value(of: now, replacing: OwnedValue(values[timestamp.index]))
            return try give(replaced)
        }
        try Array(now.description.utf8).withUnsafeBytes { bytes in
            replaced[timestamp.index] = .text(bytes)
            try give(replaced)
        }
    }

    private func give(_ values: [ColumnValue]) throws { try values.withUnsafeBufferPointer { try sink.take($0) } }
}
