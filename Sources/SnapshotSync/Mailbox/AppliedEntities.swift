import CloudStore
import LocalStore
import SnapshotFormat
import SnapshotModel

/// What the version that was applied last says of some entities, read from its blocks by their keys.
struct AppliedEntities: Sendable {
    let device: Device
    let version: AppliedVersion

    /// The entities of that version that have these keys; the others are not in it.
    ///
    /// Reads the blocks that hold the keys, and no others.
    func copies(of keys: Set<EntityKey>, in schema: DatasetSchema, masking masked: [Int]) async throws -> [EntityKey: EntityCopy] {
        let state = try await SyncError.at(.fetch) { try await device.cloud.records(in: device.zone, at: version.number, notBefore: version.token) }
        guard !keys.isEmpty, let record = state.record(schema.recordName) else { return [:] }
        let asset = try await SnapshotAsset(of: record, dataset: schema.name, in: device.cloud, zone: device.zone)
        return try await WorkerThreads.run {
            let copies = EntityCopies(schema: schema, masking: masked) { keys.contains($0) }
            let blocks = Set(keys.compactMap { block(of: $0, in: asset.index) }).sorted()
            try BlockPipeline(asset: asset, blocks: blocks, workerCount: WorkerThreads.count).run(.entities(schema)) { try $1.give(to: copies) }
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
