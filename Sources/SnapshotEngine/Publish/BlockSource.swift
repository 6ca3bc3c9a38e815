import LocalStore
import Sealing
import SnapshotFormat
import SnapshotModel

/// Gives workers the blocks of a dataset, each run of blocks with its number in the order of keys.
protocol BlockSource: Sendable {
    /// How many workers it is worth to run.
    var workerCount: Int { get }
    /// Runs one worker: hands `take` every run of blocks that falls to it, until there are no more or `take` returns false.
    func run(worker: Int, take: (_ number: Int, _ blocks: [RawBlock]) throws -> Bool) throws
    /// How many runs there are, once a worker has seen the end; nil for good after an error, which ends all workers.
    var runCount: Int? { get }
}

/// Several connections on one state: a cursor over the keys cuts runs, each worker reads and encodes its own.
///
/// For a rowid table in key order, reading is random access to pages, which is worth two cores.
final class RangeBlockSource: BlockSource, @unchecked Sendable {
    // SAFETY: `cursor` and `ended` are touched in `turns` only; everything else is constant.
    private let turns = FailFastMutex()
    private let cursor: KeyCursor
    private let cutter: BlockCutter
    private let cutKey: CutKey?
    private let session: ReadSession
    private let schema: DatasetSchema
    private var ended: Int?
    // After an error the cursor would begin anew, and another worker would take what it then says for the dataset's end.
    let workerCount: Int

    /// Uses the connections 1, 2, … of `session`; `cursor` belongs to connection 0, which the caller holds.
    init(session: ReadSession, cursor: KeyCursor, schema: DatasetSchema, blockEntities: Int, cutKey: CutKey? = nil) {
        self.session = session
        self.cursor = cursor
        self.schema = schema
        self.cutKey = cutKey
        cutter = BlockCutter(blockEntities: blockEntities, cutKey: cutKey)
        workerCount = session.readerCount - 1
    }

    var runCount: Int? { turns.look { ended } }

    func run(worker: Int, take: (Int, [RawBlock]) throws -> Bool) throws {
        try session.withReader(worker + 1) { reader in
            let rows = reader.ranges(of: schema)
            let encoder = BlockEncoder(schema: schema, blockEntities: cutter.blockEntities, cutKey: cutKey)
            while let range = try nextRange() {
                encoder.beginRange()
                try rows.read(range, into: encoder)
                encoder.finish()
                var blocks: [RawBlock] = []
                while let block = encoder.popCompleted() { blocks.append(block) }
                guard try take(range.number, blocks) else { return }
                blocks.forEach(encoder.recycle)
            }
        }
    }

    private func nextRange() throws -> KeyRange? {
        try turns.take {
            guard ended == nil else { return nil }
            let range = try cursor.next { cutter.cuts(beforeTextKey: $0) }
            if range?.next == nil { ended = cursor.count }
            return range
        }
    }
}

/// One connection that is read in key order; workers take turns at reading and compress side by side.
final class RowBlockSource: BlockSource, @unchecked Sendable {
    // SAFETY: `rows`, `encoder`, `count` and `ended` are touched in `turns` only.
    private let turns = FailFastMutex()
    private let rows: RowReader
    private let encoder: BlockEncoder
    private var count = 0
    private var ended = false
    // After an error the encoder ends somewhere in an entity, and the rows would go on behind the bad one.
    let workerCount: Int

    init(rows: RowReader, schema: DatasetSchema, blockEntities: Int, cutKey: CutKey? = nil, workerCount: Int) {
        self.rows = rows
        encoder = BlockEncoder(schema: schema, blockEntities: blockEntities, cutKey: cutKey)
        self.workerCount = workerCount
    }

    var runCount: Int? { turns.look { ended ? count : nil } }

    func run(worker: Int, take: (Int, [RawBlock]) throws -> Bool) throws {
        while let (number, block) = try nextBlock() {
            guard try take(number, [block]) else { return }
            turns.look { encoder.recycle(block) }
        }
    }

    private func nextBlock() throws -> (Int, RawBlock)? {
        try turns.take {
            while true {
                if let block = encoder.popCompleted() {
                    defer { count += 1 }
                    return (count, block)
                }
                if ended { return nil }
                if try !rows.next(into: encoder) {
                    encoder.finish()
                    ended = true
                }
            }
        }
    }
}
