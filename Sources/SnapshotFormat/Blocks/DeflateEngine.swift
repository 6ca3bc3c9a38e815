internal import CZlib
import StrictText
#if canImport(CIsal)
    internal import CIsal
#endif

/// Which library compresses and decompresses deflate streams. Equal input nearly always gives an equal
/// stream with the same library in the same version; nothing but a repair may rely on it, which checks the hash.
package enum DeflateEngine: Sendable {
    /// ISA-L: a fifth of zlib's time, and smaller streams. Where the system lacks it, zlib does this work.
    case isal
    case zlib

    #if canImport(CIsal)
        package static let hasIsal = true
    #else
        package static let hasIsal = false
    #endif
}

extension GzipMember {
    /// The CRC-32 of bytes, continued from that of the previous bytes.
    static func crc(_ bytes: UnsafeRawBufferPointer, after crc: UInt32 = 0) -> UInt32 {
        let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        #if canImport(CIsal)
            return crc32_gzip_refl(crc, base, UInt64(bytes.count))
        #else
            return UInt32(truncatingIfNeeded: crc32_z(UInt(crc), base, bytes.count))
        #endif
    }
}

#if canImport(CIsal)
    /// Compresses by ISA-L's level 2.
    final class IsalDeflater {
        // ISA-L keeps both addresses.
        private let stream = UnsafeMutablePointer<isal_zstream>.allocate(capacity: 1)
        private let level = UnsafeMutablePointer<UInt8>.allocate(capacity: Int(snapsync_isal_level_byte_count))
        /// The two pieces joined, because ISA-L takes its input in one piece.
        private let joined = ByteBuffer()

        deinit {
            stream.deallocate()
            level.deallocate()
        }

        func deflate(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, to target: UnsafeMutablePointer<UInt8>, room: Int) throws -> Int {
            var whole = second
            if first.count > 0 {
                joined.clear()
                joined.reserve(first.count + second.count)
                let base = UnsafeMutableRawPointer(joined.base)
                // SAFETY: `joined` has room for both pieces.
                if let source = first.baseAddress { base.copyMemory(from: source, byteCount: first.count) }
                if let source = second.baseAddress { (base + first.count).copyMemory(from: source, byteCount: second.count) }
                joined.count = first.count + second.count
                whole = joined.bytes
            }
            isal_deflate_stateless_init(stream)
            // The whole window: initialization leaves this field as it was.
            stream.pointee.hist_bits = 0
            stream.pointee.level = 2
            stream.pointee.level_buf = level
            stream.pointee.level_buf_size = snapsync_isal_level_byte_count
            stream.pointee.end_of_stream = 1
            stream.pointee.flush = UInt16(NO_FLUSH)
            // SAFETY: ISA-L only reads the input, and writes at most `room` bytes.
            stream.pointee.next_in = UnsafeMutablePointer(mutating: whole.baseAddress?.assumingMemoryBound(to: UInt8.self))
            stream.pointee.avail_in = UInt32(whole.count)
            stream.pointee.next_out = target
            stream.pointee.avail_out = UInt32(room)
            let isDone = isal_deflate_stateless(stream) == COMP_OK && stream.pointee.avail_in == 0
            joined.clear()
            joined.trim(to: 4 << 20)
            guard isDone else { throw SyncError(format: .compression, at: "compression", "ISA-L found no room for \(whole.count) bytes") }
            return room - Int(stream.pointee.avail_out)
        }
    }

    /// Decompresses by ISA-L.
    final class IsalInflater {
        private let state = UnsafeMutablePointer<inflate_state>.allocate(capacity: 1)

        deinit { state.deallocate() }

        func inflate(_ input: UnsafeRawBufferPointer, to target: UnsafeMutablePointer<UInt8>, length: Int) -> InflateOutcome {
            isal_inflate_init(state)
            state.pointee.hist_bits = 0
            // SAFETY: ISA-L only reads the input, and writes at most `length` bytes, which `target` has room for.
            state.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
            state.pointee.avail_in = UInt32(input.count)
            state.pointee.next_out = target
            state.pointee.avail_out = UInt32(length)
            switch isal_inflate_stateless(state) {
            case ISAL_OUT_OVERFLOW: return .tooLong
            case ISAL_DECOMP_OK where state.pointee.block_state == ISAL_BLOCK_FINISH:
                return state.pointee.avail_in > 0 ? .followed : state.pointee.avail_out > 0 ? .tooShort : .done
            default: return .broken
            }
        }
    }
#endif
