internal import Crypto

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
    package init?(hex: UnsafeRawBufferPointer) {
        guard hex.count == 64 else { return nil }
        var words = SIMD4<UInt64>()
        for index in 0..<64 {
            let digit: UInt8
            switch hex[index] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = hex[index] - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = hex[index] - UInt8(ascii: "a") + 10
            default: return nil
            }
            words[index / 16] = words[index / 16] << 4 | UInt64(digit)
        }
        self.words = SIMD4(words[0].bigEndian, words[1].bigEndian, words[2].bigEndian, words[3].bigEndian)
    }

    /// The hash for a text of 64 lower-case hexadecimal digits, or nil.
    package init?(hex text: String) {
        var text = text
        guard let hash = text.withUTF8({ ContentHash(hex: UnsafeRawBufferPointer($0)) }) else { return nil }
        self = hash
    }

    /// The hash as 64 lower-case hexadecimal digits.
    package var description: String {
        let digits: [UInt8] = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(64)
        withUnsafeBytes(of: words) { bytes in
            for byte in bytes {
                text.append(digits[Int(byte >> 4)])
                text.append(digits[Int(byte & 15)])
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
