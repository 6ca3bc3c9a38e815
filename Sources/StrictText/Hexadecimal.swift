/// Bytes as lower-case hexadecimal digits, two for each byte.
package enum Hexadecimal {
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in bytes { text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes that the digits stand for; nil if there are other characters among them, or an odd number.
    ///
    /// - Parameter ten: the first of the letters; for SQLite's `hex`, a capital one.
    package static func bytes(_ digits: some Sequence<UInt8>, ten: UInt8 = UInt8(ascii: "a")) -> [UInt8]? {
        var bytes: [UInt8] = [], high: UInt8?
        for digit in digits {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case ten...ten + 5: value = digit - ten + 10
            default: return nil
            }
            if let half = high.take() { bytes.append(half << 4 | value) } else { high = value }
        }
        return high == nil ? bytes : nil
    }
}
