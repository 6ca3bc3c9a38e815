#if Libdeflate
    internal import CLibdeflate

    /// Decompresses deflate streams of known length, with libdeflate.
    ///
    /// Memory: its tables, some 12 KiB. One thread at a time. What it does is documented where zlib does it, in `Inflater.swift`.
    final class Inflater {
        private let decompressor: OpaquePointer

        init() throws {
            guard let decompressor = libdeflate_alloc_decompressor() else {
                throw FormatError(.compression, at: "decompression", "libdeflate has no memory", hint: "free memory and try again", isRetryable: true)
            }
            self.decompressor = decompressor
        }

        deinit { libdeflate_free_decompressor(decompressor) }

        func inflate(_ input: UnsafeRawBufferPointer, to target: UnsafeMutablePointer<UInt8>, length: Int) throws -> InflateOutcome {
            var read = 0, written = 0
            // SAFETY: libdeflate writes at most `length` bytes, which were reserved.
            switch libdeflate_deflate_decompress_ex(decompressor, input.baseAddress, input.count, target, length, &read, &written) {
            case LIBDEFLATE_SUCCESS: return read < input.count ? .followed : written < length ? .tooShort : .done
            case LIBDEFLATE_INSUFFICIENT_SPACE: return .tooLong
            default: return .broken
            }
        }
    }
#endif
