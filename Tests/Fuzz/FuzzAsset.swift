import SnapshotFormat
import SnapshotModel

/// A snapshot asset as a forger would make it: JSON cut into head, one block and tail, and compressed and indexed with the hashes
/// that fit, so that every parser behind the index is reached.
struct FuzzAsset {
    /// One member: its JSON, without the separator in front of a block, and its entry.
    struct Part {
        let text: UnsafeRawBufferPointer
        let isBlock: Bool
        let entry: MemberEntry
    }

    let schema: DatasetSchema
    let index: SnapshotIndex
    let file: [UInt8]
    let parts: [Part]

    private static let compressors = [MemberCompressor(), MemberCompressor(engine: .zlib)]

    /// nil if the text is not to be cut so; throws where the index breaks a rule. The bytes outlive the asset.
    init?(_ bytes: UnsafeRawBufferPointer, engine: Int = 0) throws {
        let compressor = Self.compressors[engine]
        guard let bracket = bytes.firstIndex(of: UInt8(ascii: "[")) else { return nil }
        let headEnd = bracket + 1
        let tailStart = bytes.indices.dropFirst(headEnd).last { bytes[$0] == UInt8(ascii: "\n") && $0 + 1 < bytes.count && bytes[$0 + 1] == UInt8(ascii: "]") }
        guard let tailStart else { return nil }
        var file: [UInt8] = []
        var parts: [Part] = []
        func add(_ range: Range<Int>, isBlock: Bool = false) throws -> MemberEntry {
            let whole = UnsafeRawBufferPointer(rebasing: bytes[range])
            let text = UnsafeRawBufferPointer(rebasing: whole.dropFirst(isBlock ? 1 : 0))
            let member = try compressor.compress(whole)
            let entry = MemberEntry(
                offset: file.count, length: member.bytes.count, rawLength: range.count, sha256: ContentHash(of: member.bytes), rawSHA256: ContentHash(of: text))
            withExtendedLifetime(member) { file += Array(member.bytes) }
            parts.append(Part(text: text, isBlock: isBlock, entry: entry))
            return entry
        }
        let schema = FuzzSchema.named(in: bytes)
        let head = try add(0..<headEnd)
        var blocks: [BlockEntry] = []
        if tailStart > headEnd, let (key, count) = FuzzBlock.contents(of: UnsafeRawBufferPointer(rebasing: bytes[headEnd..<tailStart]), schema) {
            blocks = [BlockEntry(firstKey: key, count: count, member: try add(headEnd..<tailStart, isBlock: true))]
        }
        let tail = try add(tailStart..<bytes.count)
        index = try SnapshotIndex(schema: schema, blockEntities: 400, header: head, blocks: blocks, tail: tail)
        (self.schema, self.file, self.parts) = (schema, file, parts)
    }

    /// Reads the asset as its index says, from end to end.
    func verify() throws { try readAsset(file, of: index, as: schema, isWhole: true) }
}
