#if Libdeflate
    internal import CLibdeflate

    extension GzipMember {
        /// The CRC-32 of bytes, going on from that of the bytes before; several times as fast as zlib's.
        static func crc(_ bytes: UnsafeRawBufferPointer, after crc: UInt32 = 0) -> UInt32 {
            // Where there are no bytes it would begin anew.
            bytes.isEmpty ? crc : libdeflate_crc32(crc, bytes.baseAddress, bytes.count)
        }
    }
#endif
