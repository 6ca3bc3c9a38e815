package import CloudStore
package import LocalStore
package import LocalTables
import Platform
import Sealing
import SnapshotFormat
package import SnapshotModel
import SnapshotVersions
package import StrictText

/// Writes one dataset as a snapshot asset: reads, encodes and compresses on all cores, and stores in order.
///
/// Memory: a few blocks per core, whatever the dataset's size. Blocks that the last snapshot already has are copied. If all blocks are the same,
/// nothing is written.
package struct DatasetExporter: Sendable {
    let schema: DatasetSchema
    let shape: TableShape
    let session: ReadSession
    let previous: PreviousSnapshot?
    let syncTimestamp: Instant
    let progress: ProgressHandler?
    /// Tombstones from before this instant are left out; nil keeps all.
    var horizon: Instant?
    /// The size limits of the tail.
    var rule = AssetRule.standard
    /// The number of entities in the version according to the tracked changes; nil if the rows must be counted.
    var trackedCount: Int?
    /// The least number of entities that the table has if every deletion was tracked; nil if it is not known.
    var leastCount: Int?

    package init(
        schema: DatasetSchema, shape: TableShape, session: ReadSession, previous: PreviousSnapshot?, syncTimestamp: Instant,
        progress: ProgressHandler?
    ) {
        self.schema = schema
        self.shape = shape
        self.session = session
        self.previous = previous
        self.syncTimestamp = syncTimestamp
        self.progress = progress
    }

    /// The result for the dataset.
    package enum Outcome: Sendable {
        /// The last snapshot has exactly these entities.
        case unchanged(recordCount: Int)
        case stored(CloudAsset, ExportedDataset)
        /// The blocks that the tracked changes name do not give the expected number of entities. All rows must be read. Nothing was stored.
        case changesDoNotAddUp
        /// All rows were read, and there are fewer than ``leastCount``. Nothing was stored.
        case rowsMissing
        /// More edits have an instant of their own than a tail can hold. Nothing was stored.
        case tooManyInstants
    }

    /// One block for the asset.
    private enum Piece {
        case compressed(CompressedBlock)
        /// The unchanged block at this position of the previous snapshot.
        case kept(Int)
    }

    /// Exports the dataset into `asset`. If the dataset is unchanged, nothing is written.
    package func run(into asset: any AssetWriter) throws -> Outcome {
        let boxes = asset.boxes
        return try session.withReader(0) { reader in
            let blockEntities = try chooseBlockEntities(reader)
            let reusable = previous.flatMap { $0.index.blockEntities == blockEntities ? $0 : nil }
            if let reusable, let changed = try ChangedBlocks(reusable, of: schema, in: reader) {
                return try run(changed, reader, after: reusable, into: asset)
            }
            let source = try makeSource(reader, BlockCutter(blockEntities: blockEntities, cutKey: boxes?.cutKey))
            // For the rows of one block, a thread costs more than it gives. A block has at least one row.
            let isOneBlock = try !reader.transaction.rows.hasRows(schema, moreThan: blockEntities)
            let queue = OrderedQueue<[Piece]>(window: isOneBlock ? blockEntities + 1 : source.waitingRuns * source.workerCount)
            let progress = try counter(reader.transaction)
            return try pass(through: queue, from: isOneBlock ? nil : source.workerCount, { try work($0, source, into: queue, after: reusable, boxes: boxes) }) {
                try assemble(queue, blockEntities: blockEntities, after: reusable, into: asset, in: reader.transaction, progress) { count in
                    // A sorted source reads the table itself, and without rowids the table is the index.
                    if !(source is SortedBlockSource), shape.rowidName != nil { try verifyIndexes(count, reader.transaction) }
                    return count < leastCount ?? 0 ? .rowsMissing : nil
                }
            }
        }
    }

    /// Runs workers that put pieces into the queue, and meanwhile `body`, which takes them.
    ///
    /// - Parameter workerCount: nil runs one worker on this thread before `body`; the queue must have room for all pieces.
    private func pass<T>(
        through queue: OrderedQueue<[Piece]>, from workerCount: Int?, _ work: @escaping @Sendable (Int) throws -> Void, to body: () throws -> T
    ) throws -> T {
        let work = { @Sendable worker in
            do { try work(worker) } catch { queue.fail(SyncError(error, step: .encode)) }
        }
        if workerCount == nil { work(0) }
        return try BlockingThreads.run(workerCount ?? 0, work) {
            do {
                return try body()
            } catch {
                queue.fail(error)
                throw error
            }
        }
    }

    // One worker: encodes, compares with the last snapshot, compresses.
    private func work(
        _ worker: Int, _ source: any BlockSource, into queue: OrderedQueue<[Piece]>, after previous: PreviousSnapshot?, boxes: DatasetBoxes?
    ) throws {
        let compressor = MemberCompressor(boxes: boxes)
        var pieces: [Piece] = []
        try source.run(
            worker: worker, take: { number, block in pieces.append(try piece(of: block, isFirst: number == 0 && pieces.isEmpty, compressor, previous)) },
            end: { number in
                defer { pieces = [] }
                return queue.put(pieces, at: number)
            })
        if let count = source.runCount { queue.finish(at: count) }
    }

    private func piece(of block: RawBlock, isFirst: Bool, _ compressor: MemberCompressor, _ previous: PreviousSnapshot?) throws -> Piece {
        if let position = previous?.match(block, isFirst: isFirst) { return .kept(position) }
        return .compressed(try SyncError.at(.compress) { try compressor.compress(block, isFirst: isFirst) })
    }

    /// Reads only the ranges with changed keys. The other blocks are copied from the last snapshot asset.
    private func run(_ changed: ChangedBlocks, _ reader: DatasetReader, after previous: PreviousSnapshot, into asset: any AssetWriter) throws -> Outcome {
        // With only one connection, which this thread holds, one worker uses it while this thread only writes.
        let boxes = asset.boxes
        let own = session.readerCount == 1 ? UnsafeTransfer(reader.ranges(of: schema)) : nil
        for case .read(let range) in changed.parts { try own?.value.prepare(for: range) }
        let workerCount = max(1, min(session.readerCount - 1, changed.parts.count))
        let window = 4 * workerCount
        let queue = OrderedQueue<[Piece]>(window: window)
        queue.finish(at: changed.parts.count)
        let progress = try counter(reader.transaction)
        let isShort = workerCount == 1 && changed.parts.count <= window
        let encode = { @Sendable worker in
            if let own { return try work(changed, own.value, into: queue, after: previous, boxes: boxes) }
            try session.withReader(worker + 1) { try work(changed, $0.ranges(of: schema), into: queue, after: previous, boxes: boxes) }
        }
        return try pass(through: queue, from: isShort ? nil : workerCount, encode) {
            try assemble(queue, blockEntities: previous.index.blockEntities, after: previous, into: asset, in: reader.transaction, progress) { count in
                count == trackedCount ?? count && count >= leastCount ?? 0 ? nil : .changesDoNotAddUp
            }
        }
    }

    /// Checks that as many rows were read as the table has. Rows that an index has lost would otherwise count as deleted.
    private func verifyIndexes(_ count: Int, _ transaction: LocalTransaction) throws {
        let stored = try transaction.rows.rowCount(of: schema, besideIndexes: true)
        guard stored != count else { return }
        throw SyncError(
            .dataRefused, step: .read, at: "\(transaction.path), table \(schema.table)",
            "the table has \(Format.count(stored, "row")), and an index of it leads to \(count): the index is damaged; nothing was published",
            hint: "sqlite3 \(transaction.path.shellWord) REINDEX")
    }

    private func work(_ changed: ChangedBlocks, _ rows: RangeReader, into queue: OrderedQueue<[Piece]>, after previous: PreviousSnapshot, boxes: DatasetBoxes?)
        throws
    {
        let compressor = MemberCompressor(boxes: boxes)
        var number = 0, pieces: [Piece] = []
        let blocks = BlockStream(schema: schema, cutter: BlockCutter(blockEntities: previous.index.blockEntities, cutKey: boxes?.cutKey)) { block in
            pieces.append(try piece(of: block, isFirst: number == 0 && pieces.isEmpty, compressor, previous))
        }
        while let next = queue.claim(below: changed.parts.count) {
            number = next
            pieces = []
            switch changed.parts[number] {
            case .kept(let positions): pieces = positions.map { .kept($0) }
            case .read(let range): try blocks.encode { try rows.read(range, into: blocks) }
            }
            guard queue.put(pieces, at: number) else { return }
        }
    }

    /// What tells how many entities are encoded; nil if nobody asks.
    ///
    /// A first export counts its rows, which takes a small part of the time that reading them takes. It counts before other threads read through
    /// the same connection.
    private func counter(_ transaction: LocalTransaction) throws -> ((Int) -> Void)? {
        guard let progress else { return nil }
        let expected = try previous?.index.recordCount ?? transaction.rows.rowCount(of: schema)
        return { progress(SyncProgress(step: .encode, dataset: schema.name, entityCount: $0, expectedCount: expected)) }
    }

    // Writes the blocks in order. Nothing is written as long as all blocks are the last snapshot's, in its order.
    private func assemble(
        _ queue: OrderedQueue<[Piece]>, blockEntities: Int, after previous: PreviousSnapshot?, into asset: any AssetWriter, in transaction: LocalTransaction,
        _ progress: ((Int) -> Void)?, doubting doubt: (_ recordCount: Int) throws -> Outcome?
    ) throws -> Outcome {
        var writer = AssetAssembler(schema: schema, syncTimestamp: syncTimestamp, blockEntities: blockEntities, previous: previous, asset: asset)
        while let pieces = try queue.take() {
            for piece in pieces {
                try SyncError.at(.store) {
                    switch piece {
                    case .kept(let position): try writer.keep(position)
                    case .compressed(let block): try writer.append(block)
                    }
                }
            }
            progress?(writer.recordCount)
        }
        if let doubt = try doubt(writer.recordCount) {
            asset.abandon()
            return doubt
        }
        let tail = try makeTail(transaction)
        if tail.byteCount > rule.tailBytes, tail.instantByteCount > 0 {
            asset.abandon()
            return .tooManyInstants
        }
        return try SyncError.at(.store) { try writer.finish(tail, isNew: previous?.isWhole == false || hasNews(transaction)) }
    }

    /// Whether a version is justified though no row differs. A later instant is enough: another device, even a reader, may have changed a row that was
    /// changed here and then reverted.
    private func hasNews(_ transaction: LocalTransaction) throws -> Bool {
        try transaction.held.hasWaiting(of: schema) || transaction.changeLog.hasNewDeletions(of: schema) || transaction.changeLog.hasNewInstants(of: schema)
    }

    /// Returns the tombstones and instants that belong to the rows of this state.
    private func makeTail(_ transaction: LocalTransaction) throws -> SnapshotTailBuilder {
        var tail = SnapshotTailBuilder()
        // A publisher's own held rows are staged. Those in a backup need not be.
        var waiting: [EntityKey: String] = [:]
        for row in try transaction.waiting.rows(of: schema) where try transaction.changeLog.change(of: row.key, in: schema)?.isDeletion != false {
            waiting[row.key] = row.entity
        }
        try transaction.tombstonesAndInstants.forEachTombstone(of: schema) { key, at in
            if waiting[key] != nil { return }
            if let horizon, at < horizon { return }
            tail.addDeletion(of: key, at: at)
        }
        try addHeld(to: &tail, waiting, in: transaction)
        try tail.addInstants(of: schema, in: transaction, joiningBeyond: rule.singleInstants)
        return tail
    }

    private func addHeld(to tail: inout SnapshotTailBuilder, _ waiting: [EntityKey: String], in transaction: LocalTransaction) throws {
        var entities = waiting
        try transaction.held.forEach(of: schema) { key, entity, _ in entities[key] = entities[key] ?? entity }
        for one in entities.sorted(by: { $0.key < $1.key }) { try tail.addHeld(one.value, of: schema) }
    }

    private func makeSource(_ reader: DatasetReader, _ cutter: BlockCutter) throws -> any BlockSource {
        if shape.hasRangeableKey, try reader.transaction.rows.hasRows(schema, moreThan: 5000) {
            let blockBytes = previous.flatMap { BlockSizing.meanBlockBytes($0.index) } ?? BlockSizing.targetBytes
            let sorted = try SortedBlockSource(session, reader, schema: schema, shape: shape, by: cutter, meanBlockBytes: blockBytes)
            if let sorted { return sorted }
            if session.readerCount > 1 {
                return RangeBlockSource(session: session, cursor: try reader.keys(of: schema), schema: schema, cutter: cutter)
            }
        }
        return RowBlockSource(rows: try reader.rows(of: schema), schema: schema, cutter: cutter, workerCount: WorkerThreads.count)
    }

    /// Returns the last snapshot's block size while it fits; else one based on the size of the first entities.
    private func chooseBlockEntities(_ reader: DatasetReader) throws -> Int {
        if let index = previous?.index { return BlockSizing.blockEntities(after: index) }
        let probe = BlockSizeProbe(schema: schema)
        let rows = try reader.rows(of: schema)
        while !probe.isComplete, try rows.next(into: probe) {}
        rows.end()
        return probe.blockEntities
    }
}

