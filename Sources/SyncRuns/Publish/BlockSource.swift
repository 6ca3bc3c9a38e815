import Foundation
import LocalStore
import LocalTables
import Sealing
import SnapshotFormat
import SnapshotModel

/// Gives the blocks of a dataset to workers, in runs that are numbered in key order.
protocol BlockSource: Sendable {
    /// The number of workers that is worth running.
    var workerCount: Int { get }
    /// How many runs for each worker may wait for their turn in the asset.
    var waitingRuns: Int { get }
    /// Runs one worker, until no run is left or `end` returns false.
    ///
    /// - Parameters:
    ///   - take: receives each block of the worker's run with this number, in key order. The block is valid only during the call.
    ///   - end: is called after the run's last block.
    func run(worker: Int, take: @escaping (_ number: Int, _ block: RawBlock) throws -> Void, end: (_ number: Int) throws -> Bool) throws
    /// The number of runs, once a worker has reached the end. Stays nil after an error, which ends all workers.
    var runCount: Int? { get }
}

extension BlockSource {
    var waitingRuns: Int { 4 }
}

/// Reads with several connections on one state of the database. A cursor over the keys cuts them into runs; each worker reads and encodes its own
/// runs.
///
/// Reading a rowid table in key order is random access to its pages; that is worth using two cores.
final class RangeBlockSource: BlockSource, @unchecked Sendable {
    // SAFETY: `cursor` and `ended` are touched in `turns` only; everything else is constant.
    private let turns = FailFastMutex()
    private let cursor: KeyCursor
    private let cutter: BlockCutter
    private let session: ReadSession
    private let schema: DatasetSchema
    private var ended: Int?
    // After an error the cursor would start again, and another worker would mistake its result for the end of the dataset.
    let workerCount: Int

    /// Uses the connections 1, 2, … of `session`. `cursor` belongs to connection 0, which the caller holds.
    init(session: ReadSession, cursor: KeyCursor, schema: DatasetSchema, cutter: BlockCutter) {
        self.session = session
        self.cursor = cursor
        self.schema = schema
        self.cutter = cutter
        workerCount = session.readerCount - 1
    }

    var runCount: Int? { turns.look { ended } }

    func run(worker: Int, take: @escaping (Int, RawBlock) throws -> Void, end: (Int) throws -> Bool) throws {
        try session.withReader(worker + 1) { reader in
            let rows = reader.ranges(of: schema)
            var number = 0
            let blocks = BlockStream(schema: schema, cutter: cutter) { try take(number, $0) }
            while let range = try nextRange() {
                number = range.number
                try blocks.encode { try rows.read(range, into: blocks) }
                guard try end(number) else { return }
            }
        }
    }

    private func nextRange() throws -> KeyRange? {
        try turns.take {
            guard ended == nil else { return nil }
            let range = try cursor.next { cutter.cuts(before: $0) }
            if range?.next == nil { ended = cursor.count }
            return range
        }
    }
}

/// Reads one connection in key order. The workers take turns at reading, and compress in parallel.
final class RowBlockSource: BlockSource, @unchecked Sendable {
    // SAFETY: `rows`, `encoder`, `count` and `ended` are touched in `turns` only.
    private let turns = FailFastMutex()
    private let rows: RowReader
    private let encoder: BlockEncoder
    private var count = 0
    private var ended = false
    // After an error the encoder holds part of an entity, and reading would continue after the bad row.
    let workerCount: Int

    init(rows: RowReader, schema: DatasetSchema, cutter: BlockCutter, workerCount: Int) {
        self.rows = rows
        encoder = BlockEncoder(schema: schema, cutter: cutter)
        self.workerCount = workerCount
    }

    var runCount: Int? { turns.look { ended ? count : nil } }

    func run(worker: Int, take: @escaping (Int, RawBlock) throws -> Void, end: (Int) throws -> Bool) throws {
        while let (number, block) = try nextBlock() {
            try take(number, block)
            guard try end(number) else { return }
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

/// Lets workers take turns at a shared value. After the first error, every later turn fails.
///
/// A failed turn leaves the value half changed. A worker that continued could mistake a broken part for a whole one, or the end of that part for
/// the end of all data, before the first error reaches the thread that waits for the result.
final class FailFastMutex: @unchecked Sendable {
    // SAFETY: `failure` is touched under `lock` only.
    private let lock = NSLock()
    private var failure: (any Error)?

    /// Runs `body` while no other turn runs.
    ///
    /// - Throws: what `body` throws, and the same error at every later turn.
    func take<T>(_ body: () throws -> T) throws -> T {
        try lock.withLock {
            if let failure { throw failure }
            do {
                return try body()
            } catch {
                failure = error
                throw error
            }
        }
    }

    /// Reads the shared value, even after an error.
    func look<T>(_ body: () -> T) -> T { lock.withLock(body) }
}
