import Crypto
import Foundation
import StrictText

/// The public halves of a device's keys. With them other devices check its signatures and encrypt for it.
public struct DevicePublicKeys: Hashable, Sendable, Codable {
    /// The Ed25519 public key (RFC 8032), as 64 lower-case hexadecimal digits.
    public let signing: String
    /// The X25519 public key (RFC 7748), as 64 lower-case hexadecimal digits, or the X-Wing public key, as 2432. A sealed zone encrypts its keys for it.
    public let sealing: String

    public init(signing: String, sealing: String) { (self.signing, self.sealing) = (signing, sealing) }

    enum CodingKeys: String, CodingKey {
        case signing = "key", sealing = "sealKey"
    }

    /// Whether both have the form of keys.
    package var isWellFormed: Bool { ContentHash.isHash(signing) && sealingKind != nil }

    /// The kind of ``sealing``; nil if it is no key.
    package var sealingKind: SealingKeyKind? { SealingKeyKind(publicKey: sealing) }

    /// The short form of both keys that people compare.
    public var fingerprint: KeyFingerprint { KeyFingerprint(of: self) }

    /// Whether `signature` is a valid signature of these bytes by the Ed25519 public key `key`.
    ///
    /// - Parameter key: 64 hexadecimal digits. Any other text is not a key, and the result is false.
    package static func isValid(_ signature: [UInt8], of bytes: [UInt8], by key: String) -> Bool {
        guard let raw = Hexadecimal.bytes(key.utf8), raw.count == 32, let key = try? Curve25519.Signing.PublicKey(rawRepresentation: raw) else { return false }
        return bytes.withUnsafeBytes { key.isValidSignature(signature, for: $0) }
    }
}

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
        guard let kind = Self.allCases.first(where: { $0.publicByteCount * 2 == publicKey.utf8.count }), Hexadecimal.bytes(publicKey.utf8) != nil else {
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
            return (try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: seed)).map { Hexadecimal.text($0.publicKey.rawRepresentation) }
        case .xWing:
            guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return nil }
            return (try? XWingMLKEM768X25519.PrivateKey(seedRepresentation: seed, publicKey: nil)).map { Hexadecimal.text($0.publicKey.rawRepresentation) }
        }
    }

    /// A new private key from the system's generator, 32 bytes.
    package static func randomSeed() -> [UInt8] { SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) } }
}
