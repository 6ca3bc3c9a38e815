import CloudStore
import SnapshotFormat
import SnapshotModel
import SnapshotVersions

/// The last snapshot asset of a dataset, whose unchanged blocks are copied as bytes instead of compressed again.
package struct PreviousSnapshot: Sendable {
    let index: SnapshotIndex
    let reader: any AssetReader
    /// Whether it is the last version; false if change assets came after it.
    let isWhole: Bool
    /// The change assets that came after it, oldest first; nil where the rows are to be read whatever the tracked changes say.
    var changes: [ChangeAsset]?

    /// The position of a block with the same entities that would be the same bytes, or nil.
    func match(_ block: RawBlock, isFirst: Bool) -> Int? {
        guard let key = block.firstKey, let position = position(of: key) else { return nil }
        let entry = index.blocks[position]
        // The first block of a file begins with another separator than the rest.
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
