internal import CZlib

/// Decompresses members, each checked against its index entry before and after.
///
///     let reader = try MemberReader()
///     try reader.inflate(bytes, entry: index.blocks[17].member, name: "block 17", into: block.raw)
///
/// Memory: zlib's 40 KiB, and what the entry declares, which is a hard cap. One thread at a time.
package final class MemberReader: @unchecked Sendable {
    // SAFETY (of @unchecked Sendable): the owner uses it on one thread at a time.

    // zlib keeps the stream's address, so it lies in memory of its own.
    private let stream: UnsafeMutablePointer<z_stream>

    /// Makes a reader.
    ///
    /// - Throws: ``FormatError`` with `.compression` for want of memory.
    package init() throws {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = inflateInit2_(stream, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else {
            stream.deallocate()
            throw Self.memoryFault(status)
        }
        // Last: an initializer that throws once every property is set runs deinit, which would free the stream again.
        self.stream = stream
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Replaces the contents of `buffer` by what the member holds.
    ///
    /// Length and hash are checked before a byte is decompressed; then the member's head, its checksum, and that it ends with
    /// `compressed` and holds exactly the declared number of bytes.
    ///
    /// - Throws: ``FormatError`` with `.truncated`, `.hashMismatch` or `.damaged`, naming `name`.
    package func inflate(
        _ compressed: UnsafeRawBufferPointer, entry: MemberEntry, name: @autoclosure () -> String, into buffer: ByteBuffer
    ) throws {
        buffer.clear()
        guard compressed.count == entry.length else {
            throw Self.fault(
                compressed.count < entry.length ? .truncated : .damaged, name(), "\(compressed.count) bytes instead of \(entry.length)")
        }
        guard ContentHash(of: compressed) == entry.sha256 else {
            throw Self.fault(.hashMismatch, name(), "its bytes do not match the hash in the index")
        }
        guard let base = compressed.baseAddress, compressed.count >= FormatLimits.memberBytes, GzipMember.hasHeader(base) else {
            throw Self.fault(.damaged, name(), "it does not begin as a member of version 1 does")
        }
        let bodyLength = compressed.count - GzipMember.headerLength - GzipMember.trailerLength
        guard bodyLength <= Int(UInt32.max), entry.rawLength <= FormatLimits.blockRawBytes else {
            throw Self.fault(.tooLarge, name(), "it declares more than \(FormatLimits.blockRawBytes) bytes")
        }
        buffer.reserve(entry.rawLength)
        let status = inflateReset(stream)
        guard status == Z_OK else { throw Self.memoryFault(status) }
        // SAFETY: zlib reads the input and does not write it, and writes at most avail_out bytes, which were reserved.
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: (base + GzipMember.headerLength).assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(bodyLength)
        stream.pointee.next_out = buffer.base
        stream.pointee.avail_out = UInt32(entry.rawLength)
        switch CZlib.inflate(stream, Z_FINISH) {
        case Z_STREAM_END: break
        case Z_MEM_ERROR: throw Self.memoryFault(Z_MEM_ERROR)
        case Z_BUF_ERROR where stream.pointee.avail_out == 0:
            throw Self.fault(.damaged, name(), "it holds more than the declared \(entry.rawLength) bytes")
        default: throw Self.fault(.damaged, name(), "its deflate stream is broken")
        }
        guard stream.pointee.avail_in == 0 else { throw Self.fault(.damaged, name(), "something follows its deflate stream") }
        guard stream.pointee.avail_out == 0 else {
            throw Self.fault(.damaged, name(), "it holds less than the declared \(entry.rawLength) bytes")
        }
        buffer.count = entry.rawLength
        let trailer = base + GzipMember.headerLength + bodyLength
        guard UInt32(littleEndian: trailer.loadUnaligned(as: UInt32.self)) == GzipMember.crc(buffer.bytes),
            UInt32(littleEndian: trailer.loadUnaligned(fromByteOffset: 4, as: UInt32.self)) == UInt32(truncatingIfNeeded: entry.rawLength)
        else {
            buffer.clear()
            throw Self.fault(.damaged, name(), "its checksum or size does not match")
        }
    }

    private static func fault(_ code: FormatError.Code, _ name: String, _ reason: String) -> FormatError {
        FormatError(code, at: name, reason, hint: "fetch the asset again; else have the writer run: snapsync export --full")
    }

    private static func memoryFault(_ status: Int32) -> FormatError {
        FormatError(
            .compression, at: "decompression", "zlib failed with status \(status)", hint: "free memory and try again", isRetryable: true)
    }
}
