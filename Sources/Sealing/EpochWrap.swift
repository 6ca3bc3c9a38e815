internal import Crypto
package import Foundation

/// The secret of an epoch, encrypted for one holder of a key: HPKE in base mode (RFC 9180), for an X25519 key with DHKEM(X25519, HKDF-SHA256),
/// HKDF-SHA256 and ChaCha20-Poly1305, for an X-Wing key with X-Wing, HKDF-SHA256 and AES-256-GCM.
///
/// The bytes are the encapsulated key (32, or 1120) and the encrypted secret with its tag (48). The `info` names the cloud, the zone and the epoch,
/// so a wrap opens nowhere else. Source: docs/sealed.md, "The key record".
package struct EpochWrap: Hashable, Sendable {
    /// The lengths of the encapsulated key by those of the public key, in bytes.
    private static let keyLengths = [32: 32, xWingKeyLength: 1120]
    private static let xWingKeyLength = 1216
    private static let sealedLength = EpochSecret.byteCount + 16
    private static let label = "snapsync-epoch 1"

    /// The encapsulated key and the ciphertext.
    package let bytes: Data
    /// The length of the public key that it is for, in bytes.
    package let publicByteCount: Int

    /// The wrap from bytes; nil if their number is wrong.
    package init?(_ bytes: Data) {
        guard let kind = Self.keyLengths.first(where: { $0.value + Self.sealedLength == bytes.count }) else { return nil }
        self.bytes = Data(bytes)
        publicByteCount = kind.key
    }

    /// Wraps a secret.
    ///
    /// - Parameter key: the public key: X25519, 32 bytes, or X-Wing, 1216 bytes.
    /// - Throws: ``BoxError`` with `.cipher` for bytes that are no key, or one of small order.
    package init(_ secret: EpochSecret, for key: [UInt8], cloud: String, zone: String) throws(BoxError) {
        publicByteCount = key.count
        do {
            let info = Self.info(cloud: cloud, zone: zone, secret.number)
            if key.count == Self.xWingKeyLength {
                guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { throw BoxError.cipher }
                let recipient = try XWingMLKEM768X25519.PublicKey(rawRepresentation: key)
                var sender = try HPKE.Sender(recipientKey: recipient, ciphersuite: .XWingMLKEM768X25519_SHA256_AES_GCM_256, info: info)
                bytes = try sender.encapsulatedKey + sender.seal(Data(secret.bytes))
                return
            }
            let recipient = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: key)
            // With a point of small order, anybody could compute the shared secret (RFC 7748, section 6.1).
            let probe = try Curve25519.KeyAgreement.PrivateKey().sharedSecretFromKeyAgreement(with: recipient)
            guard probe.withUnsafeBytes({ $0.contains { $0 != 0 } }) else { throw BoxError.cipher }
            var sender = try HPKE.Sender(recipientKey: recipient, ciphersuite: .Curve25519_SHA256_ChachaPoly, info: info)
            bytes = try sender.encapsulatedKey + sender.seal(Data(secret.bytes))
        } catch {
            throw .cipher
        }
    }

    /// The secret, for the holder of the private key.
    ///
    /// - Parameter seed: the private key of that kind, 32 bytes.
    /// - Throws: ``BoxError`` with `.damaged` if the wrap was made for another key, cloud, zone or epoch, or was altered.
    package func secret(of number: UInt32, by seed: [UInt8], cloud: String, zone: String) throws(BoxError) -> EpochSecret {
        do {
            let opened = try opened(by: seed, Self.info(cloud: cloud, zone: zone, number))
            if let secret = EpochSecret(number: number, bytes: Array(opened)) { return secret }
        } catch {
            throw .damaged
        }
        throw .damaged
    }

    private func opened(by seed: [UInt8], _ info: Data) throws -> Data {
        let encapsulated = bytes.dropLast(Self.sealedLength), sealed = bytes.suffix(Self.sealedLength)
        var receiver: HPKE.Recipient
        if publicByteCount == Self.xWingKeyLength {
            guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { throw BoxError.cipher }
            receiver = try HPKE.Recipient(
                privateKey: XWingMLKEM768X25519.PrivateKey(seedRepresentation: seed, publicKey: nil),
                ciphersuite: .XWingMLKEM768X25519_SHA256_AES_GCM_256, info: info, encapsulatedKey: encapsulated)
        } else {
            receiver = try HPKE.Recipient(
                privateKey: Curve25519.KeyAgreement.PrivateKey(rawRepresentation: seed), ciphersuite: .Curve25519_SHA256_ChachaPoly, info: info,
                encapsulatedKey: encapsulated)
        }
        return try receiver.open(sealed)
    }

    private static func info(cloud: String, zone: String, _ number: UInt32) -> Data { Data("\(label)\n\(cloud)\n\(zone)\n\(number)\n".utf8) }
}