/// Transfers a value to another thread that has exclusive use of it until it ends.
package struct UnsafeTransfer<Value>: @unchecked Sendable {
    // SAFETY: while the receiver's thread has the value, the sender waits or does not touch it.
    package let value: Value

    package init(_ value: Value) { self.value = value }
}

/// The blocks of the last snapshot asset that can be copied without reading their rows, and the key ranges that must be read. Both follow from
/// the keys that were changed since that asset was made.
///
/// Keys alone decide where a block ends, unless the block is full. So the blocks between two such cuts depend on no row outside.
struct ChangedBlocks: Sendable {
    /// A part of the new asset. The parts are in key order.
    enum Part: Sendable {
        /// The blocks of the last snapshot asset at these positions.
        case kept(Range<Int>)
        /// The rows with keys in this range.
        case read(KeyRange)
    }

    /// The largest number of changed keys to consider. With more, all rows are read.
    static let keyLimit = 100_000

    let parts: [Part]
    /// The number of copied blocks.
    let keptCount: Int

    /// Decides for each run of blocks between two cuts.
    ///
    /// - Parameters:
    ///   - touched: every key whose entity may have been changed, inserted or deleted since the asset was made, ascending.
    ///   - cutKey: the key of the cut rule in a sealed zone.
    /// - Returns: nil if reading all rows costs no more.
    init?(_ index: SnapshotIndex, touched: [EntityKey], cutKey: CutKey? = nil) {
        let cutter = BlockCutter(blockEntities: index.blockEntities, cutKey: cutKey)
        // The end of a full block depends on the rows before it and not on a key, so the block stays with its neighbours.
        let starts = index.blocks.indices.filter { $0 == 0 || cutter.cuts(before: index.blocks[$0].firstKey) }
        guard !starts.isEmpty else { return nil }
        var isTouched = [Bool](repeating: false, count: starts.count)
        var isJoined = isTouched
        var run = 0
        for key in touched {
            while run + 1 < starts.count, !(key < index.blocks[starts[run + 1]].firstKey) { run += 1 }
            isTouched[run] = true
            // If the key at a cut was deleted, the cut is gone.
            if run > 0, key == index.blocks[starts[run]].firstKey { (isTouched[run - 1], isJoined[run]) = (true, true) }
        }
        var parts: [Part] = []
        var keptCount = 0
        run = 0
        while run < starts.count {
            let begin = run
            repeat { run += 1 } while run < starts.count && (isTouched[begin] ? isJoined[run] : !isTouched[run])
            let end = run < starts.count ? starts[run] : index.blocks.count
            if isTouched[begin] {
                let first = begin == 0 ? nil : index.blocks[starts[begin]].firstKey
                parts.append(.read(KeyRange(number: parts.count, first: first, next: end < index.blocks.count ? index.blocks[end].firstKey : nil)))
            } else {
                keptCount += end - starts[begin]
                parts.append(.kept(starts[begin]..<end))
            }
        }
        guard keptCount > 0, keptCount * 2 >= index.blocks.count else { return nil }
        self.parts = parts
        self.keptCount = keptCount
    }
}

