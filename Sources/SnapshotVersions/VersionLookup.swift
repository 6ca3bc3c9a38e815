package import LocalStore
package import SnapshotFormat
package import SnapshotModel
import StrictText

/// Finds single entities of a version that is being applied: in the change assets, or else in the snapshot asset.
///
/// Used where a row that was kept has to make room for the version's entity. Use it on one thread.
package final class VersionLookup {
    let schema: DatasetSchema
    private let asset: SnapshotAsset
    private var overlay: ChangeOverlay

    /// A version that is a snapshot asset as yet.
    package init(_ asset: SnapshotAsset, _ schema: DatasetSchema) {
        self.asset = asset
        self.schema = schema
        overlay = ChangeOverlay(schema: schema)
    }

    /// Lays the next commit's changes over the version.
    package func add(_ changes: ChangeSet) { overlay.add(changes) }

    /// Gives rows that stay the version's values of columns in which they have none.
    ///
    /// - Parameter columns: the columns' positions in the schema.
    package func fillNulls(of columns: [Int], in keys: [EntityKey], _ transaction: LocalTransaction) throws {
        guard !keys.isEmpty, !columns.isEmpty else { return }
        try SyncError.at(.apply) {
            let rows = try StashedRows(transaction, schema, table: "snapsync_unseen")
            try rows.create()
            try forEachEntity(of: keys) { key, give in try rows.take(key, give) }
            try rows.fillNulls(of: columns)
            try rows.drop()
        }
    }

    /// Puts the version's entities of these keys in, where it has them. One whose UNIQUE value is held by a row by now is taken out of the
    /// version, with its own instant; what was set aside of its key stands for both.
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

    /// Calls `body` with each of these keys that the version has, and with what gives its entity.
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
