import CloudStore
import StrictText
import Testing

struct MessageIDTests {
    @Test func newIDsComeInTheOrderOfTheirInstants() throws {
        let instants = [0, 1, 15, 16, 255, 1_795_000_000_000_000, 4_102_444_800_000_000].map { Instant(microseconds: $0) }
        let ids = instants.map { CloudMessage.newID(at: $0) }
        #expect(ids == ids.sorted() && Set(ids).count == ids.count)
        #expect(ids.allSatisfy { $0.count == 32 && $0.allSatisfy { $0.isHexDigit && !$0.isUppercase } })
        #expect(CloudMessage.newID(at: instants[5]) != ids[5])
        #expect(CloudMessage.newID(at: .init(microseconds: -1)).hasPrefix("0000000000000000"))
    }
}
