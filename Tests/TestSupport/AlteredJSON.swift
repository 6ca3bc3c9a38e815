/// Copies of a JSON text with a few bytes removed, replaced or put in, most of them no JSON any more; the same ones for the same seed.
///
///     for bytes in AlteredJSON(of: text, seed: seed, count: 5000) { … }
package struct AlteredJSON: Sequence, IteratorProtocol {
    private let original: [UInt8]
    private var state: UInt64
    private var left: Int

    private static let pieces = [
        "null", "1", "-0", "1e2", "0.5", "99999999999999999999", "\"\"", "[]", "{}", ",", ":", "\"", "\\", "\\u0000", "\\ud83d", " ", "true", "\"id\"",
        "\u{E9}",
        "e\u{301}", "\"2026-11-21T08:32:00Z\"",
    ].map { Array($0.utf8) }

    /// Alters `text`, which must not be empty, `count` times.
    package init(of text: String, seed: UInt64, count: Int) {
        original = Array(text.utf8)
        state = seed
        left = count
    }

    package mutating func next() -> [UInt8]? {
        guard left > 0 else { return nil }
        left -= 1
        var bytes = original
        for _ in 0...number(below: 2) where !bytes.isEmpty {
            let start = number(below: bytes.count), end = Swift.min(start + number(below: 6), bytes.count)
            switch number(below: 3) {
            case 0: bytes.removeSubrange(start..<end)
            case 1: bytes.replaceSubrange(start..<end, with: Self.pieces[number(below: Self.pieces.count)])
            default: bytes[start] = UInt8(number(below: 256))
            }
        }
        return bytes
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
