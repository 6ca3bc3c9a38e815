import Crypto
import Foundation

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
        guard let raw = hexBytes(key[...].utf8), raw.count == 32, let key = try? Curve25519.Signing.PublicKey(rawRepresentation: raw) else { return false }
        return bytes.withUnsafeBytes { key.isValidSignature(signature, for: $0) }
    }

    /// The bytes that lower-case hexadecimal digits stand for; nil if the text is anything else.
    package static func hexBytes(_ digits: some Sequence<UInt8>) -> [UInt8]? {
        digits.withContiguousStorageIfAvailable(hexBytes(in:)) ?? Array(digits).withUnsafeBufferPointer(hexBytes(in:))
    }

    private static func hexBytes(in digits: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// The value of a lower-case hexadecimal digit.
    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
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
