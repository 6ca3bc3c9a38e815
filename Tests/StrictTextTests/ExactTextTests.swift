import StrictText
import TestSupport
import Testing

/// An exact text is its bytes, whatever its characters are.
@Suite struct ExactTextTests {
    private let seed = UInt64.random(in: 1...UInt64.max)

    /// Texts that are one to Unicode and two to everybody else.
    private static let lookalikes = [
        ("\u{E9}", "e\u{301}"), ("K", "\u{212A}"), (";", "\u{37E}"), ("\u{AC00}", "\u{1100}\u{1161}"), ("a\u{301}\u{323}", "a\u{323}\u{301}"),
    ]

    @Test func canonicallyEqualTextsAreTwo() {
        for (one, other) in Self.lookalikes {
            #expect(one == other)
            #expect(one.exact != other.exact && one.folded != other.folded)
            #expect(Set([one.exact, other.exact]).count == 2)
            #expect((one.exact < other.exact) == one.utf8.lexicographicallyPrecedes(other.utf8))
            #expect((one.exact < other.exact) != (other.exact < one.exact))
        }
    }

    @Test func comparingSearchingAndDividingGoByBytes() {
        let texts = Array(OddText(seed: seed, count: 400))
        for (one, other) in zip(texts, texts.reversed()) {
            #expect((one.exact == other.exact) == (Array(one.utf8) == Array(other.utf8)), "seed \(seed)")
            #expect((one.exact < other.exact) == one.utf8.lexicographicallyPrecedes(other.utf8), "seed \(seed)")
            let both = one + other
            #expect(both.exact.hasPrefix(one) && both.exact.hasSuffix(other) && both.exact.contains(other), "seed \(seed)")
            let bytes = "\(one)/\(other)".utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map(Array.init)
            #expect("\(one)/\(other)".exact.split(separator: "/", omittingEmptySubsequences: false).map { Array($0.utf8) } == bytes, "seed \(seed)")
        }
        #expect(!"a\u{301}".exact.hasPrefix("\u{E1}") && "a\u{301}".exact.hasPrefix("a"))
    }

    @Test func onlyLettersOfASCIIAreFolded() {
        #expect("Straße".folded == "sTRAßE".folded && "Ä".folded != "ä".folded && "\u{212A}".folded != "k")
        #expect("no\u{212A}ase".upper == "NO\u{212A}ASE")
    }

    private struct Column: Hashable {
        @ExactText var name: String
        let place: Int
    }

    @Test func aWrappedPropertyMakesItsTypeExact() {
        let one = Column(name: "\u{E9}", place: 1), other = Column(name: "e\u{301}", place: 1)
        #expect(one != other && Set([one, other]).count == 2)
    }
}
