#if !Libdeflate
    internal import CZlib

    /// Decompresses deflate streams of known length, with zlib.
    ///
    /// Memory: zlib's 40 KiB. One thread at a time. With the package trait `Libdeflate` another implementation takes its place; see
    /// `Inflater+Libdeflate.swift`.
    final class Inflater {
        // zlib keeps the stream's address, so it lies in memory of its own.
        private let stream: UnsafeMutablePointer<z_stream>

        /// Makes an inflater.
        ///
        /// - Throws: ``FormatError`` with `.compression` for want of memory.
        init() throws {
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

        /// Decompresses `input` to `target`, which has room for `length` bytes and gets no more.
        ///
        /// Both lengths are below 2^32.
        func inflate(_ input: UnsafeRawBufferPointer, to target: UnsafeMutablePointer<UInt8>, length: Int) throws -> InflateOutcome {
            let status = inflateReset(stream)
            guard status == Z_OK else { throw Self.memoryFault(status) }
            // SAFETY: zlib reads the input and does not write it, and writes at most avail_out bytes, which were reserved.
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
            FormatError(
                .compression, at: "decompression", "zlib failed with status \(status)", hint: "free memory and try again", isRetryable: true)
        }
    }
#endif
