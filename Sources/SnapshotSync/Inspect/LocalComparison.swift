import LocalStore
import SnapshotFormat
import SnapshotModel

/// Whether a table holds exactly the entities of one asset, told by hashing its rows block by block.
struct LocalComparison: Sendable {
    let device: Device
    let schema: DatasetSchema
    let asset: SnapshotAsset

    /// Returns what differs first, in a sentence; nil if nothing does. Reads no block of the asset.
    func firstDifference() throws -> String? {
        let index = asset.index
        let session = try SyncError.at(.read) { try ReadSession(device.database, readers: 1) }
        defer { session.end() }
        return try SyncError.at(.encode) {
            try session.withReader(0) { reader in
                _ = try reader.transaction.checkTable(of: schema)
                let source = RowBlockSource(rows: try reader.rows(of: schema), schema: schema, blockEntities: index.blockEntities, workerCount: 1)
                var difference: String?
                var seen = 0
                try source.run(worker: 0) { number, blocks in
                    for block in blocks {
                        guard seen < index.blocks.count else {
                            difference = "it has entities behind the version's last one"
                            return false
                        }
                        let entry = index.blocks[seen]
                        guard block.firstKey == entry.firstKey, block.count == entry.count, block.rawSHA256 == entry.member.rawSHA256 else {
                            difference = "its rows differ from block \(seen), from key \(entry.firstKey) on"
                            return false
                        }
                        seen += 1
                    }
                    return true
                }
                if difference == nil, seen < index.blocks.count { difference = "it lacks the entities from key \(index.blocks[seen].firstKey) on" }
                return difference.map { "\(device.database.path), table \(schema.table): \($0) (compared with \(asset.place))" }
            }
        }
    }
}
