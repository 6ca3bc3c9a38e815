import LocalStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Applies one commit's changes to a table that equals the version before: deletes and inserts only the changed entities.
struct ChangeImporter {
    let schema: DatasetSchema
    let transaction: LocalTransaction
    /// Whether the import has made the table equal to a snapshot asset. Otherwise the table has the applied version and this device's edits.
    let isOnSnapshot: Bool
    /// Whether rows of this device's edits may be in the table.
    private let hasOwnRows: Bool
    /// The keys whose rows are the version's by now.
    private var written: Set<EntityKey> = []

    init(schema: DatasetSchema, transaction: LocalTransaction, isOnSnapshot: Bool) throws {
        self.schema = schema
        self.transaction = transaction
        self.isOnSnapshot = isOnSnapshot
        hasOwnRows = try !isOnSnapshot && transaction.changeLog.hasChanges(of: schema)
    }

    /// Applies one commit's changes.
    ///
    /// - Returns: the growth of the number of entities; nil if it is not known whether the version before had an entity.
    /// - Throws: ``SyncError`` with `.needsWholeVersion` if a row that was changed here is in the way, or if a row that changed in part is not here.
    mutating func apply(_ changes: ChangeSet) throws -> Int? {
        let before = try changes.partial.isEmpty ? nil : StashedRows(transaction, schema, table: "snapsync_before")
        try before?.create()
        for key in changes.partial.keys where try before?.copy(key) == false {
            throw SyncError(
                isOnSnapshot ? .dataRefused : .needsWholeVersion, step: .apply, at: "\(schema.name), key \(key)",
                "some columns of an entity changed that the version before does not have", hint: SnapshotAsset.hint)
        }
        var growth: Int? = 0
        // Delete all before the first insertion: a UNIQUE value may move from one entity to another.
        for key in changes.keys {
            let wasThere = try transaction.rows.deleteEntity(key, of: schema)
            guard hasOwnRows, written.insert(key).inserted, let change = try transaction.changeLog.change(of: key, in: schema) else {
                growth = growth.map { $0 - (wasThere ? 1 : 0) }
                continue
            }
            growth = change.isInVersion.flatMap { wasInVersion in growth.map { $0 - (wasInVersion ? 1 : 0) } }
        }
        // No instant in an asset counts as later than the asset's timestamp.
        let latest = changes.syncTimestamp, late = LateTimestamps(schema: schema, after: latest), own = OwnInstants(schema: schema, notAfter: latest)
        let applier = try transaction.rows.inserting(into: schema)
        let rows = try before?.lookup()
        do {
            let sinks: [(any EntitySink)?] = [applier, late, changes.instants.isEmpty ? nil : own]
            try changes.send(to: RowSink { for sink in sinks { try sink?.receive($0) } }) { _ = try rows?.send($0, to: $1) }
        } catch let error as SyncError where error.database == .badRow && hasOwnRows {
            throw SyncError(.needsWholeVersion, step: .apply, at: schema.name, "rows that were changed here hold UNIQUE values of the version's")
        }
        try before?.drop()
        try setStates(changes, own, late: late?.keys ?? [])
        return growth.map { $0 + applier.count }
    }

    /// Stores what the commit says of its entities beside their values.
    private func setStates(_ changes: ChangeSet, _ own: OwnInstants, late: Set<EntityKey>) throws {
        let tables = transaction.tombstonesAndInstants
        for key in changes.entityKeys {
            var instants = changes.instants[key] ?? RowInstants()
            if instants.row == nil, late.contains(key) { instants.row = changes.syncTimestamp }
            try tables.setPresent(key, instants, own: own.instants[key] ?? .distantPast, in: schema)
        }
        for (key, entity) in changes.held {
            let text = try EntityDocument.make(schema.withoutShapes) { try EntityDocument.send(entity, of: schema, to: $0, own) } ?? ""
            let stamp = own.instants[key] ?? .earliest
            try tables.setPresent(key, changes.instants[key] ?? RowInstants(row: stamp), own: stamp, in: schema)
            try transaction.held.put(key, entity: text, reason: HeldRows.published, in: schema)
        }
        for deletion in changes.deletions { try tables.setDeleted(deletion.key, at: deletion.instant, in: schema) }
    }
}
