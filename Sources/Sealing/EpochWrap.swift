internal import Crypto
package import Foundation

/// The secret of an epoch, encrypted for the holder of an X25519 key: HPKE in base mode (RFC 9180) with DHKEM(X25519, HKDF-SHA256), HKDF-SHA256
/// and ChaCha20-Poly1305.
///
/// The bytes are the encapsulated key (32) and the encrypted secret with its tag (48). The `info` contains the cloud, the zone and the epoch, so
/// a wrap opens nowhere else. Source: docs/sealed.md, "The key record".
package struct EpochWrap: Hashable, Sendable {
    /// The number of bytes of a wrap.
    package static let byteCount = keyLength + EpochSecret.byteCount + 16
    private static let keyLength = 32
    private static let label = "snapsync-epoch 1"

    /// The encapsulated key and the ciphertext.
    package let bytes: Data

    /// The wrap from bytes; nil if their number is wrong.
    package init?(_ bytes: Data) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = Data(bytes)
    }

    /// Wraps a secret.
    ///
    /// - Parameter key: the X25519 public key, 32 bytes.
    /// - Throws: ``BoxError`` with `.cipher` if the bytes are not a key, or are a key of small order.
    package init(_ secret: EpochSecret, for key: [UInt8], cloud: String, zone: String) throws(BoxError) {
        do {
            let recipient = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: key)
            // With a point of small order, anybody could compute the shared secret (RFC 7748, section 6.1).
            let probe = try Curve25519.KeyAgreement.PrivateKey().sharedSecretFromKeyAgreement(with: recipient)
            guard probe.withUnsafeBytes({ $0.contains { $0 != 0 } }) else { throw BoxError.cipher }
            var sender = try HPKE.Sender(
                recipientKey: recipient, ciphersuite: .Curve25519_SHA256_ChachaPoly, info: Self.info(cloud, zone, secret.number))
            bytes = try sender.encapsulatedKey + sender.seal(Data(secret.bytes))
        } catch {
            throw .cipher
        }
    }

    /// The secret, for the holder of the private key.
    ///
    /// - Parameter seed: the X25519 private key, 32 bytes.
    /// - Throws: ``BoxError`` with `.damaged` if the wrap was made for another key, cloud, zone or epoch, or was altered.
    package func secret(of number: UInt32, by seed: [UInt8], cloud: String, zone: String) throws(BoxError) -> EpochSecret {
        do {
            let key = try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: seed)
            var receiver = try HPKE.Recipient(
                privateKey: key, ciphersuite: .Curve25519_SHA256_ChachaPoly, info: Self.info(cloud, zone, number), encapsulatedKey: bytes.prefix(Self.keyLength)
            )
            let opened = try receiver.open(bytes.dropFirst(Self.keyLength))
            if let secret = EpochSecret(number: number, bytes: Array(opened)) { return secret }
        } catch {
            throw .damaged
        }
        throw .damaged
    }

    private static func info(_ cloud: String, _ zone: String, _ number: UInt32) -> Data { Data("\(label)\n\(cloud)\n\(zone)\n\(number)\n".utf8) }
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
            let box = try AES.GCM.seal(previous.bytes, using: key("snapsync.previous.1"), authenticating: Self.place(cloud, zone, number))
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
                AES.GCM.SealedBox(combined: sealed), using: key("snapsync.previous.1"), authenticating: Self.place(cloud, zone, number))
            if let secret = EpochSecret(number: number - 1, bytes: Array(bytes)) { return secret }
        } catch {
            throw .damaged
        }
        throw .damaged
    }

    private static func place(_ cloud: String, _ zone: String, _ number: UInt32) -> Data { Data("\(chainLabel)\n\(cloud)\n\(zone)\n\(number)\n".utf8) }
}
