import Crypto

/// A device's public keys as eight words that people compare or read aloud: `lusab-babad-gutih-tugad-mudof-sakat-bahaf-votuk`.
///
/// The words encode the first 128 bits of the SHA-256 over a label, the Ed25519 and the X25519 public key, 16 bits for each word
/// (``KeyWords``). Source: docs/sealed.md.
public struct KeyFingerprint: Hashable, Sendable, CustomStringConvertible {
    /// The eight words, joined by hyphens.
    public let words: String

    private static let label = "snapsync-key 1\n"
    /// An example, to show people the form of a fingerprint.
    public static let example = "lusab-babad-gutih-tugad-mudof-sakat-bahaf-votuk"
    /// The number of words of a fingerprint.
    public static let wordCount = 8

    init(of keys: DevicePublicKeys) {
        let bytes = Array(Self.label.utf8) + (DevicePublicKeys.hexBytes(keys.signing.utf8) ?? []) + (DevicePublicKeys.hexBytes(keys.sealing.utf8) ?? [])
        let digest = Array(SHA256.hash(data: bytes))
        words = KeyWords.text(digest.prefix(Self.wordCount * 2))
    }

    /// Parses what a person types: upper or lower case, with hyphens or spaces; nil if it is not eight valid words.
    public init?(_ text: String) {
        guard let bytes = KeyWords.bytes(text), bytes.count == Self.wordCount * 2 else { return nil }
        words = KeyWords.text(bytes)
    }

    public var description: String { words }
}
