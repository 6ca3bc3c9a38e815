import Crypto
import StrictText

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
    package static let wordCount = 8

    init(of keys: DevicePublicKeys) {
        let bytes = Array(Self.label.utf8) + (Hexadecimal.bytes(keys.signing.utf8) ?? []) + (Hexadecimal.bytes(keys.sealing.utf8) ?? [])
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

/// Converts bytes to words that people compare, read aloud and type, and back: `lusab-babad-gutih`. Each word stands for 16 bits, most
/// significant first.
///
/// A word has the form consonant, vowel, consonant, vowel, consonant. That gives exactly 65,536 words, so no word list is needed.
/// Source: Wilkerson, "A Proposal for Proquints" (arXiv:0901.4016); docs/sealed.md.
enum KeyWords {
    private static let consonants = Array("bdfghjklmnprstvz")
    private static let vowels = Array("aiou")

    /// Encodes an even number of bytes as words, joined by hyphens.
    static func text(_ bytes: some Collection<UInt8>) -> String {
        let bytes = Array(bytes)
        return stride(from: 0, to: bytes.count - 1, by: 2).map { word(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])) }.joined(separator: "-")
    }

    /// Parses what a person types: upper or lower case, with hyphens, spaces or line ends; nil if a word is invalid.
    static func bytes(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        for part in text.lowercased().split(whereSeparator: { $0 == "-" || $0.isWhitespace }) {
            let letters = Array(part)
            guard letters.count == 5 else { return nil }
            var bits: UInt16 = 0
            for (position, letter) in letters.enumerated() {
                let alphabet = position % 2 == 0 ? consonants : vowels
                guard let value = alphabet.firstIndex(of: letter) else { return nil }
                bits = bits << (position % 2 == 0 ? 4 : 2) | UInt16(value)
            }
            bytes += [UInt8(bits >> 8), UInt8(bits & 255)]
        }
        return bytes
    }

    private static func word(_ bits: UInt16) -> String {
        String([
            consonants[Int(bits >> 12 & 15)], vowels[Int(bits >> 10 & 3)], consonants[Int(bits >> 6 & 15)], vowels[Int(bits >> 4 & 3)],
            consonants[Int(bits & 15)],
        ])
    }
}
