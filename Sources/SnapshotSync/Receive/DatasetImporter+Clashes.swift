import LocalStore
import SnapshotFormat
import SnapshotModel

// Entities of the version that come in after the others: where a change that was kept had to give way.
extension DatasetImporter {
    /// Puts the kept rows back among the version's, and the version's entities in for those that gave way.
    func putBack(_ kept: KeptRows, _ ledger: ImportLedger, _ transaction: LocalTransaction) throws {
        try SyncError.at(.apply) {
            var lost = try kept.putBack { try ledger.setAside($0, in: transaction) }
            while !lost.isEmpty {
                var next: [EntityKey] = []
                try forEachEntity(of: lost) { key, give in next += try kept.offer(key, give) { try ledger.setAside($0, in: transaction) } }
                lost = next
            }
            try kept.end()
        }
    }

    /// Puts the version's entities of these keys in, where it has them.
    func insertEntities(of keys: [EntityKey], _ transaction: LocalTransaction) throws {
        guard !keys.isEmpty else { return }
        try SyncError.at(.apply) {
            let applier = try transaction.inserting(into: schema)
            try forEachEntity(of: keys) { _, give in try give(applier) }
        }
    }

    /// Calls `body` with each of these keys that the version has, and with what gives its entity.
    private func forEachEntity(of keys: [EntityKey], _ body: (EntityKey, (any EntitySink) throws -> Void) throws -> Void) throws {
        let wanted = Set(keys)
        let blocks = asset.index.blocks.indices.filter { number in wanted.contains { BlockComparison.range(ofBlock: number, in: asset.index).contains($0) } }
        try BlockPipeline(asset: asset, blocks: blocks, workerCount: 1).run(.entities(schema)) { _, block in
            for key in wanted {
                var isThere = false
                try block.give(to: FilterSink(CallSink { isThere = true }, schema) { $0 == key })
                if isThere { try body(key) { try block.give(to: FilterSink($0, self.schema) { $0 == key }) } }
            }
        }
    }
}

/// Says that an entity came.
private final class CallSink: EntitySink {
    private let call: () -> Void
    init(_ call: @escaping () -> Void) { self.call = call }
    func take(_ values: UnsafeBufferPointer<ColumnValue>) throws { call() }
}
