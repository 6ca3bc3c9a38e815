import CloudStore
import SnapshotFormat
import SnapshotModel

/// Reads runs of a version one at a time on the caller's thread. The caller may keep the entities.
package final class VersionCursor {
    private let asset: SnapshotAsset
    private let schema: DatasetSchema
    private var numbers: ArraySlice<Int>
    private let entities: (Int, EntityBlock) throws -> DatasetVersion.Entities
    private var first: DatasetVersion.Entities?
    private let parser: BlockParser
    private let reader: MemberReader
    private let compressed = ByteBuffer()
    private let block = EntityBlock()

    /// - Parameters:
    ///   - first: the entities of a version that has no blocks.
    ///   - entities: combines a block with the version's changes.
    init(
        _ asset: SnapshotAsset, _ blocks: [Int], _ schema: DatasetSchema, first: DatasetVersion.Entities?,
        _ entities: @escaping (Int, EntityBlock) throws -> DatasetVersion.Entities
    ) throws {
        self.asset = asset
        self.schema = schema
        self.first = first
        self.entities = entities
        numbers = blocks[...]
        parser = BlockParser(schema: schema)
        reader = MemberReader(boxes: asset.reader.boxes)
    }

    /// Returns the next run's entities, or nil after the last.
    package func next() throws -> [OwnedEntity]? {
        let owned = OwnedEntities(schema: schema)
        if let first = first.take() {
            try first.give(to: owned)
            return owned.all
        }
        guard let number = numbers.popFirst() else { return nil }
        let entry = asset.index.blocks[number].member
        try asset.fetch(entry, into: compressed)
        block.clear()
        try asset.step(.verify) { try reader.inflate(compressed.bytes, entry: entry, name: "block \(number)", into: block.raw) }
        try asset.step(.decode) { try parser.parse(block, number: number, of: asset.index) }
        try entities(number, block).give(to: owned)
        return owned.all
    }
}
