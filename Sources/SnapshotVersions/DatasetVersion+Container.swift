import LocalStore
import SnapshotFormat

extension DatasetVersion {
    /// Writes the version's container whole: the snapshot's blocks with the changes merged in.
    ///
    /// The bytes equal the decompressed bytes of a snapshot asset of this version. Memory: some blocks, and the changes.
    ///
    /// - Parameter write: takes the text in pieces; each piece is checked before.
    package func writeContainer(to write: (UnsafeRawBufferPointer) throws -> Void) throws {
        guard !changes.isEmpty else { return try writeSnapshot(to: write) }
        let overlay = try overlay()
        var head = SnapshotHeader(syncTimestamp: fields.syncTimestamp, dataset: snapshot.index.dataset).text
        try head.withUTF8 { try write(UnsafeRawBufferPointer($0)) }

        let text = EntityText(schema: schema)
        let parser = BlockParser(schema: schema)
        if snapshot.index.blocks.isEmpty { try snapshot.step(.decode) { try overlay.give(nil, from: nil, upTo: nil, to: text) } }
        try BlockPipeline(asset: snapshot, workerCount: WorkerThreads.count).run(.none) { number, block in
            let range = range(of: number)
            if overlay.keys(from: range.first, upTo: range.next).isEmpty {
                text.take(block: number, json: block.raw.bytes)
            } else {
                try snapshot.step(.decode) {
                    try parser.parse(block, number: number, of: snapshot.index)
                    try overlay.give(block, from: range.first, upTo: range.next, to: text)
                }
            }
            try write(text.bytes)
            text.clear()
        }
        try write(text.bytes)
        try snapshot.step(.encode) { try tailText() }.withBytes { try write($0) }
    }

    private func writeSnapshot(to write: (UnsafeRawBufferPointer) throws -> Void) throws {
        try snapshot.readMember(snapshot.index.header, name: "header").withBytes { try write($0) }
        try BlockPipeline(asset: snapshot, workerCount: WorkerThreads.count).run(.none) { try write($1.raw.bytes) }
        try snapshot.checkTail()
        try snapshot.readMember(snapshot.index.tail, name: "tail").withBytes { try write($0) }
    }
}
