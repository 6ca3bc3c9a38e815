import CloudStore
import CommitLog
import Platform

/// Finds which one bit of some bytes was flipped, by trying each: the smallest damage there is, and one that a hash can undo.
///
/// Cost: eight hashes of the bytes for each byte, so only small files and blocks are tried.
package enum OneBitFlip {
    /// The most bytes that are tried: about a second's work.
    package static let byteLimit = 16 << 10

    /// The bytes with one bit flipped back so that `isRight`; nil if no bit does it, or they are more than `limit`.
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

    /// The bytes with one bit flipped back so that they have this SHA-256; nil if none does it.
    package static func mend(_ bytes: [UInt8], limit: Int = byteLimit, sha256: String) -> [UInt8]? {
        mend(bytes, limit: limit) { ContentHash.of($0) == sha256 }
    }
}
