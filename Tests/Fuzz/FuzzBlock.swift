import SnapshotFormat
import SnapshotModel

/// A block's JSON, parsed twice: once to learn what an honest index would say of it, and again as that index says.
enum FuzzBlock {
    private static let emptyHash = ContentHash(of: UnsafeRawBufferPointer(start: nil, count: 0))

    /// The first key and the number of entities; nil if the text is refused.
    static func contents(of text: UnsafeRawBufferPointer, _ schema: DatasetSchema) -> (EntityKey, Int)? {
        let block = EntityBlock()
        block.raw.append(text)
        let parser = BlockParser(schema: schema)
        func entry(_ key: EntityKey, _ count: Int) -> BlockEntry {
            BlockEntry(
                firstKey: key, count: count,
                member: MemberEntry(offset: 0, length: text.count, rawLength: text.count, sha256: emptyHash, rawSHA256: emptyHash))
        }
        _ = try? parser.parse(block, entry: entry(.integer(0), -1), number: 0, nextFirstKey: nil)
        guard let key = block.firstKey else { return nil }
        let count = block.count
        guard (try? parser.parse(block, entry: entry(key, count), number: 0, nextFirstKey: nil)) != nil else { return nil }

        // What was taken is written again, read again, and must be the same by then.
        let first = CanonicalText(schema)
        guard (try? block.send(to: first)) != nil else { return nil }
        expect(first.lines.count == count, "as many entities are given as were counted")
        for line in first.lines {
            let again = CanonicalText(schema)
            let text = String(decoding: line.dropFirst(), as: UTF8.self)
            expect((try? EntityDocument.send(text, of: schema, to: again)) != nil, "an entity that is written is read")
            expect(again.lines == [line], "an entity that is written and read is the same")
        }
        return (key, count)
    }
}
