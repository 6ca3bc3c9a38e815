import LocalStore
import SnapshotFormat
import SnapshotModel

/// Whether a table is one asset's version and the changes that were tracked since: the invariant that all of syncing rests on.
///
/// Rows are hashed block by block; only a block in whose range something was touched is read, to compare the rest of it.
struct LocalComparison: Sendable {
    let device: Device
    let schema: DatasetSchema
    let asset: SnapshotAsset
    /// The change assets since the snapshot asset, oldest first.
    let changes: [ChangeAsset]

    /// Returns what differs first, in a sentence; nil if nothing does.
    func firstDifference() throws -> String? {
        let session = try SyncError.at(.read) { try ReadSession(device.database, readers: WorkerThreads.count) }
        defer { session.end() }
        let difference: String? = try SyncError.at(.read) {
            let (hasRows, hasNullKeys) = try session.withReader(0) { reader in
                _ = try reader.transaction.checkTable(of: schema)
                return (try reader.transaction.hasRows(schema), try reader.transaction.hasNullKeys(schema))
            }
            if hasNullKeys { return "a row has no key" }
            let overlay = try ChangeOverlay(reading: changes, schema)
            if asset.index.blocks.isEmpty {
                guard hasRows || !overlay.isEmpty else { return nil }
                let version = EntityStates(schema: schema)
                try overlay.give(nil, from: nil, upTo: nil, to: version)
                return try untrackedDifference(KeyRange(number: 0, first: nil, next: nil), version.states, session)
                    .map { "the snapshot has no entities, and the row \($0) was not tracked" }
            }
            let differing = try BlockComparison(schema: schema, index: asset.index, session: session).allDifferences()
            let changed = asset.index.blocks.indices.filter { number in
                let range = BlockComparison.range(ofBlock: number, in: asset.index)
                return !overlay.keys(from: range.first, upTo: range.next).isEmpty
            }
            return try firstUntracked(in: Set(differing).union(changed).sorted(), overlay, session)
        }
        return difference.map { "\(device.database.path), table \(schema.table): \($0) (compared with \(asset.place))" }
    }

    private func firstUntracked(in blocks: [Int], _ overlay: ChangeOverlay, _ session: ReadSession) throws -> String? {
        var found: String?
        try BlockPipeline(asset: asset, blocks: blocks, workerCount: 1).run(.entities(schema)) { number, block in
            guard found == nil else { return }
            let version = EntityStates(schema: schema)
            let range = BlockComparison.range(ofBlock: number, in: asset.index)
            try overlay.give(block, from: range.first, upTo: range.next, to: version)
            found = try untrackedDifference(range, version.states, session).map { "the entity \($0) in block \(number) differs and was not tracked" }
        }
        return found
    }

    /// The first key of a range, in words, whose row is not the version's entity and was not touched.
    private func untrackedDifference(_ range: KeyRange, _ version: [EntityKey: EntityState], _ session: ReadSession) throws -> String? {
        try session.withReader(0) { reader in
            let rows = EntityStates(schema: schema)
            try reader.ranges(of: schema).read(range, into: rows)
            let touched = try reader.transaction.touchedKeys(of: schema, in: range)
            return Set(version.keys).union(rows.states.keys).subtracting(touched).sorted().first { version[$0]?.hash != rows.states[$0]?.hash }?.description
                ?? (rows.misfitCount > 0 ? "whose key is not of type \(schema.key.kind.rawValue)" : nil)
        }
    }
}
