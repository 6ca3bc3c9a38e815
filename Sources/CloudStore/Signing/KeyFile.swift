import Crypto
package import Foundation
import Platform
package import Sealing
import StrictText

/// The content of a device's key file: the keys, in the clear or locked with a passphrase, and their owner.
///
/// Source: docs/sealed.md, "The key file".
package struct KeyFile: Sendable {
    /// Why bytes are not a valid key file. The error quotes nothing of them.
    package enum Fault: Error, Equatable, Sendable {
        /// Not JSON, or without the required members.
        case unreadable
        /// A newer format.
        case version
        /// The seeds are not valid keys.
        case noKeys
        /// The file requests scrypt parameters that are not allowed.
        case cost(n: Int64, r: Int64, p: Int64)
    }

    package enum Keys: Sendable {
        case open(DeviceKeys)
        case locked(PassphraseLock)
    }

    package let cloud: String
    /// The zone's scope and name.
    package let zone: String
    package let device: String
    package let keys: Keys
    private let sealing: SealingKeyKind

    /// The largest file that is read, in bytes.
    package static let byteLimit = 4096
    private static let openVersion = 1
    private static let lockedVersion = 2
    private static let label = "snapsync-key-file 2\n"

    /// Makes the file of unlocked keys.
    package init(_ keys: DeviceKeys, of owner: KeyOwner) { self.init(owner, .open(keys), sealing: keys.sealingKind) }

    /// Makes the file of keys that are locked with a passphrase.
    ///
    /// - Throws: ``BoxError`` with `.cipher` if the memory that scrypt needs cannot be allocated.
    package init(locking keys: DeviceKeys, of owner: KeyOwner, with passphrase: [UInt8]) throws(BoxError) {
        var seeds = keys.signingSeed + keys.sealingSeed
        defer { System.erase(&seeds) }
        let place = Self.place(cloud: owner.cloud, zone: owner.zone.description, device: owner.device, sealing: keys.sealingKind)
        self.init(owner, .locked(try PassphraseLock(locking: seeds, with: passphrase, at: place)), sealing: keys.sealingKind)
    }

    private init(_ owner: KeyOwner, _ keys: Keys, sealing: SealingKeyKind) {
        (cloud, zone, device, self.keys, self.sealing) = (owner.cloud, owner.zone.description, owner.device, keys, sealing)
    }

    /// Whether the keys belong to this owner.
    package func belongs(to owner: KeyOwner) -> Bool { cloud == owner.cloud && zone == owner.zone.description && device == owner.device }

    /// Returns the keys behind a lock.
    ///
    /// - Throws: ``BoxError``: `.damaged` for a wrong passphrase, `.cipher` if the memory that scrypt needs cannot be allocated.
    package func unlocked(_ lock: PassphraseLock, with passphrase: [UInt8]) throws(BoxError) -> DeviceKeys {
        var seeds = Array(try lock.open(with: passphrase, at: Self.place(cloud: cloud, zone: zone, device: device, sealing: sealing)))
        defer { System.erase(&seeds) }
        guard seeds.count == 64, let keys = DeviceKeys(signingSeed: Array(seeds[..<32]), sealingSeed: Array(seeds[32...]), sealing: sealing) else {
            throw .damaged
        }
        return keys
    }

    private static func place(cloud: String, zone: String, device: String, sealing: SealingKeyKind) -> [UInt8] {
        Array("\(label)\(cloud)\n\(zone)\n\(device)\n\(sealing == .x25519 ? "" : "\(sealing.rawValue)\n")".utf8)
    }
}

// Reading and writing the file's bytes.
extension KeyFile {
    /// The file's bytes.
    package func encoded() throws -> Data {
        switch keys {
        case .open(let keys):
            try StrictJSON.encode(
                Document(
                    cloud: cloud, device: device, formatVersion: Self.openVersion, sealing: sealingName, sealingSeed: Hexadecimal.text(keys.sealingSeed),
                    signingSeed: Hexadecimal.text(keys.signingSeed), zone: zone))
        case .locked(let lock):
            try StrictJSON.encode(
                Document(
                    cloud: cloud, device: device, formatVersion: Self.lockedVersion, keys: lock.box.base64EncodedString(),
                    scrypt: Scrypt(
                        n: Int64(lock.cost), p: Int64(PassphraseLock.parallelism), r: Int64(PassphraseLock.blockSize), salt: Hexadecimal.text(lock.salt)),
                    sealing: sealingName, zone: zone))
        }
    }

