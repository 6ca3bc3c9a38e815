import Crypto

/// A device's keys as eight words that people compare or read out: `lusab-babad-gutih-tugad-mudof-sakat-bahaf-votuk`.
///
/// The words are the first 128 bits of SHA-256 over a label, the Ed25519 and the X25519 public key, 16 bits a word (``KeyWords``). Source: docs/security.md.
public struct KeyFingerprint: Hashable, Sendable, CustomStringConvertible {
    /// The eight words, joined by hyphens.
    public let words: String

    private static let label = "snapsync-key 1\n"
    /// What a fingerprint looks like.
    public static let example = "lusab-babad-gutih-tugad-mudof-sakat-bahaf-votuk"
    /// How many words a fingerprint has.
    public static let wordCount = 8

    init(of keys: DevicePublicKeys) {
        let bytes = Array(Self.label.utf8) + (DevicePublicKeys.hexBytes(keys.signing.utf8) ?? []) + (DevicePublicKeys.hexBytes(keys.sealing.utf8) ?? [])
        let digest = Array(SHA256.hash(data: bytes))
        words = KeyWords.text(digest.prefix(Self.wordCount * 2))
    }

    /// Reads what a person types: upper or lower case, with hyphens or spaces; nil if it is not eight such words.
    public init?(_ text: String) {
        guard let bytes = KeyWords.bytes(text), bytes.count == Self.wordCount * 2 else { return nil }
        words = KeyWords.text(bytes)
    }

    public var description: String { words }
}
