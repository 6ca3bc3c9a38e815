internal import Sealing
internal import SnapshotModel

extension SnapshotReader {
    /// Reads the rest of the asset, and also checks that the cut rule cut the blocks and that they have no unknown fields.
    ///
    /// - Parameter byteCount: the asset's length, if it is known.
    /// - Returns: the counts of the tail.
    /// - Throws: ``FormatError``; what `read` throws.
    package func verify(byteCount: Int?) throws -> SnapshotTail {
        if let byteCount, byteCount != index.size {
            throw FormatError(
                byteCount < index.size ? .truncated : .damaged, at: index.dataset, "\(byteCount) bytes instead of \(index.size)",
                hint: "fetch the asset again; else have the writer run: snapsync export --full")
        }
        let cutter = BlockCutter(blockEntities: index.blockEntities, cutKey: boxes?.cutKey)
        let block = EntityBlock()
        var number = 0
        var previousWasFull = true
        while try next(reusing: block) != nil {
            let place = "\(index.dataset), block \(number)"
            guard block.unknownFieldNames.isEmpty else {
                throw FormatError(.damaged, at: place, "it holds fields that the index does not name")
            }
            let finder = CutFinder(cutter, keyShape)
            try block.give(to: finder)
            guard previousWasFull || finder.cuts.first == 0 else {
                throw FormatError(.damaged, at: place, "it begins where the cut rule does not cut")
            }
            if let entity = finder.cuts.first(where: { $0 > 0 }) {
                throw FormatError(.damaged, at: place, "the cut rule cuts before entity \(entity)")
            }
            let separator = number == 0 ? 1 : 2
            previousWasFull = block.raw.count - separator >= FormatLimits.fullBlockBytes
            number += 1
        }
        return try tail()
    }
}

/// Finds the entities of a block before which the cut rule cuts by key.
private final class CutFinder: EntitySink {
    /// Their positions.
    private(set) var cuts: [Int] = []
    private let cutter: BlockCutter
    private let shape: KeyShape
    private var position = 0
    private var bytes: [UInt8] = []

    init(_ cutter: BlockCutter, _ shape: KeyShape) {
        self.cutter = cutter
        self.shape = shape
    }

    func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        if shape.lendKey(of: values, using: &bytes, cutter.cuts) == true { cuts.append(position) }
        position += 1
    }
}
