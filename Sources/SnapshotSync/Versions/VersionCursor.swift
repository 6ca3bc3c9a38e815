import SnapshotFormat
import SnapshotModel

/// Reads runs of a version one at a time, on the caller's thread, as entities that the caller may keep.
final class VersionCursor {
    private let asset: SnapshotAsset
    private let schema: DatasetSchema
    private var numbers: ArraySlice<Int>
    private let parser: BlockParser
    private let reader: MemberReader
    private let compressed = ByteBuffer()
    private let block = EntityBlock()

    init(_ asset: SnapshotAsset, _ runs: [Int], _ schema: DatasetSchema) throws {
        self.asset = asset
        self.schema = schema
        numbers = runs[...]
        parser = BlockParser(schema: schema)
        reader = try MemberReader()
    }

    /// Returns the next run's entities, or nil after the last.
    func next() throws -> [OwnedEntity]? {
        guard let number = numbers.popFirst() else { return nil }
        let entry = asset.index.blocks[number].member
        try asset.fetch(entry, into: compressed)
        block.clear()
        try asset.step(.verify) { try reader.inflate(compressed.bytes, entry: entry, name: "block \(number)", into: block.raw) }
        try asset.step(.decode) { try parser.parse(block, number: number, of: asset.index) }
        let entities = OwnedEntities(schema: schema)
        try block.give(to: entities)
        return entities.all
    }
}
