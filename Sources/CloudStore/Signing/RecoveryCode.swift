import Crypto

/// What a person keeps on paper to read a sealed zone when all devices are lost: an X25519 private key as 18 words, with a check sum.
///
/// The zone has the public key alone. Source: docs/sealed.md, "The recovery code".
public struct RecoveryCode: Sendable {
    /// The X25519 private key, 32 bytes.
    package let seed: [UInt8]
    /// The public key, as 64 lower-case hexadecimal digits.
    package let publicKey: String

    /// How many words a code has.
    public static let wordCount = 18
    private static let label = "snapsync-recovery 1\n"
    private static let checkLength = 4

    /// A new code from the system's generator.
    public init() { self.init(Curve25519.KeyAgreement.PrivateKey()) }

    /// Reads what a person types: upper or lower case, with hyphens, spaces or line ends; nil if a word is wrong.
    public init?(_ text: String) {
        guard let bytes = KeyWords.bytes(text), bytes.count == Self.wordCount * 2 else { return nil }
        let seed = Array(bytes.dropLast(Self.checkLength))
        guard Self.check(seed) == Array(bytes.suffix(Self.checkLength)), let key = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: seed) else {
            return nil
        }
        self.init(key)
    }

    private init(_ key: Curve25519.KeyAgreement.PrivateKey) {
        seed = Array(key.rawRepresentation)
        publicKey = ContentHash.hex(key.publicKey.rawRepresentation)
    }

    /// The words, joined by hyphens. They are a secret: shown once, and stored nowhere.
    public var words: String { KeyWords.text(seed + Self.check(seed)) }

    /// Four bytes that tell a slip of the pen.
    private static func check(_ seed: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: Array(label.utf8) + seed).prefix(checkLength)) }
}

extension RecoveryCode: CustomStringConvertible, CustomReflectable {
    /// Nothing of the code: what is printed by accident says nothing.
    public var description: String { "recovery code" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
