import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// Writes a version's container whole, however it is stored: the snapshot's blocks with the changes in their places.
///
/// The bytes are those that a snapshot asset of the version would decompress to. Memory: some blocks, and the changes.
package struct ContainerWriter: Sendable {
    let asset: SnapshotAsset
    /// The change assets since the snapshot asset, oldest first.
    let changes: [ChangeAsset]

    package init(asset: SnapshotAsset, changes: [ChangeAsset]) {
        self.asset = asset
        self.changes = changes
    }

    /// Hands the text to `write`, piece by piece, each checked before it is handed over.
    package func run(to write: (UnsafeRawBufferPointer) throws -> Void) throws {
        guard !changes.isEmpty else { return try writeSnapshot(to: write) }
        let schema = try asset.step(.verify) { try asset.index.schema(table: asset.index.dataset) }
        let overlay = try ChangeOverlay(reading: changes, schema)
        let header = SnapshotHeader(syncTimestamp: asset.fields.syncTimestamp, dataset: asset.index.dataset)
        var head = header.text
        try head.withUTF8 { try write(UnsafeRawBufferPointer($0)) }

        let text = EntityText(schema: schema)
        let parser = BlockParser(schema: schema)
        if asset.index.blocks.isEmpty { try asset.step(.decode) { try overlay.give(nil, from: nil, upTo: nil, to: text) } }
        try BlockPipeline(asset: asset, workerCount: WorkerThreads.count).run(.none) { number, block in
            let range = BlockComparison.range(ofBlock: number, in: asset.index)
            if overlay.keys(from: range.first, upTo: range.next).isEmpty {
                text.take(block: number, json: block.raw.bytes)
            } else {
                try asset.step(.decode) {
                    try parser.parse(block, number: number, of: asset.index)
                    try overlay.give(block, from: range.first, upTo: range.next, to: text)
                }
            }
            try write(text.bytes)
            text.clear()
        }
        try write(text.bytes)
        try asset.step(.encode) { try tail(overlay, schema).text() }.withBytes { try write($0) }
    }

    private func writeSnapshot(to write: (UnsafeRawBufferPointer) throws -> Void) throws {
        try asset.readMember(asset.index.header, name: "header").withBytes { try write($0) }
        try BlockPipeline(asset: asset, workerCount: WorkerThreads.count).run(.none) { try write($1.raw.bytes) }
        try asset.checkTail()
        try asset.readMember(asset.index.tail, name: "tail").withBytes { try write($0) }
    }

    /// The snapshot's tombstones and instants, as the changes left them.
    private func tail(_ overlay: ChangeOverlay, _ schema: DatasetSchema) throws -> SnapshotTailBuilder {
        var deletions: [(EntityKey, Instant)] = [], instants: [(EntityKey, Instant)] = []
        try asset.readMember(asset.index.tail, name: "tail").withBytes { bytes in
            _ = try asset.step(.verify) {
                try SnapshotTail.read(bytes, keyKind: asset.index.keyKind) { key, instant in
                    if overlay.change(of: key) == nil { deletions.append((key, instant)) }
                } instant: { key, instant in
                    if overlay.change(of: key) == nil { instants.append((key, instant)) }
                }
            }
        }
        for key in overlay.keys {
            switch overlay.change(of: key) {
            case .deleted(let instant): deletions.append((key, instant))
            case .present(let instant?): instants.append((key, instant))
            case .present(nil), nil: break
            }
        }
        var tail = SnapshotTailBuilder()
        for (key, instant) in deletions.sorted(by: { $0.0 < $1.0 }) { tail.addDeletion(of: key, at: instant) }
        for (key, instant) in instants.sorted(by: { $0.0 < $1.0 }) { tail.addInstant(instant, of: key) }
        return tail
    }
}
