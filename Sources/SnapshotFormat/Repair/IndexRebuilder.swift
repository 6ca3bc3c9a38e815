package import Foundation
package import Sealing
package import SnapshotModel

/// Rebuilds the block index of an undamaged asset.
///
/// The members determine everything except what the columns declare and the mean of the cut rule. The columns come from a description of the
/// dataset, the mean is guessed, and the hash in the commit decides whether the result is right.
package struct IndexRebuilder {
    private let members: [MemberEntry]
    private let blocks: [BlockEntry]
    private let schema: DatasetSchema
    /// The boxes that may have sealed the index, one for each epoch; a single nil if it is not sealed.
    private let epochs: [DatasetBoxes?]

    /// Reads the asset from end to end with a description of its dataset. Memory: the index, and one block.
    ///
    /// - Parameter boxes: decrypts the asset and encrypts its index in a sealed zone.
    /// - Throws: ``FormatError`` if the asset does not fit the description; what `read` throws.
    package init(
        byteCount: Int, schema: DatasetSchema, boxes: DatasetBoxes? = nil, read: @escaping (Int, UnsafeMutableRawBufferPointer) throws -> Void
    ) throws {
        let walk = MemberWalk(byteCount: byteCount, boxes: boxes, read: read)
        let parser = BlockParser(schema: schema)
        var members: [MemberEntry] = []
        var blocks: [BlockEntry] = []
        while let entry = try walk.next() {
            members.append(entry)
            // The first member is the head, and the last one the tail.
            guard members.count > 1, entry.end < byteCount else { continue }
            let block = EntityBlock()
            let number = members.count - 2
            block.raw.append(walk.text.bytes)
            let count = try parser.parse(block, number: number)
            guard let firstKey = block.firstKey else { throw FormatError(.damaged, at: "block \(number)", "it has no entity") }
            let separator = number == 0 ? 1 : 2
            let entities = UnsafeRawBufferPointer(rebasing: walk.text.bytes[separator...])
            blocks.append(
                BlockEntry(
                    firstKey: firstKey, count: count,
                    member: MemberEntry(
                        offset: entry.offset, length: entry.length, rawLength: entry.rawLength, sha256: entry.sha256, rawSHA256: ContentHash(of: entities))))
        }
        guard members.count >= 2 else { throw FormatError(.truncated, at: schema.name, "it has no tail") }
        self.members = members
        self.blocks = blocks
        self.schema = schema
        epochs = boxes?.allEpochs ?? [nil]
    }

    /// The bytes of the index's file; nil if no mean of the cut rule gives this hash.
    ///
    /// - Parameter guesses: likely means. If the index is small, all others are tried after them.
    package func index(sha256: ContentHash, guesses: [Int]) throws -> Data? {
        func encoded(_ blockEntities: Int) throws -> Data {
            try SnapshotIndex(
                schema: schema, blockEntities: blockEntities, header: members[0], blocks: blocks, tail: members[members.count - 1]
            ).encode()
        }
        func right(_ index: Data) throws -> Data? {
            for boxes in epochs {
                let data = try boxes.map { boxes in Data(try FormatError.opening("block index") { () throws(BoxError) in try boxes.seal(index, kind: .index) })
                }
                let file = data ?? index
                if file.withUnsafeBytes({ ContentHash(of: $0) }) == sha256 { return file }
            }
            return nil
        }
        for guess in guesses where (1...FormatLimits.blockEntities).contains(guess) {
            if let data = try right(encoded(guess)) { return data }
        }
        // Only one number differs, so replace it in the bytes of one index.
        let pattern = try encoded(1)
        let label = Data("\"blockEntities\":1,".utf8)
        guard pattern.count <= Self.smallBytes, let place = pattern.firstRange(of: label) else { return nil }
        for mean in 1...FormatLimits.blockEntities {
            var data = pattern
            data.replaceSubrange(place, with: Data("\"blockEntities\":\(mean),".utf8))
            if let data = try right(data) { return data }
        }
        return nil
    }

    /// The maximum size of an index, in bytes, for which every mean is tried.
    private static let smallBytes = 64 << 10
}
