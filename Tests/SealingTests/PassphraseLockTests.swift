import Foundation
import Sealing
import Testing

/// What a passphrase locks; `Tests/snapsyncTests/KeyFileTests.swift` opens it with an independent scrypt.
struct PassphraseLockTests {
    private static let cost = PassphraseLock.costs.lowerBound
    private static let place = Array("desk".utf8)
    private static let passphrase = Array("correct horse".utf8)

    @Test func onlyThePassphraseAndThePlaceOpenIt() throws {
        let secret = (0..<64).map { UInt8($0) }
        let lock = try PassphraseLock(locking: secret, with: Self.passphrase, at: Self.place, cost: Self.cost)
        #expect(try lock.open(with: Self.passphrase, at: Self.place) == Data(secret))
        #expect(throws: BoxError.damaged) { try lock.open(with: Self.passphrase + [1], at: Self.place) }
        #expect(throws: BoxError.damaged) { try lock.open(with: Self.passphrase, at: [1]) }
        #expect(throws: BoxError.cipher) { try lock.open(with: [], at: Self.place) }
        for position in [0, 20, lock.box.count - 1] {
            var box = lock.box
            box[position] ^= 1
            let other = try #require(PassphraseLock(salt: lock.salt, cost: lock.cost, box: box))
            #expect(throws: BoxError.damaged) { try other.open(with: Self.passphrase, at: Self.place) }
        }
        // Another salt each time: equal secrets do not look equal.
        let second = try PassphraseLock(locking: secret, with: Self.passphrase, at: Self.place, cost: Self.cost)
        #expect(second.salt != lock.salt && second.box != lock.box)
    }

    @Test func absurdParametersMakeNoLock() {
        let box = Data(repeating: 0, count: 92), salt = [UInt8](repeating: 0, count: 32)
        #expect(PassphraseLock(salt: salt, cost: PassphraseLock.usualCost, box: box) != nil)
        for cost in [0, -1, 1, 2, 1 << 13, (1 << 17) + 1, 3 << 16, 1 << 21, 1 << 40, .max, .min] {
            #expect(PassphraseLock(salt: salt, cost: cost, box: box) == nil, "\(cost)")
        }
        #expect(PassphraseLock(salt: Array(salt.dropLast()), cost: PassphraseLock.usualCost, box: box) == nil)
        #expect(PassphraseLock(salt: salt, cost: PassphraseLock.usualCost, box: box.prefix(28)) == nil)
    }
}
