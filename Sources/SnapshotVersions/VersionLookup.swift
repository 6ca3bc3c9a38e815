package import LocalStore
package import SnapshotFormat
package import SnapshotModel
import StrictText

/// Finds single entities of the version that is being applied: first in the change assets, then in the snapshot asset.
///
/// Used when a row that would survive the import conflicts with an entity of the version. For one thread.
package final class VersionLookup {
    let schema: DatasetSchema
    private let asset: SnapshotAsset
    private var overlay: ChangeOverlay

    /// Starts with a snapshot asset without changes.
    package init(_ asset: SnapshotAsset, _ schema: DatasetSchema) {
        self.asset = asset
        self.schema = schema
        overlay = ChangeOverlay(schema: schema)
    }

    /// Applies the next commit's changes to the version.
    package func add(_ changes: ChangeSet) { overlay.add(changes) }

    /// Fills columns of surviving rows that are NULL, or hold the column's default, with the version's values.
    ///
    /// - Parameter columns: the columns' positions in the schema.
    package func fillUnset(of columns: [Int], in keys: [EntityKey], _ transaction: LocalTransaction) throws {
        guard !keys.isEmpty, !columns.isEmpty else { return }
        try SyncError.at(.apply) {
            let rows = try StashedRows(transaction, schema, table: "snapsync_unseen")
            try rows.create()
            try forEachEntity(of: keys) { key, give in try rows.take(key, give) }
            try rows.fillUnset(of: columns)
            try rows.drop()
        }
    }

    /// Inserts the version's entities of these keys, if the version has them. If a row by now holds an entity's UNIQUE value, the entity is not
    /// inserted: its deletion is tracked with the entity's own instant. What is already set aside under its key stands for both.
    package func insertEntities(of keys: [EntityKey], _ transaction: LocalTransaction) throws {
        guard !keys.isEmpty else { return }
        try SyncError.at(.apply) {
            try forEachEntity(of: keys) { key, give in
                let isIn = try transaction.attempting {
                    try give(try transaction.rows.inserting(into: schema))
                    return true
                }
                if isIn { return }
                let states = EntityStates(schema: schema)
                try give(states)
                try transaction.merge.displaceRow(
                    key, of: schema, at: transaction.tombstonesAndInstants.appliedInstant(of: key, in: schema) ?? states.states[key]?.timestamp ?? .distantPast)
            }
        }
    }

    /// Calls `body` for each of these keys that the version has, with a closure that passes the entity to a sink.
    package func forEachEntity(of keys: [EntityKey], _ body: (EntityKey, (any EntitySink) throws -> Void) throws -> Void) throws {
        for key in keys {
            if case .present = overlay.change(of: key) { try body(key) { [overlay] in try overlay.give(key, to: $0) } }
        }
        let wanted = Set(keys.filter { overlay.change(of: $0) == nil })
        guard !wanted.isEmpty else { return }
        try BlockPipeline(asset: asset, blocks: asset.blocks(holding: wanted), workerCount: 1).run(.entities(schema)) { _, block in
            let found = EntityStates(schema: schema) { wanted.contains($0) }
            try block.give(to: found)
            for key in found.states.keys.sorted() { try body(key) { [schema] in try block.give(to: FilteringSink($0, schema) { $0 == key }) } }
        }
    }
}
