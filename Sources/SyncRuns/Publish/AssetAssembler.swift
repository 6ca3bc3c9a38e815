import CloudStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// Writes blocks into a new asset in order. It writes nothing as long as the blocks are those of the previous asset.
struct AssetAssembler {
    private let schema: DatasetSchema
    private let previous: PreviousSnapshot?
    private let asset: any AssetWriter
    private let makeAssembly: () throws -> SnapshotAssembly
    private var assembly: SnapshotAssembly?
    /// The number of the previous snapshot's first blocks that came in order; no longer counted after the first different block.
    private var leading = 0
    private var reused = 0
    /// The number of entities so far.
    private(set) var recordCount = 0

    init(schema: DatasetSchema, syncTimestamp: Instant, blockEntities: Int, previous: PreviousSnapshot?, asset: any AssetWriter) {
        self.schema = schema
        self.previous = previous
        self.asset = asset
        makeAssembly = {
            try SnapshotAssembly(schema: schema, syncTimestamp: syncTimestamp, blockEntities: blockEntities, boxes: asset.boxes) {
                try asset.write($0)
            }
        }
    }

    /// Adds the block at `position` of the previous snapshot.
    mutating func keep(_ position: Int) throws {
        guard let previous else { return }
        recordCount += previous.index.blocks[position].count
        if assembly == nil, position == leading {
            leading += 1
        } else {
            try begin()
            try copy(position)
        }
    }

    /// Adds a new block.
    mutating func append(_ block: CompressedBlock) throws {
        recordCount += block.entry.count
        try begin()
        try assembly?.append(block)
    }

    /// Ends the asset with `tail`, if anything in it is new.
    ///
    /// - Parameter isNew: whether to write a version even if all blocks are the previous snapshot's.
    mutating func finish(_ tail: SnapshotTailBuilder, isNew: @autoclosure () throws -> Bool) throws -> DatasetExporter.Outcome {
        if assembly == nil, let previous, previous.index.blocks.count == leading, previous.index.describes(schema), try !isNew() {
            asset.abandon()
            return .unchanged(recordCount: recordCount)
        }
        try begin()
        guard let index = try assembly?.end(tail) else { return .unchanged(recordCount: recordCount) }
        try asset.setIndex(index.encode())
        let stored = try asset.finish(rawByteCount: index.rawSize)
        return .stored(
            stored,
            ExportedDataset(
                name: schema.name, kind: .snapshot, recordCount: recordCount, file: stored.path, size: stored.byteCount, rawSize: stored.rawByteCount,
                blocks: index.blocks.count, blocksReused: reused, changes: nil))
    }

    private mutating func begin() throws {
        guard assembly == nil else { return }
        assembly = try makeAssembly()
        for position in 0..<leading { try copy(position) }
    }

    private mutating func copy(_ position: Int) throws {
        guard let previous else { return }
        let entry = previous.index.blocks[position], asset = asset
        try withUnsafeTemporaryAllocation(byteCount: entry.member.length, alignment: 8) { buffer in
            try previous.reader.read(into: buffer, at: entry.member.offset)
            try assembly?.appendCopied(block: position, of: previous.index, bytes: UnsafeRawBufferPointer(buffer)) {
                try asset.write($0, copying: previous.reader, at: entry.member.offset)
            }
        }
        reused += 1
    }
}
