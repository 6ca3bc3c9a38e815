import StrictText
import Testing

@Suite struct UTF8CheckTests {
    /// Every sequence of up to three bytes, and the four-byte ones at every edge, against the standard library's decoder.
    @Test func agreesWithTheStandardLibraryOnShortSequences() {
        for first in UInt8.min...UInt8.max {
            expectAgreement([first])
            for second in UInt8.min...UInt8.max { expectAgreement([first, second]) }
        }
        let edges: [UInt8] = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF]
        for first in UInt8(0x80)...0xFF {
            for second in edges {
                for third in edges {
                    expectAgreement([first, second, third])
                    for fourth in edges { expectAgreement([first, second, third, fourth]) }
                }
            }
        }
    }

    @Test(arguments: 0..<20)
    func aFaultIsFoundAtEveryPlaceOfALongText(length: Int) {
        let text = Array(String(repeating: "aé漢😀", count: 3).utf8) + Array(repeating: UInt8(ascii: "x"), count: length)
        #expect(fault(text) == nil)
        for position in 0...text.count {
            let isBoundary = position == text.count || text[position] & 0xC0 != 0x80
            var broken = text
            broken.insert(0xFF, at: position)
            let expected = isBoundary ? position : text[..<position].lastIndex { $0 & 0xC0 != 0x80 }
            #expect(fault(broken) == expected)
        }
    }

    private func fault(_ bytes: [UInt8]) -> Int? { bytes.withUnsafeBytes { UTF8Check.firstFault(in: $0) } }

    private func expectAgreement(_ bytes: [UInt8]) {
        let isValid = String(validating: bytes, as: UTF8.self) != nil
        if (fault(bytes) == nil) != isValid { Issue.record("\(bytes) is \(isValid ? "" : "not ")UTF-8") }
    }
}
