package import Sealing
package import SnapshotModel
import StrictText

/// Reads a snapshot asset from end to end on one thread and checks every byte: for inspection, small assets, and `verify`.
///
///     let reader = try SnapshotReader(index: index, schema: schema) { offset, target in try file.read(at: offset, into: target) }
///     while let block = try reader.next() { try block.send(to: sink) }
///     let tail = try reader.tail()
///
/// Memory: one block. To read faster on several cores, give each a ``MemberReader`` and a ``BlockParser``.
package final class SnapshotReader {
    /// The asset's index.
    package let index: SnapshotIndex
    /// The asset's head.
    package let header: SnapshotHeader
    private let read: (Int, UnsafeMutableRawBufferPointer) throws -> Void
    private let members: MemberReader
    private let parser: BlockParser
    private let compressed = ByteBuffer()
    /// The number of the next block.
    private var number = 0

    /// Makes a reader and reads the head.
    ///
    /// - Parameters:
    ///   - schema: the schema by which entities are checked and decoded, for example the index's own.
    ///   - boxes: decrypts the members of a sealed zone.
    ///   - read: fills the buffer with the asset's bytes from an offset on, or throws.
    /// - Throws: ``SyncError``; what `read` throws.
    package init(
        index: SnapshotIndex, schema: DatasetSchema, boxes: DatasetBoxes? = nil, read: @escaping (Int, UnsafeMutableRawBufferPointer) throws -> Void
    ) throws {
        self.index = index
        self.read = read
        members = MemberReader(boxes: boxes)
        parser = BlockParser(schema: schema)
        let text = ByteBuffer()
        try Self.fetch(index.header, into: compressed, read)
        try members.inflate(compressed.bytes, entry: index.header, name: "header", into: text)
        guard ContentHash(of: text.bytes) == index.header.rawSHA256 else { throw Self.rawFault("header") }
        header = try SnapshotHeader.parse(text.bytes)
        guard header.dataset == index.dataset, schema.name == index.dataset else {
            throw SyncError(format: .damaged, at: "header", "dataset, index and schema do not have one name")
        }
    }

    /// Returns the next block, or nil after the last one.
    ///
    /// - Parameter reusing: a block that is no longer needed, whose memory is reused.
    /// - Throws: ``SyncError``, naming block, entity and column; what `read` throws.
    package func next(reusing spare: EntityBlock? = nil) throws -> EntityBlock? {
        guard number < index.blocks.count else { return nil }
        let entry = index.blocks[number].member
        let block = spare ?? EntityBlock()
        block.clear()
        try Self.fetch(entry, into: compressed, read)
        try members.inflate(compressed.bytes, entry: entry, name: "\(index.dataset), block \(number)", into: block.raw)
        let separator = number == 0 ? 1 : 2
        guard block.raw.count > separator,
            ContentHash(of: UnsafeRawBufferPointer(rebasing: block.raw.bytes[separator...])) == entry.rawSHA256
        else { throw Self.rawFault("\(index.dataset), block \(number)") }
        try parser.parse(block, number: number, of: index)
        number += 1
        return block
    }

    /// Reads the tail.
    package func tail() throws -> SnapshotTail {
        let text = ByteBuffer()
        try Self.fetch(index.tail, into: compressed, read)
        try members.inflate(compressed.bytes, entry: index.tail, name: "tail", into: text)
        guard ContentHash(of: text.bytes) == index.tail.rawSHA256 else { throw Self.rawFault("tail") }
        return try SnapshotTail.read(text.bytes, .init(index, at: header.syncTimestamp))
    }

    private static func fetch(
        _ member: MemberEntry, into buffer: ByteBuffer, _ read: (Int, UnsafeMutableRawBufferPointer) throws -> Void
    ) throws {
        buffer.clear()
        buffer.reserve(member.length)
        // SAFETY: the buffer has room for member.length bytes, and is not accessed while `read` writes to it.
        try read(member.offset, UnsafeMutableRawBufferPointer(start: buffer.base, count: member.length))
        buffer.count = member.length
    }

    private static func rawFault(_ place: String) -> SyncError {
        SyncError(
            format: .hashMismatch, at: place, "its JSON does not match the raw hash in the index", hint: "have the writer run: snapsync export --full")
    }
}

extension SnapshotReader {
    /// Reads the rest of the asset, and also checks that it has no unknown fields.
    ///
    /// - Parameter byteCount: the asset's length, if it is known.
    /// - Returns: the counts of the tail.
    /// - Throws: ``SyncError``; what `read` throws.
    package func verify(byteCount: Int?) throws -> SnapshotTail {
        if let byteCount, byteCount != index.size {
            throw SyncError(
                format: byteCount < index.size ? .truncated : .damaged, at: index.dataset, "\(byteCount) bytes instead of \(index.size)",
                hint: "fetch the asset again; else have the writer run: snapsync export --full")
        }
        let block = EntityBlock()
        var number = 0
        while try next(reusing: block) != nil {
            guard block.unknownFieldNames.isEmpty else {
                throw SyncError(format: .damaged, at: "\(index.dataset), block \(number)", "it holds fields that the index does not name")
            }
            number += 1
        }
        return try tail()
    }
}
