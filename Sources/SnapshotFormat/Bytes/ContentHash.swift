internal import Crypto
import StrictText

/// A SHA-256 hash, with which indexes and commits identify bytes.
package struct ContentHash: Hashable, Sendable, CustomStringConvertible {
    private let words: SIMD4<UInt64>

    package init(of bytes: UnsafeRawBufferPointer) {
        var hash = SHA256()
        hash.update(bufferPointer: bytes)
        self.init(hash.finalize())
    }

    /// The hash of two pieces of bytes, one after the other.
    package init(of first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) {
        var hash = SHA256()
        hash.update(bufferPointer: first)
        hash.update(bufferPointer: second)
        self.init(hash.finalize())
    }

    private init(_ digest: SHA256.Digest) {
        // SAFETY: a SHA-256 digest is 32 bytes long; the load needs no alignment.
        words = digest.withUnsafeBytes { $0.loadUnaligned(as: SIMD4<UInt64>.self) }
    }

    /// The hash for 64 lower-case hexadecimal digits, or nil.
    package init?(hex digits: some Sequence<UInt8>) {
        guard let bytes = Hexadecimal.bytes(digits), bytes.count == 32 else { return nil }
        // SAFETY: 32 bytes; the load needs no alignment.
        words = bytes.withUnsafeBytes { $0.loadUnaligned(as: SIMD4<UInt64>.self) }
    }

    /// The hash for a text of 64 lower-case hexadecimal digits, or nil.
    package init?(hex text: String) { self.init(hex: text.utf8) }

    /// The hash as 64 lower-case hexadecimal digits.
    package var description: String { withUnsafeBytes(of: words) { Hexadecimal.text($0) } }
}
