import Foundation
package import LocalStore
package import LocalTables
import Platform
package import SnapshotFormat
package import SnapshotModel
import StrictText

/// Finds the blocks of a version that differ from a table's rows. It hashes the rows and reads no block.
///
/// The index's first keys cut the table into ranges that cover all keys, so a row that the version lacks falls into some block's range, too.
/// Memory: one block per worker.
package struct BlockComparison: Sendable {
    let schema: DatasetSchema
    let index: SnapshotIndex
    /// Connections that read the state of the database to compare.
    let session: ReadSession

    package init(schema: DatasetSchema, index: SnapshotIndex, session: ReadSession) {
        (self.schema, self.index, self.session) = (schema, index, session)
    }

    /// Number of blocks that are compared first, to find out whether reading block by block is worthwhile.
    static let sampleCount = 32

    /// The numbers of the blocks that differ, ascending; nil if so many differ that reading the whole version is cheaper.
    package func differingBlocks() throws -> [Int]? {
        let all = Array(index.blocks.indices)
        guard all.count > Self.sampleCount else { return try differing(of: all) }
        let sample = (0..<Self.sampleCount).map { $0 * all.count / Self.sampleCount }
        let sampled = try differing(of: sample)
        guard sampled.count <= Self.sampleCount / 2 else { return nil }
        let seen = Set(sample)
        return try (sampled + differing(of: all.filter { !seen.contains($0) })).sorted()
    }

    /// The numbers of all blocks that differ, however many.
    package func allDifferences() throws -> [Int] {
        try differing(of: Array(index.blocks.indices))
    }

    private func differing(of numbers: [Int]) throws -> [Int] {
        let queue = OrderedQueue<Bool>(window: numbers.count)
        queue.finish(at: numbers.count)
        return try BlockingThreads.run(
            min(session.readerCount, numbers.count),
            { worker in
                do {
                    try session.withReader(worker) { reader in
                        let rows = reader.ranges(of: schema)
                        let hasher = RangeHasher(schema: schema)
                        while let position = queue.claim(below: numbers.count) {
                            let isSame = try compare(numbers[position], in: rows, by: hasher)
                            guard queue.put(isSame, at: position) else { return }
                        }
                    }
                } catch {
                    queue.fail(SyncError(error, step: .read))
                }
            }
        ) {
            var differing: [Int] = []
            for number in numbers {
                if try queue.take() == false { differing.append(number) }
            }
            return differing
        }
    }

    private func compare(_ number: Int, in rows: RangeReader, by hasher: RangeHasher) throws -> Bool {
        hasher.begin(index.blocks[number])
        do {
            try rows.read(index.range(ofBlock: number), into: hasher)
            return hasher.isSame
        } catch is RangeHasher.Differs {
            return false
        }
    }
}

extension SnapshotIndex {
    /// The keys that belong to a block: from its first key to the next block's first key. An asset without blocks has one range, which covers
    /// all keys.
    package func range(ofBlock number: Int) -> KeyRange {
        KeyRange(
            number: number, first: number == 0 ? nil : blocks[number].firstKey, next: number + 1 < blocks.count ? blocks[number + 1].firstKey : nil)
    }
}
