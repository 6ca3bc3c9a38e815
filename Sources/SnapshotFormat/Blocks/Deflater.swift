#if !Libdeflate
    internal import CZlib

    /// Makes deflate streams out of whole pieces, with zlib.
    ///
    /// Equal bytes give an equal stream, with the same version of zlib. Memory: zlib's 256 KiB. One thread at a time.
    /// With the package trait `Libdeflate` another implementation takes its place; see `Deflater+Libdeflate.swift`.
    final class Deflater {
        // zlib keeps the stream's address, so it lies in memory of its own.
        private let stream: UnsafeMutablePointer<z_stream>

        /// Makes a deflater of a level from 1 to 9.
        ///
        /// - Throws: ``FormatError`` with `.compression` for want of memory.
        init(level: Int) throws {
            let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
            stream.initialize(to: z_stream())
            let status = deflateInit2_(
                stream, Int32(level), Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
            guard status == Z_OK else {
                stream.deallocate()
                throw Self.fault(status)
            }
            // Last: an initializer that throws once every property is set runs deinit, which would free the stream again.
            self.stream = stream
        }

        deinit {
            deflateEnd(stream)
            stream.deallocate()
        }

        /// How many bytes a stream of so many raw ones takes at most.
        func bound(_ rawLength: Int) -> Int { Int(deflateBound(stream, UInt(rawLength))) + 16 }

        /// Compresses two pieces, the second after the first, to `target`, which has room for ``bound(_:)``.
        ///
        /// - Returns: the stream's length in bytes.
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
            // SAFETY: zlib reads the input and does not write it, whatever the pointer's type says.
            stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
            stream.pointee.avail_in = UInt32(bytes.count)
            return CZlib.deflate(stream, flush)
        }

        private static func fault(_ status: Int32) -> FormatError {
            FormatError(
                .compression, at: "compression", "zlib failed with status \(status)", hint: "free memory and try again", isRetryable: true)
        }
    }
#endif
