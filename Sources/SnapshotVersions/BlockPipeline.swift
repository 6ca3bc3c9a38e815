import CloudStore
import Platform
package import SnapshotFormat
package import SnapshotModel
import StrictText

/// Reads the blocks of an asset in parallel and passes them on in order.
///
/// Workers fetch, verify, decompress and decode; the caller's thread runs `take`. Memory: a few blocks per worker.
package struct BlockPipeline: Sendable {
    let asset: SnapshotAsset
    /// The numbers of the blocks to read, ascending.
    let blocks: [Int]
    /// Number of workers: one per core if `take` does little, else one less.
    let workerCount: Int

    /// What a worker does with a block's JSON after decompression.
    package enum Decoding: Sendable {
        /// Parses the entities by a schema.
        case entities(DatasetSchema)
        /// Parses the entities and also compares the hash of the JSON. ``entities(_:)`` does without, because the hash of the compressed bytes
        /// was checked.
        case entitiesAndHash(DatasetSchema)
        /// Does not parse: the caller wants the JSON as it is.
        case none
    }

    package init(asset: SnapshotAsset, blocks: [Int]? = nil, workerCount: Int) {
        self.asset = asset
        self.blocks = blocks ?? Array(asset.index.blocks.indices)
        self.workerCount = workerCount
    }

    /// Runs every block through the workers and passes it to `take` in order.
    package func run(_ decoding: Decoding, take: (Int, EntityBlock) throws -> Void) throws {
        let count = blocks.count
        guard count > 0 else { return }
        let workers = max(1, min(workerCount, count))
        let queue = OrderedQueue<EntityBlock>(window: 3 * workers)
        asset.reader.expect(
            blocks.map { number in
                let member = asset.index.blocks[number].member
                return member.offset..<member.offset + member.length
            })
        queue.finish(at: count)
        try BlockingThreads.run(
            workers,
            { _ in
                do {
                    let worker = try BlockWorker(asset: asset, decoding: decoding)
                    while let position = queue.claim(below: count) {
                        let block = EntityBlock()
                        try worker.work(blocks[position], block)
                        guard queue.put(block, at: position) else { return }
                    }
                } catch {
                    queue.fail(SyncError(error, step: .decode))
                }
            }
        ) {
            do {
                for number in blocks {
                    guard let block = try queue.take() else { return }
                    try take(number, block)
                }
            } catch {
                queue.fail(error)
                throw error
            }
        }
    }
}

/// One worker: a buffer, an inflate stream and a parser, reused for each block.
private struct BlockWorker {
    let asset: SnapshotAsset
    let hasHashCheck: Bool
    let parser: BlockParser?
    let reader: MemberReader
    let compressed = ByteBuffer()

    init(asset: SnapshotAsset, decoding: BlockPipeline.Decoding) throws {
        self.asset = asset
        switch decoding {
        case .entities(let schema): (parser, hasHashCheck) = (BlockParser(schema: schema), false)
        case .entitiesAndHash(let schema): (parser, hasHashCheck) = (BlockParser(schema: schema), true)
        case .none: (parser, hasHashCheck) = (nil, false)
        }
        reader = MemberReader(boxes: asset.reader.boxes)
    }

    func work(_ number: Int, _ block: EntityBlock) throws {
        let entry = asset.index.blocks[number]
        try asset.fetch(entry.member, into: compressed)
        try step(.verify, of: number) {
            try reader.inflate(compressed.bytes, entry: entry.member, name: "block \(number)", into: block.raw)
            if hasHashCheck { try checkHash(of: block.raw, entry, number) }
        }
        try step(.decode, of: number) { try parser?.parse(block, number: number, of: asset.index) }
    }

    private func checkHash(of raw: ByteBuffer, _ entry: BlockEntry, _ number: Int) throws {
        // The separator before the block's first entity depends on the block's position in the file, so the hash leaves it out.
        let entities = UnsafeRawBufferPointer(rebasing: raw.bytes.dropFirst(number == 0 ? 1 : 2))
        guard ContentHash(of: entities) == entry.member.rawSHA256 else {
            throw SyncError(format: .hashMismatch, at: "block \(number)", "its JSON does not match its hash")
        }
    }

    private func step<T>(_ step: SyncStep, of number: Int, _ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch var error as SyncError where error.format != nil {
            (error.step, error.hint) = (step, SnapshotAsset.hint(for: error))
            (error.place, error.reason) = ("block \(number) of \(asset.place)", "\(error.reason) (\(error.place))")
            throw error
        }
    }
}
