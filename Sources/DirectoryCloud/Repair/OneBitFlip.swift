import CloudStore
import Platform

/// Finds which single bit of some bytes was flipped, by trying each bit and comparing a hash.
///
/// Cost: eight hashes of all bytes for each byte, so it is used only for small files and blocks.
package enum OneBitFlip {
    /// The most bytes for which it is tried: about one second of work.
    package static let byteLimit = 16 << 10

    /// Returns the bytes with one bit flipped back so that `isRight` accepts them; nil if there is no such bit, or there are more than
    /// `limit` bytes.
    package static func mend(_ bytes: [UInt8], limit: Int = byteLimit, _ isRight: ([UInt8]) -> Bool) -> [UInt8]? {
        guard bytes.count <= limit else { return nil }
        var tried = bytes
        for position in tried.indices {
            for bit in 0..<8 as Range<UInt8> {
                tried[position] ^= 1 << bit
                if isRight(tried) { return tried }
                tried[position] ^= 1 << bit
            }
        }
        return nil
    }

    /// Returns the bytes with one bit flipped back so that they have this SHA-256; nil if there is no such bit.
    package static func mend(_ bytes: [UInt8], limit: Int = byteLimit, sha256: String) -> [UInt8]? {
        mend(bytes, limit: limit) { ContentHash.of($0) == sha256 }
    }
}
