import StrictText

/// Values that parsers get wrong.
private let oddValues: [[UInt8]] = [
    "null", "true", "0", "-0", "-1", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "999999999999999999", "1e400", "0e1",
    "0.1", "1.0", "\"\"", "[]", "{}", "[[]]", "{\"a\":{}}", "\"\\ud800\"", "\"\\u0000\"", "\"\\ud83d\\ude00\"", "\"\\/\\b\"",
    "\"2026-01-02T03:04:05.006Z\"", "\"0001-01-01T00:00:00+23:59\"", "\"9999-12-31T23:59:60Z\"", "\"AA==\"", "\"../x\"", "\"\u{7F}\u{2028}\"",
].map { Array($0.utf8) }

/// Changes JSON value by value half of the time, so that most of what comes out is still JSON.
func change(_ input: [UInt8], _ random: inout FuzzRandom, _ plain: ([UInt8]) -> [UInt8]) -> [UInt8] {
    guard random.below(2) == 0, let first = value(in: input, &random) else { return plain(input) }
    var changed = input
    switch random.below(6) {
    case 0: changed.replaceSubrange(first, with: oddValues[random.below(oddValues.count)])
    case 1:
        guard let second = value(in: input, &random) else { return plain(input) }
        changed.replaceSubrange(first, with: input[second])
    case 2: changed.insert(contentsOf: input[first] + [UInt8(ascii: ",")], at: first.lowerBound)
    case 3:
        // With the comma behind it, or a key and its colon.
        let end = first.upperBound < input.count ? first.upperBound + 1 : first.upperBound
        changed.removeSubrange(first.lowerBound..<end)
    case 4: changed.replaceSubrange(first, with: plain(Array(input[first])))
    default:
        guard let second = value(in: input, &random), second.lowerBound >= first.upperBound else { return plain(input) }
        changed.replaceSubrange(second, with: input[first])
        changed.replaceSubrange(first, with: input[second])
    }
    return changed
}

/// A value's place, or a key's, at or after a place chosen by chance; nil if there is none.
private func value(in input: [UInt8], _ random: inout FuzzRandom) -> Range<Int>? {
    guard !input.isEmpty else { return nil }
    let from = random.below(input.count)
    return input.withUnsafeBytes { bytes in
        let scanner = JSONScanner(bytes)
        for start in from..<min(bytes.count, from + 100) where begins(bytes[start]) {
            if let end = try? scanner.skipValue(start), end <= bytes.count { return start..<end }
        }
        return nil
    }
}

private func begins(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\""), UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: false
    }
}
