internal import CZlib

/// Makes one deflate stream from whole pieces of input.
///
/// Memory: zlib's 256 KiB, or ISA-L's 480 KiB and one block. One thread at a time.
final class Deflater {
    private let level: Int
    private let engine: DeflateEngine
    private var zlib: ZlibDeflater?
    #if canImport(CIsal)
        private lazy var isal = IsalDeflater()
    #endif

    /// Makes a deflater with a level from 1 to 9.
    init(level: Int, engine: DeflateEngine) { (self.level, self.engine) = (level, engine) }

    /// The maximum length of a stream for this many raw bytes.
    func bound(_ rawLength: Int) -> Int { rawLength + rawLength >> 8 + 512 }

    /// Compresses two pieces, the second after the first, to `target`, which must have room for ``bound(_:)`` bytes.
    ///
    /// - Returns: the stream's length in bytes.
    /// - Throws: ``FormatError`` with `.compression` if memory is short.
    func deflate(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, to target: UnsafeMutablePointer<UInt8>, room: Int) throws -> Int {
        #if canImport(CIsal)
            if level == 1, engine == .isal, first.count + second.count <= Int(UInt32.max) {
                return try isal.deflate(first, second, to: target, room: room)
            }
        #endif
        let zlib = try self.zlib ?? ZlibDeflater(level: level)
        self.zlib = zlib
        return try zlib.deflate(first, second, to: target, room: room)
    }
}

private final class ZlibDeflater {
    // zlib keeps the stream's address, so the stream is allocated separately.
    private let stream: UnsafeMutablePointer<z_stream>

    init(level: Int) throws {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = deflateInit2_(
            stream, Int32(level), Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
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

    private static func fault(_ status: Int32) -> FormatError {
        FormatError(.compression, at: "compression", "zlib failed with status \(status)", hint: "free memory and try again", isRetryable: true)
    }
}
