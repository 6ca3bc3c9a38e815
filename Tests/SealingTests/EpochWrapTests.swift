import Crypto
import Foundation
import Sealing
import Testing

/// The secrets of epochs, as the zone's key record has them.
@Suite struct EpochWrapTests {
    private static let cloud = "0b0e6a6e-0000-4000-8000-000000000001"
    private static let zone = "private/main"
    private static let secret = EpochSecret(number: 2, bytes: Array(0..<32))
    private static let seed = Array(UInt8(32)..<64)
    private static let publicKey = "358072d6365880d1aeea329adf9121383851ed21a28e3b75e965d0d2cd166254"

    /// Made with Tests/Sealed/sealed.py.
    private static let wrapped =
        "AJHxhAw/gx/MXLr42Bm8ifPjPHsoH9Uefx+mgS/wuxRCUnZ/K8Q7dIfkS43tu835ijxWqjBjTnZmR1P/m75hQ3bI2i0iAZb4Tw6H3als1Ko="
    private static let chained = "gW/29UNkSJGznyAf2d2VJsu5sucyC5X/OpMa7go95POIDwFHEuDeDnJwiboDGHLfOBMIWXvrW13qPnOC"

    @Test func wrapsOfAnIndependentProgramAreOpened() throws {
        let wrap = try #require(Data(base64Encoded: Self.wrapped).flatMap { EpochWrap($0) })
        #expect(try wrap.secret(of: 2, by: Self.seed, cloud: Self.cloud, zone: Self.zone) == Self.secret)
        let sealed = try #require(Data(base64Encoded: Self.chained))
        let before = try #require(Self.secret).previous(sealed, cloud: Self.cloud, zone: Self.zone)
        #expect(before == EpochSecret(number: 1, bytes: Array(64..<96)))
    }

    @Test func aWrapOpensForItsHolderAtItsPlaceAlone() throws {
        let secret = EpochSecret.random(number: 3), key = try bytes(Self.publicKey)
        let wrap = try EpochWrap(secret, for: key, cloud: Self.cloud, zone: Self.zone)
        #expect(wrap.bytes.count == 80)
        #expect(try wrap.secret(of: 3, by: Self.seed, cloud: Self.cloud, zone: Self.zone) == secret)
        #expect(throws: BoxError.damaged) { try wrap.secret(of: 2, by: Self.seed, cloud: Self.cloud, zone: Self.zone) }
        #expect(throws: BoxError.damaged) { try wrap.secret(of: 3, by: Self.seed, cloud: Self.cloud, zone: "private/other") }
        #expect(throws: BoxError.damaged) { try wrap.secret(of: 3, by: Self.seed, cloud: "other", zone: Self.zone) }
        #expect(throws: BoxError.damaged) { try wrap.secret(of: 3, by: Array(repeating: 7, count: 32), cloud: Self.cloud, zone: Self.zone) }
        for place in [0, 31, 32, 79] {
            var altered = wrap.bytes
            altered[place] ^= 1
            let other = try #require(EpochWrap(altered))
            #expect(throws: BoxError.damaged) { try other.secret(of: 3, by: Self.seed, cloud: Self.cloud, zone: Self.zone) }
        }
        #expect(EpochWrap(wrap.bytes.dropLast()) == nil)
        #expect(throws: BoxError.cipher) { try EpochWrap(secret, for: [1, 2, 3], cloud: Self.cloud, zone: Self.zone) }
        // Points of small order would make a secret that everybody knows.
        for point in [
            String(repeating: "00", count: 32), "01" + String(repeating: "00", count: 31), "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        ] {
            let point = try bytes(point)
            #expect(throws: BoxError.cipher) { try EpochWrap(secret, for: point, cloud: Self.cloud, zone: Self.zone) }
        }
    }

    @Test func aWrapByXWingOpensForItsHolderAtItsPlaceAlone() throws {
        let secret = EpochSecret.random(number: 3), own = try XWingMLKEM768X25519.PrivateKey()
        let seed = Array(own.seedRepresentation), key = Array(own.publicKey.rawRepresentation)
        let wrap = try EpochWrap(secret, for: key, cloud: Self.cloud, zone: Self.zone)
        #expect(wrap.bytes.count == 1168 && wrap.publicByteCount == 1216)
        #expect(try EpochWrap(wrap.bytes)?.secret(of: 3, by: seed, cloud: Self.cloud, zone: Self.zone) == secret)
        for (number, zone, seed) in [(UInt32(2), Self.zone, seed), (3, "private/other", seed), (3, Self.zone, Self.seed)] {
            #expect(throws: BoxError.damaged) { try wrap.secret(of: number, by: seed, cloud: Self.cloud, zone: zone) }
        }
        // In the part of ML-KEM, in that of X25519, and in the ciphertext.
        for place in [0, 1087, 1088, 1119, 1120, 1167] {
            var altered = wrap.bytes
            altered[place] ^= 1
            let other = try #require(EpochWrap(altered))
            #expect(throws: BoxError.damaged) { try other.secret(of: 3, by: seed, cloud: Self.cloud, zone: Self.zone) }
        }
        for count in [0, 80 + 1, 1167, 1169] { #expect(EpochWrap(Data(count: count)) == nil) }
        // Coefficients of ML-KEM beyond its modulus (FIPS 203, 7.2).
        #expect(throws: BoxError.cipher) {
            try EpochWrap(secret, for: [UInt8](repeating: 0xFF, count: 1216), cloud: Self.cloud, zone: Self.zone)
        }
    }

    @Test func eachEpochOpensTheOneBeforeIt() throws {
        let first = EpochSecret.random(number: 1), second = EpochSecret.random(number: 2)
        let sealed = try second.sealing(first, cloud: Self.cloud, zone: Self.zone)
        #expect(sealed.count == EpochSecret.chainedByteCount)
        #expect(try second.previous(sealed, cloud: Self.cloud, zone: Self.zone) == first)
        #expect(throws: BoxError.damaged) { try EpochSecret.random(number: 2).previous(sealed, cloud: Self.cloud, zone: Self.zone) }
        #expect(throws: BoxError.damaged) { try second.previous(sealed, cloud: Self.cloud, zone: "private/other") }
        #expect(throws: BoxError.damaged) { try first.previous(sealed, cloud: Self.cloud, zone: Self.zone) }
    }

    private func bytes(_ hex: String) throws -> [UInt8] {
        try stride(from: 0, to: hex.count, by: 2).map { try #require(UInt8(hex.dropFirst($0).prefix(2), radix: 16)) }
    }
}