extension EpochSecret {
    private static let chainLabel = "snapsync-previous 1"
    /// The length of a secret that the next epoch has sealed: nonce, secret, tag.
    package static let chainedByteCount = 12 + byteCount + 16

    /// Seals the previous epoch's secret with this one, so that a member of this epoch can read all earlier ones.
    ///
    /// AES-256-GCM with a key derived from this secret, as nonce, ciphertext and tag.
    package func sealing(_ previous: EpochSecret, cloud: String, zone: String) throws(BoxError) -> Data {
        do {
            let box = try AES.GCM.seal(previous.bytes, using: key("snapsync.previous.1"), authenticating: Self.place(cloud: cloud, zone: zone, number))
            if let combined = box.combined { return combined }
        } catch {
            throw .cipher
        }
        throw .cipher
    }

    /// Opens the previous epoch's secret.
    ///
    /// - Throws: ``BoxError`` with `.damaged`.
    package func previous(_ sealed: Data, cloud: String, zone: String) throws(BoxError) -> EpochSecret {
        do {
            let bytes = try AES.GCM.open(
                AES.GCM.SealedBox(combined: sealed), using: key("snapsync.previous.1"), authenticating: Self.place(cloud: cloud, zone: zone, number))
            if let secret = EpochSecret(number: number - 1, bytes: Array(bytes)) { return secret }
        } catch {
            throw .damaged
        }
        throw .damaged
    }

    private static func place(cloud: String, zone: String, _ number: UInt32) -> Data { Data("\(chainLabel)\n\(cloud)\n\(zone)\n\(number)\n".utf8) }
}

/// The secret of one epoch of a sealed zone. Every holder can read what was sealed in that epoch.
///
/// An epoch ends when a member is removed or when the keys are rotated. The next epoch has another secret.
/// Source: docs/sealed.md, "Epochs and keys".
package struct EpochSecret: Sendable, Equatable {
    /// The number of bytes of a secret.
    package static let byteCount = 32

    /// The epoch's number, from 1.
    package let number: UInt32
    /// The secret, 32 bytes. It must never enter a database, a cloud, a log or an error.
    package var bytes: [UInt8] { secret.withUnsafeBytes { Array($0) } }
    /// `SymmetricKey` overwrites its memory when it is freed.
    private let secret: SymmetricKey

    /// The secret from 32 bytes; nil for any other number of bytes, or if `number` is 0.
    package init?(number: UInt32, bytes: [UInt8]) {
        guard number > 0, bytes.count == Self.byteCount else { return nil }
        self.init(number: number, key: SymmetricKey(data: bytes))
    }

    /// A new secret from the system's random generator.
    package static func random(number: UInt32) -> EpochSecret {
        EpochSecret(number: max(1, number), key: SymmetricKey(size: .bits256))
    }

    private init(number: UInt32, key: SymmetricKey) {
        self.number = number
        secret = key
    }

    /// The key for one purpose: HKDF-SHA256 (RFC 5869) of the secret, without salt, with the purpose as `info`.
    func key(_ purpose: StaticString, byteCount: Int = 32) -> SymmetricKey {
        let info = UnsafeRawBufferPointer(start: purpose.utf8Start, count: purpose.utf8CodeUnitCount)
        return HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, info: info, outputByteCount: byteCount)
    }
}

extension EpochSecret: CustomStringConvertible, CustomReflectable {
    /// The number only, so that an accidental print does not reveal the secret.
    package var description: String { "epoch \(number)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
