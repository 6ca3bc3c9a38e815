import Crypto
import StrictText

/// The private key with which a vendor signs licences (Ed25519, RFC 8032). Applications have only the public key.
public struct LicenceKey: Sendable {
    // SAFETY (@unchecked Sendable): an immutable value that copies its bytes; swift-crypto does not declare it Sendable on all systems.
    private struct Key: @unchecked Sendable {
        let key: Curve25519.Signing.PrivateKey
    }

    private let key: Key

    /// A new key from the system's generator.
    public init() { key = Key(key: Curve25519.Signing.PrivateKey()) }

    /// Makes the key from a seed; nil if the seed does not have 32 bytes.
    package init?(seed: [UInt8]) {
        guard let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: seed) else { return nil }
        self.key = Key(key: key)
    }

    /// The seed of the private key, 32 bytes.
    package var seed: [UInt8] { Array(key.key.rawRepresentation) }

    /// The public key, as 64 lower-case hexadecimal digits. An application pins it.
    public var publicKey: String { Hexadecimal.text(key.key.publicKey.rawRepresentation) }

    /// Whether a text has the form of a public key.
    public static func isPublicKey(_ text: String) -> Bool { ContentHash.isHash(text) }

    /// The signature of these bytes, 64 bytes long.
    package func signature(of bytes: [UInt8]) throws -> [UInt8] { try bytes.withUnsafeBytes { Array(try key.key.signature(for: $0)) } }
}

extension LicenceKey: CustomStringConvertible, CustomReflectable {
    /// Only the public key, so that printing the key by accident does not reveal the private part.
    public var description: String { "licence key \(publicKey)" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
