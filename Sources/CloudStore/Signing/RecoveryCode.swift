import Crypto

/// A code that a person keeps on paper to read a sealed zone after all devices are lost: a private key as 18 words, with a checksum.
///
/// The zone stores only the public key. Source: docs/sealed.md, "The recovery code".
public struct RecoveryCode: Sendable {
    /// The private key, 32 bytes; of which kind, the zone says.
    package let seed: [UInt8]

    /// The number of words of a code.
    public static let wordCount = 18
    private static let label = "snapsync-recovery 1\n"
    private static let checkLength = 4

    /// A new code from the system's generator.
    public init() { seed = SealingKeyKind.randomSeed() }

    /// Parses what a person types: upper or lower case, with hyphens, spaces or line ends; nil if a word is wrong.
    public init?(_ text: String) {
        guard let bytes = KeyWords.bytes(text), bytes.count == Self.wordCount * 2 else { return nil }
        let seed = Array(bytes.dropLast(Self.checkLength))
        guard Self.check(seed) == Array(bytes.suffix(Self.checkLength)) else { return nil }
        self.seed = seed
    }

    /// The public key in a zone whose keys are of this kind, in lower-case hexadecimal digits; nil where this system does not have the algorithm.
    package func publicKey(_ kind: SealingKeyKind) -> String? { kind.publicKey(of: seed) }

    /// The words, joined by hyphens. They are a secret: show them once, and do not store them.
    public var words: String { KeyWords.text(seed + Self.check(seed)) }

    /// Four bytes of checksum that detect typing errors.
    private static func check(_ seed: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: Array(label.utf8) + seed).prefix(checkLength)) }
}

extension RecoveryCode: CustomStringConvertible, CustomReflectable {
    /// Contains nothing of the code, so that printing it by accident reveals nothing.
    public var description: String { "recovery code" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
