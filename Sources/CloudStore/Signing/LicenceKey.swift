import Crypto

/// The key with which a vendor signs licences (Ed25519, RFC 8032). Applications have the public half alone.
public struct LicenceKey: Sendable {
    // SAFETY (@unchecked Sendable): an immutable value that copies its bytes; swift-crypto does not declare it Sendable on all systems.
    private struct Key: @unchecked Sendable {
        let key: Curve25519.Signing.PrivateKey
    }

    private let key: Key

    /// A new key from the system's generator.
    public init() { key = Key(key: Curve25519.Signing.PrivateKey()) }

    /// The key of a seed; nil if that does not have 32 bytes.
    package init?(seed: [UInt8]) {
        guard let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: seed) else { return nil }
        self.key = Key(key: key)
    }

    /// What the private key is made of, 32 bytes.
    package var seed: [UInt8] { Array(key.key.rawRepresentation) }

    /// The public key, 64 lower-case hexadecimal digits: what an application pins.
    public var publicKey: String { ContentHash.hex(key.key.publicKey.rawRepresentation) }

    /// Whether a text can be a public key.
    public static func isPublicKey(_ text: String) -> Bool { ContentHash.isHash(text) }

    /// The signature of some bytes, 64 bytes.
    package func signature(of bytes: [UInt8]) throws -> [UInt8] { try bytes.withUnsafeBytes { Array(try key.key.signature(for: $0)) } }
}

extension LicenceKey: CustomStringConvertible, CustomReflectable {
    /// The public half: what is printed of a key by accident says nothing of the private one.
    public var description: String { "licence key \(publicKey)" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
