package import Sealing

/// Compresses blocks, and the file's head and tail, into one gzip member each, and encrypts the members in a sealed zone.
///
///     let compressor = try MemberCompressor(level: 1, boxes: asset.boxes)
///     let block = try compressor.compress(raw, isFirst: number == 0)
///
/// Equal input gives an equal member, with the same library in the same version (``DeflateEngine``) and in the same epoch. Memory: the
/// library's. One thread at a time.
package final class MemberCompressor: @unchecked Sendable {
    // SAFETY (of @unchecked Sendable): the owner uses it on one thread at a time.

    private let deflater: Deflater
    private let boxes: DatasetBoxes?
    /// A member before it is sealed or copied.
    private let plain = ByteBuffer()

    /// Makes a compressor with a level from 1, the fastest, to 9; `engine` says which library it uses.
    ///
    /// - Parameter boxes: encrypts the members in a sealed zone; nil if they are not encrypted.
    /// - Throws: ``FormatError`` with `.misuse` for another level.
    package init(level: Int = 1, engine: DeflateEngine = .isal, boxes: DatasetBoxes? = nil) throws {
        guard (1...9).contains(level) else {
            throw FormatError(.misuse, at: "compression", "the level must be 1 to 9")
        }
        deflater = Deflater(level: level, engine: engine)
        self.boxes = boxes
    }

    /// Compresses a block that is not empty. Reuses the memory of `member`, which must not be needed any more.
    package func compress(
        _ block: RawBlock, isFirst: Bool, reusing member: CompressedMember? = nil
    ) throws -> CompressedBlock {
        guard let firstKey = block.firstKey, let lastKey = block.lastKey else {
            throw FormatError(.misuse, at: "compression", "an empty block, or one that is not complete")
        }
        let member = member ?? CompressedMember()
        try compress(entities: block.bytes, rawSHA256: block.rawSHA256, isFirst: isFirst, into: member)
        return CompressedBlock(
            member: member, entry: BlockEntry(firstKey: firstKey, count: block.count, member: member.entry),
            lastKey: lastKey, isFirst: isFirst)
    }

    /// Compresses the head or the tail of a file.
    package func compress(_ bytes: UnsafeRawBufferPointer, reusing member: CompressedMember? = nil) throws -> CompressedMember {
        let member = member ?? CompressedMember()
        try deflate(UnsafeRawBufferPointer(start: nil, count: 0), bytes, rawSHA256: ContentHash(of: bytes), into: member)
        return member
    }

    /// Compresses a block's JSON, together with the separator before it, into `member`.
    func compress(entities: UnsafeRawBufferPointer, rawSHA256: ContentHash, isFirst: Bool, into member: CompressedMember) throws {
        let separator: StaticString = isFirst ? "\n" : ",\n"
        let separatorBytes = UnsafeRawBufferPointer(start: separator.utf8Start, count: separator.utf8CodeUnitCount)
        try deflate(separatorBytes, entities, rawSHA256: rawSHA256, into: member)
    }

    private func deflate(
        _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, rawSHA256: ContentHash, into member: CompressedMember
    ) throws {
        let rawLength = first.count + second.count
        // A member waits for its turn in the file in no more memory than it needs, and the room that deflate asks for is that of the input.
        try deflate(first, second, into: plain)
        if let boxes {
            try seal(plain.bytes, boxes, into: member.buffer)
        } else {
            member.buffer.clear()
            member.buffer.append(plain.bytes)
        }
        let bytes = member.buffer.bytes
        member.entry = MemberEntry(offset: 0, length: bytes.count, rawLength: rawLength, sha256: ContentHash(of: bytes), rawSHA256: rawSHA256)
    }

    private func seal(_ bytes: UnsafeRawBufferPointer, _ boxes: DatasetBoxes, into buffer: ByteBuffer) throws {
        buffer.clear()
        buffer.reserve(bytes.count + BoxKeys.overhead)
        try FormatError.opening("sealing") { () throws(BoxError) in try boxes.sealMember(bytes) { buffer.append($0) } }
    }

    private func deflate(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, into buffer: ByteBuffer) throws {
        let rawLength = first.count + second.count
        buffer.clear()
        let room = deflater.bound(rawLength)
        buffer.reserve(GzipMember.headerLength + room + GzipMember.trailerLength)
        let base = UnsafeMutableRawPointer(buffer.base)
        GzipMember.writeHeader(at: base)
        let bodyLength = try deflater.deflate(first, second, to: buffer.base + GzipMember.headerLength, room: room)

        let crc = GzipMember.crc(second, after: GzipMember.crc(first))
        let trailer = base + GzipMember.headerLength + bodyLength
        trailer.storeBytes(of: crc.littleEndian, as: UInt32.self)
        trailer.storeBytes(of: UInt32(truncatingIfNeeded: rawLength).littleEndian, toByteOffset: 4, as: UInt32.self)
        buffer.count = GzipMember.headerLength + bodyLength + GzipMember.trailerLength
    }
}
