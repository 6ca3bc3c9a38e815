internal import CIsal
internal import CZlib

/// Which library compresses and decompresses deflate streams.
///
/// ISA-L takes a fifth of zlib's time and makes smaller streams than zlib's level 1. It is loaded when the first large piece needs it, because
/// loading it takes as long as zlib takes for a small piece. Equal input gives an equal stream with the same library in the same version.
package enum DeflateEngine: Sendable {
    /// ISA-L for level 1 and pieces that are large enough, if the system has it; else zlib.
    case fastest
    /// The same for pieces of any size: for many, among which some are large enough.
    case isal
    case zlib

    /// The smallest piece for ISA-L, in bytes; zlib handles smaller ones.
    static let isalBytes = 32 << 10

    /// Whether the system has ISA-L. Source: docs/performance.md.
    package static let hasIsal = snapsync_isal_load() == 1

    /// Whether a piece of this length, of level 1, is for ISA-L.
    func takesIsal(_ length: Int) -> Bool {
        switch self {
        case .fastest: length >= Self.isalBytes && length <= Int(UInt32.max) && Self.hasIsal
        case .isal: length <= Int(UInt32.max) && Self.hasIsal
        case .zlib: false
        }
    }
}

extension GzipMember {
    /// The CRC-32 of bytes, continued from that of the previous bytes.
    ///
    /// - Parameter isOfMany: whether there are so many pieces that ISA-L is worth loading for small ones, too.
    static func crc(_ bytes: UnsafeRawBufferPointer, after crc: UInt32 = 0, isOfMany: Bool = false) -> UInt32 {
        let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        guard isOfMany ? DeflateEngine.hasIsal : DeflateEngine.fastest.takesIsal(bytes.count) else {
            return UInt32(truncatingIfNeeded: crc32_z(UInt(crc), base, bytes.count))
        }
        return snapsync_isal_crc(crc, base, UInt64(bytes.count))
    }
}
