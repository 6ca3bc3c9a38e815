internal import CZlib
package import Sealing
import StrictText

/// Compresses blocks, and the file's head and tail, into one gzip member each, and encrypts the members in a sealed zone.
///
///     let compressor = MemberCompressor(boxes: asset.boxes)
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

    /// Makes a compressor; `engine` says which library it uses.
    ///
    /// - Parameter boxes: encrypts the members in a sealed zone; nil if they are not encrypted.
    package init(engine: DeflateEngine = .isal, boxes: DatasetBoxes? = nil) {
        (deflater, self.boxes) = (Deflater(engine), boxes)
    }

    /// Compresses a block that is not empty.
    package func compress(_ block: RawBlock, isFirst: Bool) throws -> CompressedBlock {
        guard let firstKey = block.firstKey, let lastKey = block.lastKey else {
            throw SyncError(format: .misuse, at: "compression", "an empty block, or one that is not complete")
        }
        let member = CompressedMember()
        try compress(entities: block.bytes, rawSHA256: block.rawSHA256, isFirst: isFirst, into: member)
        return CompressedBlock(
            member: member, entry: BlockEntry(firstKey: firstKey, count: block.count, member: member.entry),
            lastKey: lastKey, isFirst: isFirst)
    }

    /// Compresses the head or the tail of a file. Reuses the memory of `member`, which must not be needed any more.
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
        try SyncError.opening("sealing") { () throws(BoxError) in try boxes.sealMember(bytes) { buffer.append($0) } }
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

/// Makes one deflate stream from whole pieces of input.
///
/// Memory: zlib's 256 KiB, or ISA-L's 480 KiB and one block. One thread at a time.
final class Deflater {
    private let engine: DeflateEngine
    private var zlib: ZlibDeflater?
    #if canImport(CIsal)
        private lazy var isal = IsalDeflater()
    #endif

    init(_ engine: DeflateEngine) { self.engine = engine }

    /// The maximum length of a stream for this many raw bytes.
    func bound(_ rawLength: Int) -> Int { rawLength + rawLength >> 8 + 512 }

    /// Compresses two pieces, the second after the first, to `target`, which must have room for ``bound(_:)`` bytes.
    ///
    /// - Returns: the stream's length in bytes.
    /// - Throws: ``SyncError`` with `.compression` if memory is short.
    func deflate(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, to target: UnsafeMutablePointer<UInt8>, room: Int) throws -> Int {
        #if canImport(CIsal)
            if engine == .isal, first.count + second.count <= Int(UInt32.max) {
                return try isal.deflate(first, second, to: target, room: room)
            }
        #endif
        let zlib = try self.zlib ?? ZlibDeflater()
        self.zlib = zlib
        return try zlib.deflate(first, second, to: target, room: room)
    }
}

private final class ZlibDeflater {
    // zlib keeps the stream's address, so the stream is allocated separately.
    private let stream: UnsafeMutablePointer<z_stream>

    init() throws {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = deflateInit2_(
            stream, Z_BEST_SPEED, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else {
            stream.deallocate()
            throw Self.fault(status)
        }
        // Assigned last: an initializer that throws after all properties are set runs deinit, which would free the stream again.
        self.stream = stream
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    func deflate(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, to target: UnsafeMutablePointer<UInt8>, room: Int) throws -> Int {
        let status = deflateReset(stream)
        guard status == Z_OK else { throw Self.fault(status) }
        stream.pointee.next_out = target
        stream.pointee.avail_out = UInt32(room)
        if first.count > 0 {
            let status = feed(first, Z_NO_FLUSH)
            guard status == Z_OK else { throw Self.fault(status) }
        }
        guard feed(second, Z_FINISH) == Z_STREAM_END else { throw Self.fault(Z_BUF_ERROR) }
        return room - Int(stream.pointee.avail_out)
    }

    private func feed(_ bytes: UnsafeRawBufferPointer, _ flush: Int32) -> Int32 {
        // SAFETY: zlib only reads the input, although the pointer's type is mutable.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(bytes.count)
        return CZlib.deflate(stream, flush)
    }

    private static func fault(_ status: Int32) -> SyncError {
        SyncError(format: .outOfMemory, at: "compression", "zlib failed with status \(status)", hint: "free memory and try again")
    }
}

/// The bytes around a member's deflate stream. Source: RFC 1952 section 2.3; docs/format.md, "Members".
enum GzipMember {
    /// Magic, method 8, no flags, no time, no extra flags, unknown system: nothing that could differ between writers.
    static let header: (UInt64, UInt16) = (0x0000_0000_0008_8B1F, 0xFF00)
    static let headerLength = 10
    /// CRC-32 and the raw size modulo 2^32, both little-endian.
    static let trailerLength = 8

    /// Writes the header to `target`, which must have room for it.
    static func writeHeader(at target: UnsafeMutableRawPointer) {
        target.storeBytes(of: header.0.littleEndian, as: UInt64.self)
        target.storeBytes(of: header.1.littleEndian, toByteOffset: 8, as: UInt16.self)
    }

    /// Whether the 10 bytes at `source` are the header.
    static func hasHeader(_ source: UnsafeRawPointer) -> Bool {
        source.loadUnaligned(as: UInt64.self) == header.0.littleEndian
            && source.loadUnaligned(fromByteOffset: 8, as: UInt16.self) == header.1.littleEndian
    }
}
