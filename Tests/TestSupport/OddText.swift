/// Random texts in which characters that matter to SQL, to shells and to file formats meet what joins them to one `Character`: combining marks,
/// joiners, variation selectors, regional indicators. The same ones for the same seed, and none with NUL.
///
///     for text in OddText(seed: seed, count: 5000) { … }
package struct OddText: Sequence, IteratorProtocol {
    private var state: UInt64
    private var left: Int
    private let hasControls: Bool

    private static let special = Array("\"'`\\$%;,.|&<>()[]{}*?!#~=^-_/:@+ kKåa0\u{E9}\u{212A}\u{37E}\u{1F468}".unicodeScalars)
    private static let joining: [Unicode.Scalar] = [
        "\u{301}", "\u{308}", "\u{20E3}", "\u{200D}", "\u{FE0F}", "\u{1F1E9}", "\u{1F1EA}", "\u{1F3FD}", "\u{E0067}", "\u{94D}", "\u{110BD}", "\u{1112}",
        "\u{1161}", "\u{11AB}",
    ]

    /// - Parameter hasControls: whether control characters may be among the text.
    package init(seed: UInt64, count: Int, hasControls: Bool = false) {
        state = seed
        left = count
        self.hasControls = hasControls
    }

    package mutating func next() -> String? {
        guard left > 0 else { return nil }
        left -= 1
        var text = String.UnicodeScalarView()
        for _ in 0..<1 + number(below: 8) { text.append(scalar()) }
        return String(text)
    }

    private mutating func scalar() -> Unicode.Scalar {
        switch number(below: 10) {
        case 0..<4: Self.special[number(below: Self.special.count)]
        case 4..<7: Self.joining[number(below: Self.joining.count)]
        case 7 where hasControls: Unicode.Scalar(UInt8(1 + number(below: 31)))
        case 7..<9: Unicode.Scalar(UInt8(0x20 + number(below: 0x5F)))
        default: Unicode.Scalar(UInt32(0xA0 + number(below: 0x10_FF5F))) ?? "\u{FFFD}"
        }
    }

    /// xorshift64*: any sequence will do that is the same for the same seed.
    private mutating func number(below bound: Int) -> Int {
        state = state == 0 ? 1 : state
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return Int((state &* 0x2545_F491_4F6C_DD1D) >> 33) % bound
    }
}
