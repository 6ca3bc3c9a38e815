import Foundation
import StrictText
import TestSupport
import Testing

@testable import CloudStore

/// The keys with which a device gets those of a sealed zone.
@Suite struct SealingKeyTests {
    /// The public keys that Python's cryptography makes of some seeds; the first seed is that of the vectors of draft-connolly-cfrg-xwing-kem.
    @Test func xWingKeysAreTheDocumentedOnes() throws {
        struct Vectors: Decodable {
            struct Key: Decodable {
                let seed: String
                let publicKey: String
            }
            let xWing: [Key]
        }
        let path = Repository.root.appendingPathComponent("Fixtures/sealed-2/boxes.json")
        let keys = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: path)).xWing
        #expect(keys.count == 3)
        for key in keys {
            let seed = try #require(Hexadecimal.bytes(key.seed.utf8))
            #expect(SealingKeyKind.xWing.publicKey(of: seed) == key.publicKey)
            #expect(SealingKeyKind(publicKey: key.publicKey) == .xWing)
            let device = try #require(DeviceKeys(signingSeed: seed, sealingSeed: seed, sealing: .xWing))
            #expect(device.publicKeys.sealing == key.publicKey && device.sealingSeed == seed && device.publicKeys.isWellFormed)
            #expect(device.publicKeys.fingerprint != DeviceKeys(signingSeed: seed, sealingSeed: seed)?.publicKeys.fingerprint)
        }
        #expect(SealingKeyKind.xWing.publicKey(of: [1, 2, 3]) == nil && SealingKeyKind.x25519.publicKey(of: [1, 2, 3]) == nil)
        #expect(SealingKeyKind(publicKey: String(repeating: "0", count: 64)) == .x25519)
        for text in ["", String(repeating: "0", count: 63), String(repeating: "g", count: 64), String(repeating: "A", count: 2432)] {
            #expect(SealingKeyKind(publicKey: text) == nil)
        }
    }

    /// A key file says which kind of key it has, and a locked one does not open as another kind.
    @Test func aKeyFileKeepsTheKind() throws {
        let owner = KeyOwner(cloud: "c", zone: .standard, device: "phone"), passphrase = Array("correct horse battery".utf8)
        for kind in SealingKeyKind.allCases {
            let keys = try #require(
                DeviceKeys(signingSeed: Array(repeating: 1, count: 32), sealingSeed: Array(repeating: 2, count: 32), sealing: kind))
            let bytes = try KeyFile(keys, of: owner).encoded()
            #expect(String(decoding: bytes, as: UTF8.self).contains("\"sealing\":\"x-wing\"") == (kind == .xWing))
            guard case .open(let same) = try KeyFile(bytes).keys else {
                Issue.record("it is locked")
                continue
            }
            #expect(same.publicKeys == keys.publicKeys && same.sealingKind == kind)
            let locked = try KeyFile(locking: keys, of: owner, with: passphrase).encoded()
            func unlocked(_ data: Data) throws -> DeviceKeys {
                let file = try KeyFile(data)
                guard case .locked(let lock) = file.keys else { throw KeyFile.Fault.noKeys }
                return try file.unlocked(lock, with: passphrase)
            }
            #expect(try unlocked(locked).publicKeys == keys.publicKeys)
            guard kind == .xWing else { continue }
            let text = String(decoding: locked, as: UTF8.self)
            #expect(throws: (any Error).self) { try unlocked(Data(text.replacing("\"sealing\":\"x-wing\",", with: "").utf8)) }
            #expect(throws: KeyFile.Fault.version) { try KeyFile(Data(text.replacing("x-wing", with: "y-wing").utf8)) }
        }
    }

    @Test func featuresThatDoNotGoTogetherAreNone() {
        for features in [[], ["signed"], ["sealed", "signed"], ["padded", "sealed", "signed"], ["padded", "post-quantum", "sealed", "signed"]] {
            #expect(ZoneProtection(features: features)?.features == features)
        }
        for features in [["sealed"], ["padded"], ["padded", "signed"], ["post-quantum", "signed"], ["signed", "other"]] {
            #expect(ZoneProtection(features: features) == nil, "\(features)")
        }
    }
}
