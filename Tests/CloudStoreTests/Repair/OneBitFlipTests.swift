import CloudStore
import DirectoryCloud
import Testing

@Suite struct OneBitFlipTests {
    @Test func everyFlippedBitIsFlippedBack() {
        let good = [UInt8]("{\"number\":1}".utf8), hash = ContentHash.of(good)
        for bit in 0..<good.count * 8 {
            var bad = good
            bad[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(OneBitFlip.mend(bad, sha256: hash) == good)
        }
        #expect(OneBitFlip.mend(good.map { $0 ^ 3 }, sha256: hash) == nil)
        #expect(OneBitFlip.mend(good + [0], sha256: hash) == nil)
        #expect(OneBitFlip.mend([UInt8](repeating: 0, count: OneBitFlip.byteLimit + 1), sha256: hash) == nil)
    }
}
