package import LocalStore
import SnapshotFormat
package import SnapshotModel
package import StrictText

/// Whether a table is one asset's version and the changes that were tracked since: the invariant that all of syncing rests on.
///
/// Rows are hashed block by block; only a block in whose range something was touched is read, to compare the rest of it.
package struct LocalComparison: Sendable {
    let database: LocalDatabase
    package let schema: DatasetSchema
    package let asset: SnapshotAsset
    /// The change assets since the snapshot asset, oldest first.
    let changes: [ChangeAsset]

    package init(database: LocalDatabase, schema: DatasetSchema, asset: SnapshotAsset, changes: [ChangeAsset]) {
        self.database = database
        self.schema = schema
        self.asset = asset
        self.changes = changes
    }

    /// Returns what differs first, in a sentence; nil if nothing does.
    package func firstDifference() throws -> String? {
        let session = try SyncError.at(.read) { try ReadSession(database, readers: WorkerThreads.count) }
        defer { session.end() }
        let difference: String? = try SyncError.at(.read) {
            let hasNullKeys = try session.withReader(0) { reader in
                _ = try reader.transaction.tables.check(of: schema)
                return try reader.transaction.rows.hasNullKeys(schema)
            }
            if hasNullKeys { return "a row has no key" }
            var found: String?
            try compare(session) { number, keys, misfitCount, _ in
                if found == nil, let key = keys.first?.description ?? (misfitCount > 0 ? "whose key is not of type \(schema.key.kind.rawValue)" : nil) {
                    found =
                        number.map { "the entity \(key) in block \($0) differs and was not tracked" }
                        ?? "the snapshot has no entities, and the row \(key) was not tracked"
                }
            }
            return found
        }
        return difference.map { "\(database.path), table \(schema.table): \($0) (compared with \(asset.place))" }
    }

    /// The entities that differ and were not tracked, in key order, each with the timestamp that it has in the version.
    package func untrackedChanges() throws -> [(key: EntityKey, seen: Instant?)] {
        let session = try SyncError.at(.read) { try ReadSession(database, readers: WorkerThreads.count) }
        defer { session.end() }
        var found: [(key: EntityKey, seen: Instant?)] = []
        try SyncError.at(.read) { try compare(session) { _, keys, _, version in found += keys.map { ($0, version[$0]?.timestamp) } } }
        return found
    }

    /// Compares the ranges of keys in which anything differs.
    ///
    /// - Parameter body: takes the block's number (nil where the snapshot has none), the keys that differ and were not touched, how
    ///   many rows had a key of another type, and the version's entities there.
    private func compare(_ session: ReadSession, _ body: (Int?, [EntityKey], Int, [EntityKey: EntityState]) throws -> Void) throws {
        let overlay = try ChangeOverlay(reading: changes, schema)
        func look(_ number: Int?, _ block: EntityBlock?, _ range: KeyRange) throws {
            let version = EntityStates(schema: schema)
            try overlay.give(block, from: range.first, upTo: range.next, to: version)
            let (keys, misfitCount) = try untracked(range, version.states, session)
            if !keys.isEmpty || misfitCount > 0 { try body(number, keys, misfitCount, version.states) }
        }
        if asset.index.blocks.isEmpty { return try look(nil, nil, KeyRange(number: 0, first: nil, next: nil)) }
        let differing = try BlockComparison(schema: schema, index: asset.index, session: session).allDifferences()
        let changed = asset.index.blocks.indices.filter { number in
            let range = BlockComparison.range(ofBlock: number, in: asset.index)
            return !overlay.keys(from: range.first, upTo: range.next).isEmpty
        }
        try BlockPipeline(asset: asset, blocks: Set(differing).union(changed).sorted(), workerCount: 1).run(.entities(schema)) { number, block in
            try look(number, block, BlockComparison.range(ofBlock: number, in: asset.index))
        }
    }

    /// The keys of a range whose rows are not the version's entities and were not touched.
    private func untracked(_ range: KeyRange, _ version: [EntityKey: EntityState], _ session: ReadSession) throws -> ([EntityKey], misfitCount: Int) {
        try session.withReader(0) { reader in
            let rows = EntityStates(schema: schema)
            try reader.ranges(of: schema).read(range, into: rows)
            let touched = try reader.transaction.changeLog.touchedKeys(of: schema, in: range)
            return (
                Set(version.keys).union(rows.states.keys).subtracting(touched).sorted().filter { version[$0]?.hash != rows.states[$0]?.hash }, rows.misfitCount
            )
        }
    }
}
