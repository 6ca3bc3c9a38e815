import Foundation
import Sealing
import Testing

@Suite struct PaddingTests {
    private static let secrets = (1...2).map { number in EpochSecret(number: UInt32(number), bytes: [UInt8](repeating: UInt8(number), count: 32))! }

    private func keys(isPadded: Bool = true) throws -> BoxKeys { try BoxKeys(cloud: "c", zone: "z", epochs: Self.secrets, isPadded: isPadded) }

    @Test func lengthsAreAtMostTwelvePercentLonger() {
        for count in 2...100_000 {
            let length = Padding.length(count)
            #expect(length >= count && Double(length) <= Double(count) * 1.12 && Padding.length(length) == length, "\(count)")
        }
        #expect([0, 1, 9, 17, 1000, 1_000_000].map(Padding.length) == [0, 1, 10, 18, 1024, 1_015_808])
        for limit in [1, 2, 9, 1000, 1023, 1024, 44_852] {
            let most = Padding.contentLimit(limit)
            #expect(Padding.length(most + 1) <= limit && Padding.length(most + 2) > limit, "\(limit)")
        }
    }

    @Test(arguments: [0, 1, 2, 15, 16, 17, 255, 256, 1000, 200_000]) func contentsComeBack(count: Int) throws {
        let keys = try keys()
        for last in [UInt8(0), 0x80, 7] {
            let contents = (0..<count).map { $0 == count - 1 ? last : UInt8(truncatingIfNeeded: $0) }
            let box = try keys.seal(contents, kind: .member, dataset: "a")
            #expect(box.count == Padding.length(count + 1) + BoxKeys.overhead)
            #expect(try keys.open(box, kind: .member, dataset: "a") == contents)
            #expect(try keys.seal(contents, kind: .member, dataset: "a") == box)
        }
    }

    /// A member could seal anything: what is not padded just so is refused, or one content would have several boxes.
    @Test func otherPaddingIsRefused() throws {
        let padded = try keys(), plain = try keys(isPadded: false)
        let right = Array("two milks".utf8) + [0x80]
        #expect(try padded.open(plain.seal(right, kind: .record, dataset: "a"), kind: .record, dataset: "a") == Array("two milks".utf8))
        for wrong in [[], [0], Array("two milks".utf8), right + [0], right + [0, 0], Array("two milks".utf8) + [0x40], [UInt8](repeating: 0, count: 10)] {
            let box = try plain.seal(wrong, kind: .record, dataset: "a")
            #expect(throws: BoxError.damaged, "\(wrong)") { try padded.open(box, kind: .record, dataset: "a") }
        }
    }
}
