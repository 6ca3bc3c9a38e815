import Foundation
import LocalStore
import LocalTables
import Platform
import Sealing
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Reads a table in the order of its pages and sorts its entities by key in a scratch file: an external sort.
///
/// Where keys are random, each row that is read in key order is a page of its own, read from the kernel's cache at best and from the disk if the
/// database is larger than memory. This source reads each page once. It divides the keys into ranges of some blocks; the workers encode the rows
/// as they lie, and spill them in runs in which the rows of a range are together; then they sort one range after the other. Whatever goes wrong
/// with the scratch file, the rows can be read in key order, which is only slower.
///
/// Memory: a run for each worker, then a range for each. Space beside the database: that of the dataset's JSON, until the end of the export.
final class SortedBlockSource: BlockSource, @unchecked Sendable {
    /// What decides whether and how to sort.
    struct Limits {
        /// A smaller database is not worth it: its pages are soon in SQLite's cache.
        var databaseBytes = 32 << 20
        /// Entities of which fewer fit into a block have pages of their own in any order.
        var blockEntities = 16
        /// The wanted size of a range; more in a large database, for the sake of fewer and larger pieces in the scratch file. A run is twice as
        /// large.
        var rangeBytes = 1 << 20...4 << 20
        /// The JSON of a database is taken to be at most so many times as large, in quarters.
        var jsonQuarters: UInt64 = 6
        var makeFile: (_ folder: String) throws -> ScratchFile = { try ScratchFile(inFolder: $0) }
    }

    // SAFETY: what changes is touched under `condition`; `readers` belong to one worker at a time.
    private let condition = NSCondition()
    private let session: ReadSession
    private let schema: DatasetSchema
    private let rowid: String
    private let place: String
    private let cutter: BlockCutter
    private let ranges: [KeyRange]
    private let scans: [ClosedRange<Int64>]
    private let keyCount: Int
    private let bounds: KeyBounds
    private let runBytes: Int
    private let runs: SortedRuns
    /// The readers of the only connection that there is; nil if each worker has one of its own.
    private let shared: Readers?
    private let connection = FailFastMutex()
    let workerCount: Int
    let waitingRuns = 2

    private var nextScan = 0
    private var scannerCount = 0
    private var sortedCount = 0
    private var nextRange = 0
    private var spilledCount = 0
    /// Whether the scratch file failed, so that rows are read in key order.
    private var isUnsorted = false
    private var failure: (any Error)?

    /// What reads rows through one connection.
    private struct Readers {
        let table: TableScan
        let keys: RangeReader
    }

    /// Returns nil if sorting does not pay, or cannot be done here.
    ///
    /// - Parameter reader: reader 0 of the session.
    init?(
        _ session: ReadSession, _ reader: DatasetReader, schema: DatasetSchema, shape: TableShape, by cutter: BlockCutter, meanBlockBytes: Int,
        limits: Limits = Limits()
    ) throws {
        guard shape.hasRangeableKey, let rowid = shape.rowidName, cutter.blockEntities >= limits.blockEntities else { return nil }
        let databaseBytes = try reader.databaseByteCount()
        guard databaseBytes >= limits.databaseBytes else { return nil }
        let sample = try reader.sampleKeys(schema, rowid: rowid, count: 15)
        let folder = URL(fileURLWithPath: reader.transaction.path).deletingLastPathComponent().path
        let workerCount = session.readerCount > 1 ? session.readerCount - 1 : WorkerThreads.count
        guard try reader.areRowsScattered(schema, rowid: rowid, after: sample),
            // Twice, so that the export does not take the last of the space from others.
            let room = try? ScratchFile.room(inFolder: folder), room / 2 >= UInt64(databaseBytes) / 4 * limits.jsonQuarters,
            let files = try? (0..<workerCount).map({ _ in try limits.makeFile(folder) })
        else { return nil }
        self.session = session
        self.schema = schema
        self.rowid = rowid
        place = "\(reader.transaction.path), table \(schema.table)"
        self.cutter = cutter

        // Ranges begin where the cut rule begins a block anyway.
        let rangeBytes = min(max(databaseBytes / 1024, limits.rangeBytes.lowerBound), limits.rangeBytes.upperBound)
        runBytes = 2 * rangeBytes
        let keys = try KeyDivision(
            session, reader, schema: schema, rowid: rowid, by: cutter, blocks: max(1, rangeBytes / max(1, meanBlockBytes)), sample: sample)
        ranges = keys.ranges
        keyCount = keys.keyCount
        bounds = KeyBounds(ranges.compactMap(\.next))
        scans = Self.scans(between: keys.rowids)
        runs = SortedRuns(files, rangeCount: bounds.count)
        self.workerCount = workerCount
        if session.readerCount > 1 {
            shared = nil
        } else {
            let ordered = reader.ranges(of: schema)
            for range in Set([0, ranges.count - 1]) where ranges.indices.contains(range) { try ordered.prepare(for: ranges[range]) }
            shared = Readers(table: try reader.scan(of: schema, rowid: rowid), keys: ordered)
        }
    }

