import Crypto

/// Computes the SHA-256 of bytes that arrive in pieces, as 64 lower-case hexadecimal digits.
///
///     var hash = ContentHash()
///     hash.update(bytes)
///     asset.sha256 == hash.hex
///
/// Source: FIPS 180-4.
package struct ContentHash {
    private var state = SHA256()

    package init() {}

    /// Adds bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        state.update(bufferPointer: bytes)
    }

    /// The hash of all bytes so far.
    package var hex: String {
        ContentHash.hex(state.finalize())
    }

    /// The hash of `bytes`.
    package static func of(_ bytes: some Sequence<UInt8>) -> String {
        var hash = ContentHash()
        if bytes.withContiguousStorageIfAvailable({ hash.update(UnsafeRawBufferPointer($0)) }) == nil {
            Array(bytes).withUnsafeBytes { hash.update($0) }
        }
        return hash.hex
    }

    /// Bytes as lower-case hexadecimal digits, two for each byte.
    package static func hex(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Whether `text` is a SHA-256 in lower-case hexadecimal.
    package static func isHash(_ text: String) -> Bool {
        text.utf8.count == 64 && CloudNames.isHex(text.utf8)
    }
}