    /// A file of X25519 keys does not name their kind.
    private var sealingName: String? { sealing == .x25519 ? nil : sealing.rawValue }

    /// Reads a file's bytes. The scrypt parameters are checked but not used yet.
    package init(_ bytes: Data) throws(Fault) {
        // Do not pass on the decoder's error: its text may quote what it read.
        guard bytes.count <= Self.byteLimit, let document = try? StrictJSON.decode(Document.self, from: bytes) else { throw .unreadable }
        guard let sealing = document.sealing.map(SealingKeyKind.init(rawValue:)) ?? .x25519 else { throw .version }
        (cloud, zone, device, self.sealing) = (document.cloud, document.zone, document.device, sealing)
        switch document.formatVersion {
        case Self.openVersion:
            guard let signing = document.signingSeed, let seed = document.sealingSeed else { throw .unreadable }
            guard let signing = Hexadecimal.bytes(signing.utf8), let seed = Hexadecimal.bytes(seed.utf8),
                let keys = DeviceKeys(signingSeed: signing, sealingSeed: seed, sealing: sealing)
            else { throw .noKeys }
            self.keys = .open(keys)
        case Self.lockedVersion:
            guard let scrypt = document.scrypt, let text = document.keys else { throw .unreadable }
            guard scrypt.r == PassphraseLock.blockSize, scrypt.p == PassphraseLock.parallelism, let cost = Int(exactly: scrypt.n), PassphraseLock.isCost(cost)
            else { throw .cost(n: scrypt.n, r: scrypt.r, p: scrypt.p) }
            guard let box = Data(base64Encoded: text), let salt = Hexadecimal.bytes(scrypt.salt.utf8),
                let lock = PassphraseLock(salt: salt, cost: cost, box: box)
            else { throw .noKeys }
            keys = .locked(lock)
        default: throw .version
        }
    }

    fileprivate struct Document: Codable {
        let cloud: String
        let device: String
        let formatVersion: Int
        var keys: String?
        var scrypt: Scrypt?
        /// The kind of the sealing key; absent for X25519.
        var sealing: String?
        var sealingSeed: String?
        var signingSeed: String?
        let zone: String
    }

    fileprivate struct Scrypt: Codable {
        let n: Int64
        let p: Int64
        let r: Int64
        let salt: String
    }
}

/// A code that a person keeps on paper to read a sealed zone after all devices are lost: a private key as 18 words, with a checksum.
///
/// The zone stores only the public key. Source: docs/sealed.md, "The recovery code".
public struct RecoveryCode: Sendable {
    /// The private key, 32 bytes; of which kind, the zone says.
    package let seed: [UInt8]

    /// The number of words of a code.
    package static let wordCount = 18
    private static let label = "snapsync-recovery 1\n"
    private static let checkLength = 4

    /// A new code from the system's generator.
    public init() { seed = SealingKeyKind.randomSeed() }

    /// Parses what a person types: upper or lower case, with hyphens, spaces or line ends; nil if a word is wrong.
    public init?(_ text: String) {
        guard let bytes = KeyWords.bytes(text), bytes.count == Self.wordCount * 2 else { return nil }
        let seed = Array(bytes.dropLast(Self.checkLength))
        guard Self.check(seed) == Array(bytes.suffix(Self.checkLength)) else { return nil }
        self.seed = seed
    }

    /// The public key in a zone whose keys are of this kind, in lower-case hexadecimal digits; nil where this system does not have the algorithm.
    package func publicKey(_ kind: SealingKeyKind) -> String? { kind.publicKey(of: seed) }

    /// The words, joined by hyphens. They are a secret: show them once, and do not store them.
    public var words: String { KeyWords.text(seed + Self.check(seed)) }

    /// Four bytes of checksum that detect typing errors.
    private static func check(_ seed: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: Array(label.utf8) + seed).prefix(checkLength)) }
}

extension RecoveryCode: CustomStringConvertible, CustomReflectable {
    /// Contains nothing of the code, so that printing it by accident reveals nothing.
    public var description: String { "recovery code" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
