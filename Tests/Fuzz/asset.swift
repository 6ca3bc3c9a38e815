import SnapshotFormat
import SnapshotModel

private let compressor = try? MemberCompressor(level: 1)

/// Snapshot assets behind their hashes: the input is the JSON, cut into head, one block and tail, and compressed and indexed here
/// as a forger would, so that every parser behind the index is reached.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    guard let compressor, let bracket = bytes.firstIndex(of: UInt8(ascii: "[")) else { return }
    let headEnd = bracket + 1
    let tailStart = bytes.indices.dropFirst(headEnd).last { bytes[$0] == UInt8(ascii: "\n") && $0 + 1 < bytes.count && bytes[$0 + 1] == UInt8(ascii: "]") }
    guard let tailStart else { return }
    let schema = FuzzSchema.named(in: bytes)
    do {
        var file: [UInt8] = []
        func member(_ range: Range<Int>, separator: Int = 0) throws -> MemberEntry {
            let text = UnsafeRawBufferPointer(rebasing: bytes[range])
            let member = try compressor.compress(text)
            let raw = UnsafeRawBufferPointer(rebasing: text.dropFirst(separator))
            let entry = MemberEntry(
                offset: file.count, length: member.bytes.count, rawLength: range.count, sha256: ContentHash(of: member.bytes), rawSHA256: ContentHash(of: raw))
            file += Array(member.bytes)
            return entry
        }
        let head = try member(0..<headEnd)
        var blocks: [BlockEntry] = []
        if tailStart > headEnd, let (key, count) = FuzzBlock.contents(of: UnsafeRawBufferPointer(rebasing: bytes[headEnd..<tailStart]), schema) {
            blocks = [BlockEntry(firstKey: key, count: count, member: try member(headEnd..<tailStart, separator: 1))]
        }
        let tail = try member(tailStart..<bytes.count)
        let index = try SnapshotIndex(schema: schema, blockEntities: 400, header: head, blocks: blocks, tail: tail)
        let decoded = try SnapshotIndex.decode(index.encode())
        expect(decoded == index, "an index that is made reads as itself")
        let reader = try SnapshotReader(index: index, schema: schema) { offset, target in
            target.copyBytes(from: file[offset..<offset + target.count])
        }
        _ = try reader.verify(byteCount: file.count)
    } catch {}
}
