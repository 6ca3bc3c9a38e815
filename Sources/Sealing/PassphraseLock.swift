internal import Crypto
internal import CryptoExtras
package import Foundation

/// Bytes encrypted with a passphrase: AES-256-GCM with a key that scrypt (RFC 7914) derives from the passphrase.
///
///     let lock = try PassphraseLock(locking: seeds, with: passphrase, at: place)
///     let same = try lock.open(with: passphrase, at: place)
///
/// The block size is 8 and the parallelism 1, as in RFC 7914's examples; only the cost varies. Check the cost of a lock that was read from a file
/// (``isCost(_:)``) before opening it, because scrypt allocates 1024 bytes times the cost. Source: docs/sealed.md, "The key file".
package struct PassphraseLock: Sendable, Equatable {
    /// The default CPU and memory cost N for new locks: 128 MiB.
    package static let usualCost = 1 << 17
    package static let blockSize = 8
    package static let parallelism = 1
    package static let saltByteCount = 32
    /// The lowest and the highest cost of a lock that may be opened: 16 MiB and 1 GiB.
    package static let costs = (1 << 14)...(1 << 20)
    private static let nonceByteCount = 12
    private static let tagByteCount = 16

    /// The salt of scrypt.
    package let salt: [UInt8]
    /// The CPU and memory cost N of scrypt, a power of two.
    package let cost: Int
    /// Nonce, ciphertext and tag.
    package let box: Data

    /// The lock from its parts; nil for a cost that is not allowed, a salt of another length, or a box that is too short.
    package init?(salt: [UInt8], cost: Int, box: Data) {
        guard Self.isCost(cost), salt.count == Self.saltByteCount, box.count > Self.nonceByteCount + Self.tagByteCount else { return nil }
        (self.salt, self.cost, self.box) = (salt, cost, box)
    }

    /// Whether a cost is a power of two within ``costs``.
    package static func isCost(_ cost: Int) -> Bool { costs.contains(cost) && cost & (cost - 1) == 0 }

    /// Locks bytes with a new salt.
    ///
    /// - Parameter place: the context that the lock is bound to; it opens only with the same one.
    /// - Throws: ``BoxError`` with `.cipher` for an empty passphrase, or if the memory cannot be allocated.
    package init(locking bytes: [UInt8], with passphrase: [UInt8], at place: [UInt8], cost: Int = usualCost) throws(BoxError) {
        salt = SymmetricKey(size: .init(bitCount: Self.saltByteCount * 8)).withUnsafeBytes { Array($0) }
        self.cost = cost
        do {
            let key = try Self.key(passphrase, salt: salt, cost: cost)
            guard let combined = try AES.GCM.seal(bytes, using: key, authenticating: place).combined else { throw BoxError.cipher }
            box = combined
        } catch {
            throw .cipher
        }
    }

    /// Decrypts the bytes.
    ///
    /// - Throws: ``BoxError``: `.damaged` for another passphrase or place, or for an altered lock; `.cipher` if the memory cannot be allocated.
    package func open(with passphrase: [UInt8], at place: [UInt8]) throws(BoxError) -> Data {
        let key: SymmetricKey
        do {
            key = try Self.key(passphrase, salt: salt, cost: cost)
        } catch {
            throw .cipher
        }
        do {
            return try AES.GCM.open(AES.GCM.SealedBox(combined: box), using: key, authenticating: place)
        } catch {
            throw .damaged
        }
    }

    private static func key(_ passphrase: [UInt8], salt: [UInt8], cost: Int) throws -> SymmetricKey {
        guard isCost(cost), !passphrase.isEmpty else { throw BoxError.cipher }
        return try KDF.Scrypt.deriveKey(
            from: passphrase, salt: salt, outputByteCount: 32, rounds: cost, blockSize: blockSize, parallelism: parallelism)
    }
}
