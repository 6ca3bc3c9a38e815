import CloudStore
import SnapshotFormat
import SnapshotModel
import SnapshotVersions

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
        var low = 0, high = index.blocks.count
        while low < high {
            let middle = (low + high) / 2
            if index.blocks[middle].firstKey < key { low = middle + 1 } else { high = middle }
        }
        return low < index.blocks.count && index.blocks[low].firstKey == key ? low : nil
    }
}
