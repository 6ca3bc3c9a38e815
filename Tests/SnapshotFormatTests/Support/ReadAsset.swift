import Sealing
import SnapshotFormat
import SnapshotModel
import StrictText

/// Reads a snapshot asset from end to end, checks every byte, and passes on each block; `take` may use it only during the call.
///
/// - Parameter isWhole: whether there must be no bytes and no fields that the index does not name.
@discardableResult
func readAsset(
    _ bytes: some Collection<UInt8>, of index: SnapshotIndex, as schema: DatasetSchema, boxes: DatasetBoxes? = nil, isWhole: Bool = false,
    take: (EntityBlock) throws -> Void = { _ in }
) throws -> (header: SnapshotHeader, tail: SnapshotTail) {
    let members = MemberReader(boxes: boxes), parser = BlockParser(schema: schema), text = ByteBuffer(), block = EntityBlock()
    func check(_ isTrue: Bool, _ place: String) throws { if !isTrue { throw SyncError(format: .damaged, at: place, "it does not fit the index") } }
    func inflate(_ entry: MemberEntry, _ place: String, into raw: ByteBuffer, without separator: Int = 0) throws {
        try Array(bytes.dropFirst(entry.offset).prefix(entry.length)).withUnsafeBytes { try members.inflate($0, entry: entry, name: place, into: raw) }
        try check(ContentHash(of: UnsafeRawBufferPointer(rebasing: raw.bytes.dropFirst(separator))) == entry.rawSHA256, place)
    }
    if isWhole { try check(bytes.count == index.size, "length") }
    try inflate(index.header, "header", into: text)
    let header = try SnapshotHeader.parse(text.bytes)
    try check(header.dataset == index.dataset, "header")
    for (number, entry) in index.blocks.enumerated() {
        try inflate(entry.member, "block \(number)", into: block.raw, without: number == 0 ? 1 : 2)
        try parser.parse(block, number: number, of: index)
        if isWhole { try check(block.unknownFieldNames.isEmpty, "block \(number)") }
        try take(block)
    }
    try inflate(index.tail, "tail", into: text)
    return (header, try SnapshotTail.read(text.bytes, .init(index, at: header.syncTimestamp)))
}
