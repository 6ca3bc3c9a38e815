internal import Crypto

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
