import LocalStore
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Applies one commit's changes to a table that equals the version before: deletes and inserts only the changed entities.
struct ChangeImporter {
    let schema: DatasetSchema
    let transaction: LocalTransaction
    /// Whether rows of this device's edits may be in the table.
    let hasOwnRows: Bool
    /// The keys whose rows are the version's by now.
    private var written: Set<EntityKey> = []

    init(schema: DatasetSchema, transaction: LocalTransaction, hasOwnRows: Bool) {
        self.schema = schema
        self.transaction = transaction
        self.hasOwnRows = hasOwnRows
    }

    /// Applies one commit's changes.
    ///
    /// - Returns: the growth of the number of entities; nil if it is not known whether the version before had an entity.
    /// - Throws: ``SyncError`` with `.needsWholeVersion` if a row that was changed here is in the way.
    mutating func apply(_ changes: ChangeSet) throws -> Int? {
        // No instant in an asset counts as later than the asset's timestamp.
        let latest = changes.syncTimestamp, late = LateTimestamps(schema: schema, after: latest)
        if let late { try changes.entities.give(to: late) }
        let own = OwnInstants(schema: schema, notAfter: latest)
        if !changes.instants.isEmpty { try changes.entities.give(to: own) }
        for key in changes.entityKeys {
            var instants = changes.instants[key] ?? RowInstants()
            if instants.row == nil, late?.keys.contains(key) == true { instants.row = latest }
            try transaction.tombstonesAndInstants.setPresent(key, instants, own: own.instants[key] ?? .distantPast, in: schema)
        }
        for (key, entity) in changes.held {
            let text = try EntityDocument.make(schema.withoutShapes) { try EntityDocument.give(entity, of: schema, to: $0, own) } ?? ""
            try transaction.tombstonesAndInstants.setPresent(key, changes.instants[key] ?? RowInstants(), own: own.instants[key] ?? .distantPast, in: schema)
            try transaction.held.put(key, entity: text, reason: HeldRows.published, in: schema)
        }
        for deletion in changes.deletions { try transaction.tombstonesAndInstants.setDeleted(deletion.key, at: deletion.instant, in: schema) }
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
        let applier = try transaction.rows.inserting(into: schema)
        do {
            try changes.entities.give(to: applier)
        } catch let error as LocalStoreError where error.code == .badRow && hasOwnRows {
            throw SyncError(.needsWholeVersion, step: .apply, at: schema.name, "rows that were changed here hold UNIQUE values of the version's")
        }
        return growth.map { $0 + applier.count }
    }
}
