import Crypto

/// The private keys of one device in one zone. They must never be written to a database, a cloud, a log or an error.
public struct DeviceKeys: Sendable {
    /// The public halves of both keys.
    public let publicKeys: DevicePublicKeys
    private let pair: Pair

    /// The seed of the Ed25519 key (RFC 8032), 32 bytes.
    public var signingSeed: [UInt8] { Array(pair.signing.rawRepresentation) }
    /// The private X25519 key (RFC 7748), 32 bytes.
    public var sealingSeed: [UInt8] { Array(pair.sealing.rawRepresentation) }

    /// New keys from the system's generator.
    public init() {
        self.init(Curve25519.Signing.PrivateKey(), Curve25519.KeyAgreement.PrivateKey())
    }

    /// Makes the keys from two seeds; nil if one of them does not have 32 bytes.
    public init?(signingSeed: [UInt8], sealingSeed: [UInt8]) {
        guard let signing = try? Curve25519.Signing.PrivateKey(rawRepresentation: signingSeed),
            let sealing = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: sealingSeed)
        else { return nil }
        self.init(signing, sealing)
    }

    private init(_ signing: Curve25519.Signing.PrivateKey, _ sealing: Curve25519.KeyAgreement.PrivateKey) {
        publicKeys = DevicePublicKeys(
            signing: ContentHash.hex(signing.publicKey.rawRepresentation), sealing: ContentHash.hex(sealing.publicKey.rawRepresentation))
        pair = Pair(signing: signing, sealing: sealing)
    }

    /// The Ed25519 signature of these bytes, 64 bytes long.
    package func signature(of bytes: [UInt8]) throws -> [UInt8] {
        try bytes.withUnsafeBytes { Array(try pair.signing.signature(for: $0)) }
    }

    // SAFETY (@unchecked Sendable): the keys are immutable values that copy their bytes; swift-crypto does not declare them Sendable on all
    // systems. It overwrites their memory when it frees it.
    private struct Pair: @unchecked Sendable {
        let signing: Curve25519.Signing.PrivateKey
        let sealing: Curve25519.KeyAgreement.PrivateKey
    }
}

extension DeviceKeys: CustomStringConvertible, CustomReflectable {
    /// Only the fingerprint, so that printing the keys by accident does not reveal the private part.
    public var description: String { "keys \(publicKeys.fingerprint)" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
