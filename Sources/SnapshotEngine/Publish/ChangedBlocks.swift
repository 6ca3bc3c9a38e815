import CloudStore
import LocalStore
import Sealing
import SnapshotFormat
import SnapshotModel
import SnapshotVersions

/// Which blocks of the last snapshot asset can be taken over unread, and which ranges of keys have to be read, told from the keys
/// that were touched since that asset was made.
///
/// Blocks are cut by their keys alone, but for a full one; so what lies between two cuts depends on nothing outside.
struct ChangedBlocks: Sendable {
    /// A part of the new asset; the parts follow one another in the order of keys.
    enum Part: Sendable {
        /// These blocks of the last snapshot asset, by position.
        case kept(Range<Int>)
        /// The rows of these keys.
        case read(KeyRange)
    }

    /// The most keys that are looked at; beyond that all rows are read.
    static let keyLimit = 100_000

    let parts: [Part]
    /// How many blocks are taken over.
    let keptCount: Int

    /// Decides for each run of blocks between two cuts.
    ///
    /// - Parameters:
    ///   - touched: every key whose entity may have changed, come or gone since the asset was made, ascending.
    ///   - cutKey: a sealed zone's.
    /// - Returns: nil where reading all rows is no worse.
    init?(_ index: SnapshotIndex, touched: [EntityKey], cutKey: CutKey? = nil) {
        let cutter = BlockCutter(blockEntities: index.blockEntities, cutKey: cutKey)
        // A full block ends where the rows before it say, not where a key does: it belongs to its neighbours.
        let starts = index.blocks.indices.filter { $0 == 0 || cutter.cuts(before: index.blocks[$0].firstKey) }
        guard !starts.isEmpty else { return nil }
        var isTouched = [Bool](repeating: false, count: starts.count)
        var isJoined = isTouched
        var run = 0
        for key in touched {
            while run + 1 < starts.count, !(key < index.blocks[starts[run + 1]].firstKey) { run += 1 }
            isTouched[run] = true
            // Should the key at a cut be gone, so is the cut.
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
    /// The parts for a dataset in one state of the database; nil where it is not certain that what was touched is known, or where
    /// reading all rows is no worse.
    ///
    /// It rests on the invariant: the rows are the applied version and the tracked changes. Whatever puts that in doubt has the
    /// dataset's completeness forgotten.
    init?(_ previous: PreviousSnapshot, of schema: DatasetSchema, in reader: DatasetReader) throws {
        let transaction = reader.transaction
        guard let changes = previous.changes, previous.index.describes(schema), try transaction.changeLog.isComplete(of: schema),
            try transaction.changeLog.count(of: schema, upTo: Self.keyLimit) < Self.keyLimit, try !transaction.rows.hasNullKeys(schema)
        else { return nil }
        var touched = Set(try transaction.changeLog.changes(of: schema, in: KeyRange(number: 0, first: nil, next: nil)).map(\.key))
        for asset in changes {
            // What is wrong with it is for those to say who need it; here the rows say all.
            guard let set = try? asset.read(schema) else { return nil }
            touched.formUnion(set.keys)
            guard touched.count < Self.keyLimit else { return nil }
        }
        self.init(previous.index, touched: touched.sorted(), cutKey: previous.reader.boxes?.cutKey)
        // Without a row before them, the blocks that were not first would be.
        if case .read(let range) = parts.first, try !transaction.rows.hasRows(schema, in: range) { return nil }
    }
}
