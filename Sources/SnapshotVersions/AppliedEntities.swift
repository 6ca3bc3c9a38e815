package import CloudStore
package import LocalStore
package import SnapshotFormat
package import SnapshotModel

/// What the version that was applied last says of some entities, read from its blocks by their keys.
package struct AppliedEntities: Sendable {
    let cloud: any CloudDatabase
    let zone: ZoneID
    let version: AppliedVersion

    package init(cloud: any CloudDatabase, zone: ZoneID, version: AppliedVersion) {
        self.cloud = cloud
        self.zone = zone
        self.version = version
    }

    /// The entities of that version that have these keys; the others are not in it.
    ///
    /// Reads the change assets and the blocks that hold the keys, and no other blocks.
    package func copies(of keys: Set<EntityKey>, in schema: DatasetSchema, masking masked: [Int]) async throws -> [EntityKey: EntityCopy] {
        let state = try await SyncError.at(.fetch) { try await cloud.records(in: zone, at: version.number, notBefore: version.token) }
        guard !keys.isEmpty, let record = state.record(schema.recordName) else { return [:] }
        let asset = try await SnapshotAsset(of: record, dataset: schema.name, in: cloud, zone: zone)
        let changes = try await ChangeAsset.open(asset.fields.changeFiles, dataset: schema.name, in: cloud, zone: zone)
        return try await WorkerThreads.run {
            // What a change asset says of an entity counts, and the block's word of it no longer.
            let overlay = try ChangeOverlay(reading: changes, schema)
            let untouched = keys.filter { overlay.change(of: $0) == nil }
            let copies = EntityCopies(schema: schema, masking: masked) { keys.contains($0) }
            let touched = keys.subtracting(untouched)
            for key in touched { try overlay.give(key, to: copies) }
            let blocks = Set(untouched.compactMap { block(of: $0, in: asset.index) }).sorted()
            try BlockPipeline(asset: asset, blocks: blocks, workerCount: WorkerThreads.count).run(.entities(schema)) { _, block in
                try block.give(to: FilteringSink(copies, schema) { !touched.contains($0) })
            }
            return copies.copies
        }
    }

    /// The block that holds a key if any does: the last one that begins at it or before.
    private func block(of key: EntityKey, in index: SnapshotIndex) -> Int? {
        var low = 0, high = index.blocks.count
        while low < high {
            let middle = (low + high) / 2
            if key < index.blocks[middle].firstKey { high = middle } else { low = middle + 1 }
        }
        return low > 0 ? low - 1 : nil
    }
}
