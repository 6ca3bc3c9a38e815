import Crypto
import Foundation

/// The kinds of keys with which a sealed zone gives a device its keys. A private key of each kind is 32 bytes.
public enum SealingKeyKind: String, Sendable, CaseIterable {
    /// X25519 (RFC 7748).
    case x25519
    /// X-Wing, ML-KEM-768 together with X25519 (draft-connolly-cfrg-xwing-kem): safe as long as one of the two is.
    case xWing = "x-wing"

    /// How long a public key is, in bytes.
    package var publicByteCount: Int {
        switch self {
        case .x25519: 32
        case .xWing: 1216
        }
    }

    /// The kind of a public key in hexadecimal digits, by its length; nil if it is none.
    package init?(publicKey: String) {
        guard let kind = Self.allCases.first(where: { $0.publicByteCount * 2 == publicKey.utf8.count }), DevicePublicKeys.hexBytes(publicKey.utf8) != nil else {
            return nil
        }
        self = kind
    }

    /// Whether this system has the algorithm.
    var isSupported: Bool {
        guard self == .xWing else { return true }
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) { return true }
        return false
    }

    /// The public key of a private one, in hexadecimal digits; nil if that is none, or this system does not have the algorithm.
    package func publicKey(of seed: [UInt8]) -> String? {
        switch self {
        case .x25519:
            return (try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: seed)).map { ContentHash.hex($0.publicKey.rawRepresentation) }
        case .xWing:
            guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return nil }
            return (try? XWingMLKEM768X25519.PrivateKey(seedRepresentation: seed, publicKey: nil)).map { ContentHash.hex($0.publicKey.rawRepresentation) }
        }
    }

    /// A new private key from the system's generator, 32 bytes.
    package static func randomSeed() -> [UInt8] { SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) } }
}
