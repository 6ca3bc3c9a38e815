import CloudStore
import LocalStore
import Sealing
import SnapshotFormat
import SnapshotModel
import SnapshotVersions

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