extension ChangedBlocks {
    /// Finds the parts for a dataset in one state of the database. Returns nil if the set of changed keys may be incomplete, or if reading all
    /// rows costs no more.
    ///
    /// This relies on the invariant that the rows are the applied version plus the tracked changes. Code that finds a reason to doubt this marks
    /// the dataset's tracking as incomplete.
    init?(_ previous: PreviousSnapshot, of schema: DatasetSchema, in reader: DatasetReader) throws {
        let transaction = reader.transaction
        guard let changes = previous.changes, previous.index.describes(schema), try transaction.changeLog.isComplete(of: schema),
            try transaction.changeLog.count(of: schema, upTo: Self.keyLimit) < Self.keyLimit, try !transaction.rows.hasNullKeys(schema)
        else { return nil }
        var touched = Set(try transaction.changeLog.changes(of: schema, in: KeyRange(number: 0, first: nil, next: nil)).map(\.key))
        for asset in changes {
            // If the asset is damaged, code that needs it reports that. Here, all rows can be read instead.
            guard let set = try? asset.read(schema) else { return nil }
            touched.formUnion(set.keys)
            guard touched.count < Self.keyLimit else { return nil }
        }
        self.init(previous.index, touched: touched.sorted(), cutKey: previous.reader.boxes?.cutKey)
        // If no row is left before them, one of the kept blocks would become the file's first block, which has other bytes.
        if case .read(let range) = parts.first, try !transaction.rows.hasRows(schema, in: range) { return nil }
    }
}

/// The last snapshot asset of a dataset. Its unchanged blocks are copied as bytes instead of being compressed again.
package struct PreviousSnapshot: Sendable {
    let index: SnapshotIndex
    let reader: any AssetReader
    /// Whether it is the whole last version; false if change assets follow it.
    let isWhole: Bool
    /// The change assets that follow it, oldest first; nil if all rows must be read whatever the tracked changes say.
    var changes: [ChangeAsset]?

    /// Returns the position of the block whose bytes would be the same; nil if there is none.
    func match(_ block: RawBlock, isFirst: Bool) -> Int? {
        guard let key = block.firstKey, let position = position(of: key) else { return nil }
        let entry = index.blocks[position]
        // The first block of a file begins with another separator than the others.
        guard isFirst == (position == 0), entry.count == block.count, entry.member.rawSHA256 == block.rawSHA256 else { return nil }
        return position
    }

    private func position(of key: EntityKey) -> Int? {
        let position = index.blocks.partitioningIndex { !($0.firstKey < key) }
        return position < index.blocks.count && index.blocks[position].firstKey == key ? position : nil
    }
}
