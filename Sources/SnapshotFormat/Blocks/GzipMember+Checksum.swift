#if !Libdeflate
    internal import CZlib

    extension GzipMember {
        /// The CRC-32 of bytes, going on from that of the bytes before.
        static func crc(_ bytes: UnsafeRawBufferPointer, after crc: UInt32 = 0) -> UInt32 {
            UInt32(truncatingIfNeeded: crc32_z(UInt(crc), bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count))
        }
    }
#endif
