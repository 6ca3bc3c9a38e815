internal import CZlib

/// Decompresses deflate streams of known length.
///
/// Memory: zlib's 40 KiB, or ISA-L's 90 KiB. One thread at a time.
final class Inflater {
    private let engine: DeflateEngine
    private var zlib: ZlibInflater?
    #if canImport(CIsal)
        private lazy var isal = IsalInflater()
    #endif

    init(engine: DeflateEngine) { self.engine = engine }

    /// Decompresses `input` to `target`, which must have room for `length` bytes. Never writes more than that.
    ///
    /// Both lengths must be below 2^32.
    ///
    /// - Throws: ``FormatError`` with `.compression` if memory is short.
    func inflate(_ input: UnsafeRawBufferPointer, to target: UnsafeMutablePointer<UInt8>, length: Int) throws -> InflateOutcome {
        #if canImport(CIsal)
            if engine == .isal { return isal.inflate(input, to: target, length: length) }
        #endif
        let zlib = try self.zlib ?? ZlibInflater()
        self.zlib = zlib
        return try zlib.inflate(input, to: target, length: length)
    }
}

private final class ZlibInflater {
    // zlib keeps the stream's address, so the stream is allocated separately.
    private let stream: UnsafeMutablePointer<z_stream>

    init() throws {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = inflateInit2_(stream, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else {
            stream.deallocate()
            throw Self.memoryFault(status)
        }
        // Assigned last: an initializer that throws after all properties are set runs deinit, which would free the stream again.
        self.stream = stream
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    func inflate(_ input: UnsafeRawBufferPointer, to target: UnsafeMutablePointer<UInt8>, length: Int) throws -> InflateOutcome {
        let status = inflateReset(stream)
        guard status == Z_OK else { throw Self.memoryFault(status) }
        // SAFETY: zlib only reads the input, and writes at most avail_out bytes, which `target` has room for.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(input.count)
        stream.pointee.next_out = target
        stream.pointee.avail_out = UInt32(length)
        switch CZlib.inflate(stream, Z_FINISH) {
        case Z_STREAM_END: return stream.pointee.avail_in > 0 ? .followed : stream.pointee.avail_out > 0 ? .tooShort : .done
        case Z_MEM_ERROR: throw Self.memoryFault(Z_MEM_ERROR)
        case Z_BUF_ERROR where stream.pointee.avail_out == 0: return .tooLong
        default: return .broken
        }
    }

    private static func memoryFault(_ status: Int32) -> FormatError {
        FormatError(.compression, at: "decompression", "zlib failed with status \(status)", hint: "free memory and try again", isRetryable: true)
    }
}
