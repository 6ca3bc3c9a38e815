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
            let cuts = block.cuts(cutter, keyShape)
            guard previousWasFull || cuts.first == 0 else {
                throw FormatError(.damaged, at: place, "it begins where the cut rule does not cut")
            }
            if let entity = cuts.first(where: { $0 > 0 }) {
                throw FormatError(.damaged, at: place, "the cut rule cuts before entity \(entity)")
            }
            let separator = number == 0 ? 1 : 2
            previousWasFull = block.raw.count - separator >= FormatLimits.fullBlockBytes
            number += 1
        }
        return try tail()
    }
}

extension EntityBlock {
    /// The positions of the entities before which the cut rule cuts by key.
    fileprivate func cuts(_ cutter: BlockCutter, _ shape: KeyShape) -> [Int] {
        guard shape.isSimple else { return cutsOfEncodedKeys(cutter, shape) }
        let keyIndex = shape.firstIndex
        var cuts: [Int] = []
        var entity = -1
        for index in 0..<slotCount {
            if slots[index].beginsEntity { entity += 1 }
            guard Int(slots[index].column) == keyIndex else { continue }
            let isCut =
                slots[index].form == .integer
                ? cutter.cuts(beforeIntegerKey: slots[index].integer) : cutter.cuts(beforeTextKey: text(at: index))
            if isCut { cuts.append(entity) }
        }
        return cuts
    }

    private func cutsOfEncodedKeys(_ cutter: BlockCutter, _ shape: KeyShape) -> [Int] {
        let bounds = entityBounds()
        var key: [UInt8] = []
        return (0..<bounds.count - 1).filter { entity in
            encodeKey(shape, slots: bounds[entity]..<bounds[entity + 1], into: &key)
            return key.withUnsafeBytes { cutter.cuts(beforeTextKey: $0) }
        }
    }
}
