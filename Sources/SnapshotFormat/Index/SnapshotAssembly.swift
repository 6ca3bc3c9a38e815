package import Sealing
package import SnapshotModel
package import StrictText

/// Assembles a snapshot asset in order (head, blocks, tail) and makes its index.
///
///     let assembly = try SnapshotAssembly(schema: schema, syncTimestamp: now, blockEntities: 400) { try file.write($0) }
///     for block in blocks { try assembly.append(block) }
///     let index = try assembly.end()
///
/// Memory: the index. One thread at a time; the blocks are compressed elsewhere.
package final class SnapshotAssembly: @unchecked Sendable {
    // SAFETY (of @unchecked Sendable): the owner uses it on one thread at a time.

    private let schema: DatasetSchema
    private let syncTimestamp: Instant
    private let blockEntities: Int
    private let compressor: MemberCompressor
    private let write: (UnsafeRawBufferPointer) throws -> Void
    private let header: MemberEntry
    private var blocks: [BlockEntry] = []
    private var lastKey: EntityKey?
    private var isEnded = false
    /// The number of bytes written.
    package private(set) var byteCount = 0
    /// The number of entities in the blocks so far.
    package private(set) var recordCount = 0

    /// Begins an asset and writes its head. `write` gets each member of the file once, in order.
    ///
    /// - Parameter boxes: encrypts head and tail of an asset in a sealed zone; its blocks are already encrypted.
    package init(
        schema: DatasetSchema, syncTimestamp: Instant, blockEntities: Int, boxes: DatasetBoxes? = nil,
        write: @escaping (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        self.schema = schema
        self.syncTimestamp = syncTimestamp
        self.blockEntities = blockEntities
        self.write = write
        compressor = MemberCompressor(boxes: boxes)
        var text = SnapshotHeader(syncTimestamp: syncTimestamp, dataset: schema.name).text
        let compressor = compressor
        let member = try text.withUTF8 { try compressor.compress(UnsafeRawBufferPointer($0)) }
        header = member.entry
        try write(member.bytes)
        byteCount = header.length
    }

    /// Adds the next block.
    ///
    /// - Throws: ``SyncError`` with `.outOfOrder` if its keys do not all come after the previous block's, `.misuse` if it was compressed for
    ///   another position; what `write` throws.
    package func append(_ block: CompressedBlock) throws {
        try append(block.entry, block.bytes, isFirst: block.isFirst, lastKey: block.lastKey, through: write)
    }

    /// Adds an unchanged block of the last snapshot asset by copying its bytes.
    ///
    /// - Parameters:
    ///   - number: the block's number in `previous`, from 0. A first block can only be copied to the first position.
    ///   - bytes: the block's member in the last asset; checked against the index.
    ///   - lastKey: the block's last key, if known; it completes the check of the order.
    ///   - copy: takes the bytes instead of `write`, if there is a cheaper way to copy bytes of the last asset.
    /// - Throws: ``SyncError`` with `.hashMismatch`, `.outOfOrder` or `.misuse`; what `write` or `copy` throws.
    package func appendCopied(
        block number: Int, of previous: SnapshotIndex, bytes: UnsafeRawBufferPointer, lastKey: EntityKey? = nil,
        through copy: ((UnsafeRawBufferPointer) throws -> Void)? = nil
    ) throws {
        let entry = previous.blocks[number]
        guard bytes.count == entry.member.length, ContentHash(of: bytes) == entry.member.sha256 else {
            throw SyncError(
                format: .hashMismatch, at: "\(schema.name), block \(number) of the last snapshot", "its bytes are not those that the index names",
                hint: "export the whole dataset anew")
        }
        try append(entry, bytes, isFirst: number == 0, lastKey: lastKey, through: copy ?? write)
    }

    /// Writes the tail (by default one without tombstones and instants) and returns the index.
    ///
    /// - Throws: ``SyncError`` with `.tooLarge`, or `.badRow` if no device could read the tail; what `write` throws.
    package func end(_ tail: SnapshotTailBuilder = SnapshotTailBuilder()) throws -> SnapshotIndex {
        try requireOpen()
        isEnded = true
        let member = try tail.text(readAs: .init(schema, columns: schema.columns, at: syncTimestamp)).withBytes { try compressor.compress($0) }
        let tail = member.entry.moved(to: byteCount)
        try write(member.bytes)
        byteCount += tail.length
        return try SnapshotIndex(schema: schema, blockEntities: blockEntities, header: header, blocks: blocks, tail: tail)
    }

    private func append(
        _ entry: BlockEntry, _ bytes: UnsafeRawBufferPointer, isFirst: Bool, lastKey: EntityKey?, through write: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        try requireOpen()
        guard isFirst == blocks.isEmpty else {
            throw SyncError(
                format: .misuse, at: "\(schema.name), block \(blocks.count)",
                isFirst ? "a first block was given for a later place" : "a later block was given for the first place")
        }
        if let before = self.lastKey, !(before < entry.firstKey) {
            throw SyncError(
                format: .outOfOrder, at: "\(schema.name), block \(blocks.count)",
                "its first key \(entry.firstKey) does not come after \(before)",
                hint: "the key's column must be unique and of collation BINARY, and the ranges of keys be joined in order")
        }
        try write(bytes)
        blocks.append(BlockEntry(firstKey: entry.firstKey, count: entry.count, member: entry.member.moved(to: byteCount)))
        self.lastKey = lastKey ?? entry.firstKey
        byteCount += bytes.count
        recordCount += entry.count
    }

    private func requireOpen() throws {
        guard !isEnded else { throw SyncError(format: .misuse, at: schema.name, "the asset has ended") }
    }
}
