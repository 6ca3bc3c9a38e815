import Crypto

/// The private keys of one device in one zone. They never enter a database, a cloud, a log or an error.
public struct DeviceKeys: Sendable {
    /// The seed of the Ed25519 key (RFC 8032), 32 bytes.
    public let signingSeed: [UInt8]
    /// The private X25519 key (RFC 7748), 32 bytes.
    public let sealingSeed: [UInt8]
    /// What everybody may know of them.
    public let publicKeys: DevicePublicKeys
    private let signer: Signer

    /// New keys from the system's generator.
    public init() {
        self.init(Curve25519.Signing.PrivateKey(), Curve25519.KeyAgreement.PrivateKey())
    }

    /// The keys of two seeds; nil if one of them does not have 32 bytes.
    public init?(signingSeed: [UInt8], sealingSeed: [UInt8]) {
        guard let signing = try? Curve25519.Signing.PrivateKey(rawRepresentation: signingSeed),
            let sealing = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: sealingSeed)
        else { return nil }
        self.init(signing, sealing)
    }

    private init(_ signing: Curve25519.Signing.PrivateKey, _ sealing: Curve25519.KeyAgreement.PrivateKey) {
        signingSeed = Array(signing.rawRepresentation)
        sealingSeed = Array(sealing.rawRepresentation)
        publicKeys = DevicePublicKeys(
            signing: ContentHash.hex(signing.publicKey.rawRepresentation), sealing: ContentHash.hex(sealing.publicKey.rawRepresentation))
        signer = Signer(key: signing)
    }

    /// The Ed25519 signature of some bytes, 64 bytes.
    package func signature(of bytes: [UInt8]) throws -> [UInt8] {
        try bytes.withUnsafeBytes { Array(try signer.key.signature(for: $0)) }
    }

    // SAFETY (@unchecked Sendable): the key is an immutable value that copies its bytes; swift-crypto does not declare it Sendable on all systems.
    private struct Signer: @unchecked Sendable {
        let key: Curve25519.Signing.PrivateKey
    }
}

extension DeviceKeys: CustomStringConvertible, CustomReflectable {
    /// The fingerprint: what is printed of keys by accident says nothing of the private part.
    public var description: String { "keys \(publicKeys.fingerprint)" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