    /// Cuts all rowids at those of the ranges' first rows: where keys are random, they lie evenly.
    private static func scans(between rowids: [Int64]) -> [ClosedRange<Int64>] {
        var scans: [ClosedRange<Int64>] = []
        var first = Int64.min
        for rowid in rowids.sorted() where rowid > first {
            scans.append(first...rowid - 1)
            first = rowid
        }
        return scans + [first...Int64.max]
    }

    var runCount: Int? { condition.withLock { failure == nil && sortedCount == ranges.count ? ranges.count : nil } }

    func run(worker: Int, take: @escaping (Int, RawBlock) throws -> Void, end: (Int) throws -> Bool) throws {
        if let shared { return try run(worker: worker, shared, take: take, end: end) }
        try session.withReader(worker + 1) { reader in
            try run(worker: worker, Readers(table: reader.scan(of: schema, rowid: rowid), keys: reader.ranges(of: schema)), take: take, end: end)
        }
    }

    private func run(worker: Int, _ readers: Readers, take: @escaping (Int, RawBlock) throws -> Void, end: (Int) throws -> Bool) throws {
        let memory = SortMemory(runBytes: runBytes)
        try spill(worker, readers, into: memory)
        try noting { try waitForScans() }
        try noting { try sort(readers, memory, take: take, end: end) }
    }

    /// Lets the other workers know of an error.
    private func noting(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            condition.withLock {
                failure = failure ?? error
                condition.broadcast()
            }
            throw error
        }
    }

    /// Reads through a connection, alone if other workers share it.
    private func reading(_ body: () throws -> Void) throws { if shared == nil { try body() } else { try connection.take(body) } }

    // MARK: The rows as they lie

    private func spill(_ worker: Int, _ readers: Readers, into memory: SortMemory) throws {
        condition.withLock { scannerCount += 1 }
        defer {
            condition.withLock {
                scannerCount -= 1
                condition.broadcast()
            }
        }
        let encoder = RecordEncoder(schema: schema, bounds: bounds, memory: memory) { [self] records, slices in
            do {
                try runs.append(records, slices, by: worker)
            } catch {
                // A full disk, for example. The rows can still be read in key order.
                condition.withLock { isUnsorted = true }
            }
        }
        // The others must find an error before they find that nobody scans any more.
        try noting {
            while let scan = try nextScanned() { try reading { try readers.table.read(scan, into: encoder) } }
            try encoder.finish()
            try reading { readers.table.end() }
        }
        condition.withLock { spilledCount += encoder.count }
    }

    private func nextScanned() throws -> ClosedRange<Int64>? {
        try condition.withLock {
            if let failure { throw failure }
            guard !isUnsorted, nextScan < scans.count else { return nil }
            nextScan += 1
            return scans[nextScan - 1]
        }
    }

    private func waitForScans() throws {
        try condition.withLock {
            while failure == nil, scannerCount > 0 || (nextScan < scans.count && !isUnsorted) { condition.wait() }
            if let failure { throw failure }
            // A full disk: the asset needs the space.
            if isUnsorted { runs.close() }
            guard isUnsorted || spilledCount == keyCount else {
                throw SyncError(
                    database: .damaged, at: place, "its index has \(keyCount) keys, and the table \(spilledCount) rows",
                    hint: "check the database: sqlite3 FILE 'PRAGMA integrity_check'")
            }
        }
    }

    // MARK: The rows by key

    private func sort(_ readers: Readers, _ memory: SortMemory, take: @escaping (Int, RawBlock) throws -> Void, end: (Int) throws -> Bool) throws {
        var number = 0
        let blocks = BlockStream(schema: schema, cutter: cutter) { try take(number, $0) }
        let sorter = RecordSorter(memory: memory)
        while let (range, extents) = try nextSorted() {
            number = range.number
            if let extents, load(extents, of: number, into: sorter) {
                try blocks.encode { try sorter.send(to: blocks, isSingle: schema.keyShape.isSingle) }
            } else {
                try reading { try blocks.encode { try readers.keys.read(range, into: blocks) } }
            }
            guard try end(number) else { return }
            let isLast = condition.withLock {
                sortedCount += 1
                return sortedCount == ranges.count
            }
            // Freeing its space takes the system a while; the asset's last bytes are made durable meanwhile.
            if isLast { runs.close() }
        }
    }

    /// Returns false if the scratch files do not give the records back.
    private func load(_ extents: [SortedRuns.Extent], of range: Int, into sorter: RecordSorter) -> Bool {
        (try? sorter.load(runs.byteCount(of: range)) { try runs.read(extents, of: range, into: $0) }) ?? false
    }

    /// The next range, and where its records are; nil for a range that has to be read from the table.
    private func nextSorted() throws -> (KeyRange, [SortedRuns.Extent]?)? {
        try condition.withLock {
            if let failure { throw failure }
            guard nextRange < ranges.count else { return nil }
            nextRange += 1
            let range = ranges[nextRange - 1]
            guard !isUnsorted else { return (range, nil) }
            // Entities that are far larger than the first ones were: better one after the other than in memory together.
            guard runs.byteCount(of: range.number) <= 4 * runBytes else { return (range, nil) }
            return (range, try? runs.extents(of: range.number))
        }
    }
}

