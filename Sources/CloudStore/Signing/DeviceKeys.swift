import Crypto
import StrictText

/// The private keys of one device in one zone. They must never be written to a database, a cloud, a log or an error.
public struct DeviceKeys: Sendable {
    /// The public halves of both keys.
    package var publicKeys: DevicePublicKeys {
        known ?? DevicePublicKeys(signing: signingKey, sealing: sealingKind.publicKey(of: sealingSeed) ?? "")
    }
    /// The kind of the key that ``sealingSeed`` makes. A ``KeyStore`` stores it with the seeds.
    package let sealingKind: SealingKeyKind
    private let pair: Pair
    /// The public halves, if they are known: to find that of the sealing key takes as long as a signature.
    private var known: DevicePublicKeys?
    private var signingKey: String { Hexadecimal.text(pair.signing.publicKey.rawRepresentation) }

    /// The seed of the Ed25519 key (RFC 8032), 32 bytes.
    public var signingSeed: [UInt8] { Array(pair.signing.rawRepresentation) }
    /// The private X25519 key (RFC 7748) or the seed of the X-Wing key, 32 bytes. A seed must serve one kind only: whoever breaks X25519
    /// finds it from the public key.
    public var sealingSeed: [UInt8] { pair.sealing.withUnsafeBytes { Array($0) } }

    /// New keys from the system's generator, with an X25519 key.
    public init() {
        self.init(Curve25519.Signing.PrivateKey(), Array(Curve25519.KeyAgreement.PrivateKey().rawRepresentation), of: .x25519)
    }

    /// Makes the keys from two seeds; nil if one of them does not have 32 bytes, or this system does not have the algorithm.
    public init?(signingSeed: [UInt8], sealingSeed: [UInt8], sealing kind: SealingKeyKind = .x25519) {
        guard let signing = try? Curve25519.Signing.PrivateKey(rawRepresentation: signingSeed), sealingSeed.count == 32, kind.isSupported else { return nil }
        self.init(signing, sealingSeed, of: kind)
    }

    private init(_ signing: Curve25519.Signing.PrivateKey, _ sealingSeed: [UInt8], of kind: SealingKeyKind) {
        sealingKind = kind
        pair = Pair(signing: signing, sealing: SymmetricKey(data: sealingSeed))
    }

    /// The same keys, if these are their public halves as they were noted when the device was set up; nil if the signing key is another one.
    package func confirmed(as noted: DevicePublicKeys) -> DeviceKeys? {
        guard noted.signing == signingKey else { return nil }
        var keys = self
        keys.known = noted
        return keys
    }

    /// Whether that is the public half of the sealing key.
    package func hasSealingKey(_ key: String) -> Bool { sealingKind.publicKey(of: sealingSeed) == key }

    /// The Ed25519 signature of these bytes, 64 bytes long.
    package func signature(of bytes: [UInt8]) throws -> [UInt8] {
        try bytes.withUnsafeBytes { Array(try pair.signing.signature(for: $0)) }
    }

    // SAFETY (@unchecked Sendable): the keys are immutable values that copy their bytes; swift-crypto does not declare them Sendable on all
    // systems. It overwrites their memory when it frees it.
    private struct Pair: @unchecked Sendable {
        let signing: Curve25519.Signing.PrivateKey
        let sealing: SymmetricKey
    }
}

extension DeviceKeys: CustomStringConvertible, CustomReflectable {
    /// Only the fingerprint, so that printing the keys by accident does not reveal the private part.
    public var description: String { "keys \(publicKeys.fingerprint)" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
