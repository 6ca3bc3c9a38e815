#if Libdeflate
    internal import CLibdeflate

    /// Makes deflate streams out of whole pieces, with libdeflate: faster than zlib, and smaller at the same level.
    ///
    /// Equal bytes give an equal stream, with the same version of libdeflate. Memory: its tables, some 600 KiB at most, and one
    /// block. One thread at a time. What it does is documented where zlib does it, in `Deflater.swift`.
    final class Deflater {
        private let compressor: OpaquePointer
        /// The two pieces as one, for libdeflate takes its input whole.
        private let joined = ByteBuffer()

        init(level: Int) throws {
            guard let compressor = libdeflate_alloc_compressor(Int32(level)) else {
                throw FormatError(.compression, at: "compression", "libdeflate has no memory", hint: "free memory and try again", isRetryable: true)
            }
            self.compressor = compressor
        }

        deinit { libdeflate_free_compressor(compressor) }

        func bound(_ rawLength: Int) -> Int { libdeflate_deflate_compress_bound(compressor, rawLength) }

        func deflate(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, to target: UnsafeMutablePointer<UInt8>, room: Int) throws -> Int {
            var whole = second
            if first.count > 0 {
                joined.clear()
                joined.reserve(first.count + second.count)
                let base = UnsafeMutableRawPointer(joined.base)
                // SAFETY: both pieces were made room for.
                if let source = first.baseAddress { base.copyMemory(from: source, byteCount: first.count) }
                if let source = second.baseAddress { (base + first.count).copyMemory(from: source, byteCount: second.count) }
                joined.count = first.count + second.count
                whole = joined.bytes
            }
            let length = libdeflate_deflate_compress(compressor, whole.baseAddress, whole.count, target, room)
            joined.clear()
            joined.trim(to: 4 << 20)
            guard length > 0 else {
                throw FormatError(.compression, at: "compression", "libdeflate found no room for \(whole.count) bytes")
            }
            return length
        }
    }
#endif