/// All keys of a table, divided into ranges of some blocks each. Memory: two keys and a rowid for each range.
struct KeyDivision: Sendable {
    /// The ranges in key order. Each begins where the cut rule begins a block.
    private(set) var ranges: [KeyRange] = []
    /// The rowids of most ranges' first rows, in that order.
    private(set) var rowids: [Int64] = []
    private(set) var keyCount = 0

    /// Reads the keys from their index, on two threads if the session has the connections for that.
    ///
    /// - Parameters:
    ///   - reader: reader 0 of the session.
    ///   - blocks: the number of blocks in a range.
    ///   - sample: some of the keys; the one in the middle is where the second thread begins.
    init(
        _ session: ReadSession, _ reader: DatasetReader, schema: DatasetSchema, rowid: String, by cutter: BlockCutter, blocks: Int, sample: [EntityKey]
    ) throws {
        let all = KeyRange(number: 0, first: nil, next: nil)
        let read = { @Sendable (reader: DatasetReader, range: KeyRange) in try Self(reader, schema, rowid: rowid, within: range, by: cutter, blocks: blocks) }
        guard session.readerCount > 1, let middle = try Self.cut(after: sample.sorted(), reader, schema, by: cutter) else {
            self = try read(reader, all)
            return
        }
        let upper = OneTimeWork { try session.withReader(1) { try read($0, KeyRange(number: 0, first: middle, next: nil)) } }
        self = try BlockingThreads.run(1, { _ in upper.run() }) { try read(reader, KeyRange(number: 0, first: nil, next: middle)) }
        add(try upper.outcome())
    }

    private init(_ reader: DatasetReader, _ schema: DatasetSchema, rowid: String, within range: KeyRange, by cutter: BlockCutter, blocks: Int) throws {
        let cursor = try reader.keys(of: schema, rowid: rowid, within: range)
        var cuts = 0
        while let found = try cursor.next(cuts: { key in
            guard cutter.cuts(before: key) else { return false }
            cuts += 1
            return cuts % blocks == 0
        }) {
            ranges.append(KeyRange(number: found.number, first: found.first, next: found.next ?? range.next))
            if let rowid = cursor.nextRowid { rowids.append(rowid) }
        }
        keyCount = cursor.keyCount
    }

    private mutating func add(_ upper: KeyDivision) {
        ranges += upper.ranges.map { KeyRange(number: ranges.count + $0.number, first: $0.first, next: $0.next) }
        rowids += upper.rowids
        keyCount += upper.keyCount
    }

    /// The first key after the one in the middle that begins a block; nil if there is none.
    private static func cut(after keys: [EntityKey], _ reader: DatasetReader, _ schema: DatasetSchema, by cutter: BlockCutter) throws -> EntityKey? {
        guard !keys.isEmpty else { return nil }
        return try reader.keys(of: schema, within: KeyRange(number: 0, first: keys[keys.count / 2], next: nil)).next { cutter.cuts(before: $0) }?.next
    }
}
