import Crypto
import StrictText

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
        Hexadecimal.text(state.finalize())
    }

    /// The hash of `bytes`.
    package static func of(_ bytes: some Sequence<UInt8>) -> String {
        var hash = ContentHash()
        if bytes.withContiguousStorageIfAvailable({ hash.update(UnsafeRawBufferPointer($0)) }) == nil {
            Array(bytes).withUnsafeBytes { hash.update($0) }
        }
        return hash.hex
    }

    /// Whether `text` is a SHA-256 in lower-case hexadecimal.
    package static func isHash(_ text: String) -> Bool {
        text.utf8.count == 64 && CloudNames.isHex(text.utf8)
    }
}
