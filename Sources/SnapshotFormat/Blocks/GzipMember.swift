/// The bytes around a member's deflate stream. Source: RFC 1952 section 2.3; docs/format.md, "Members".
enum GzipMember {
    /// Magic, method 8, no flags, no time, no extra flags, unknown system: nothing that could differ between writers.
    static let header: (UInt64, UInt16) = (0x0000_0000_0008_8B1F, 0xFF00)
    static let headerLength = 10
    /// CRC-32 and the raw size modulo 2^32, both little-endian.
    static let trailerLength = 8

    /// Writes the header to `target`, which must have room for it.
    static func writeHeader(at target: UnsafeMutableRawPointer) {
        target.storeBytes(of: header.0.littleEndian, as: UInt64.self)
        target.storeBytes(of: header.1.littleEndian, toByteOffset: 8, as: UInt16.self)
    }

    /// Whether the 10 bytes at `source` are the header.
    static func hasHeader(_ source: UnsafeRawPointer) -> Bool {
        source.loadUnaligned(as: UInt64.self) == header.0.littleEndian
            && source.loadUnaligned(fromByteOffset: 8, as: UInt16.self) == header.1.littleEndian
    }
}
