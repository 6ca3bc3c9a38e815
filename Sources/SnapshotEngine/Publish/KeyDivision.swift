import LocalStore
import Platform
import SnapshotFormat
import SnapshotModel

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
        _ session: ReadSession, _ reader: DatasetReader, schema: DatasetSchema, rowid: String, _ cutter: BlockCutter, blocks: Int, sample: [EntityKey]
    ) throws {
        let all = KeyRange(number: 0, first: nil, next: nil)
        let read = { @Sendable (reader: DatasetReader, range: KeyRange) in try KeyDivision(reader, schema, rowid, within: range, cutter, blocks) }
        guard session.readerCount > 1, let middle = try Self.cut(after: sample.sorted(), reader, schema, cutter) else {
            self = try read(reader, all)
            return
        }
        let upper = OneTimeWork { try session.withReader(1) { try read($0, KeyRange(number: 0, first: middle, next: nil)) } }
        self = try BlockingThreads.run(1, { _ in upper.run() }) { try read(reader, KeyRange(number: 0, first: nil, next: middle)) }
        add(try upper.outcome())
    }

    private init(_ reader: DatasetReader, _ schema: DatasetSchema, _ rowid: String, within range: KeyRange, _ cutter: BlockCutter, _ blocks: Int) throws {
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
    private static func cut(after keys: [EntityKey], _ reader: DatasetReader, _ schema: DatasetSchema, _ cutter: BlockCutter) throws -> EntityKey? {
        guard !keys.isEmpty else { return nil }
        return try reader.keys(of: schema, within: KeyRange(number: 0, first: keys[keys.count / 2], next: nil)).next { cutter.cuts(before: $0) }?.next
    }
}
