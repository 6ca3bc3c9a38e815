import Crypto

/// A device's keys as eight words that people compare or read out: `lusab-babad-gutih-tugad-mudof-sakat-bahaf-votuk`.
///
/// The words are the first 128 bits of SHA-256 over a label, the Ed25519 and the X25519 public key. Each word stands for 16 bits and has
/// the form consonant, vowel, consonant, vowel, consonant: there are 65,536 of them, and no list is needed.
/// Source: Wilkerson, "A Proposal for Proquints" (arXiv:0901.4016); docs/security.md.
public struct KeyFingerprint: Hashable, Sendable, CustomStringConvertible {
    /// The eight words, joined by hyphens.
    public let words: String

    private static let label = "snapsync-key 1\n"
    private static let consonants = Array("bdfghjklmnprstvz")
    private static let vowels = Array("aiou")
    /// What a fingerprint looks like.
    public static let example = "lusab-babad-gutih-tugad-mudof-sakat-bahaf-votuk"
    /// How many words a fingerprint has.
    public static let wordCount = 8

    init(of keys: DevicePublicKeys) {
        let bytes = Array(Self.label.utf8) + (DevicePublicKeys.hexBytes(keys.signing.utf8) ?? []) + (DevicePublicKeys.hexBytes(keys.sealing.utf8) ?? [])
        let digest = Array(SHA256.hash(data: bytes))
        words = (0..<Self.wordCount).map { Self.word(UInt16(digest[$0 * 2]) << 8 | UInt16(digest[$0 * 2 + 1])) }.joined(separator: "-")
    }

    /// Reads what a person types: upper or lower case, with hyphens or spaces; nil if it is not eight such words.
    public init?(_ text: String) {
        let parts = text.lowercased().split { $0 == "-" || $0 == " " }.map(Array.init)
        guard parts.count == Self.wordCount else { return nil }
        for part in parts {
            guard part.count == 5, [0, 2, 4].allSatisfy({ Self.consonants.contains(part[$0]) }), [1, 3].allSatisfy({ Self.vowels.contains(part[$0]) })
            else { return nil }
        }
        words = parts.map { String($0) }.joined(separator: "-")
    }

    public var description: String { words }

    private static func word(_ bits: UInt16) -> String {
        String([
            consonants[Int(bits >> 12 & 15)], vowels[Int(bits >> 10 & 3)], consonants[Int(bits >> 6 & 15)], vowels[Int(bits >> 4 & 3)],
            consonants[Int(bits & 15)],
        ])
    }
}
