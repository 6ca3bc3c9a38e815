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
        let session = try SyncError.at(.read) { try ReadSession(device.database, readers: WorkerThreads.count) }
        defer { session.end() }
        let difference: String? = try SyncError.at(.read) {
            let (shape, hasRows, hasNullKeys) = try session.withReader(0) { reader in
                let transaction = reader.transaction
                return (try transaction.checkTable(of: schema), try transaction.hasRows(schema), try transaction.hasNullKeys(schema))
            }
            guard shape.hasComparableKey else { return "its key column has a type that changes keys when they are compared; declare it TEXT or INTEGER" }
            if hasNullKeys { return "a row has no key" }
            if index.blocks.isEmpty { return hasRows ? "it has rows, and the version has none" : nil }
            return try BlockComparison(schema: schema, index: index, session: session).firstDifference().map { number in
                "its rows differ from block \(number), \(number == 0 ? "the first" : "which begins at key \(index.blocks[number].firstKey)")"
            }
        }
        return difference.map { "\(device.database.path), table \(schema.table): \($0) (compared with \(asset.place))" }
    }
}
