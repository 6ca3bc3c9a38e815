/// Base64 as in RFC 4648 section 4, with padding, without line breaks, and with unused bits zero.
enum Base64 {
    /// The digit of the lowest six bits.
    @inline(__always)
    static func digit(_ bits: UInt32) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: bits & 63)
        switch value {
        case 0..<26: return UInt8(ascii: "A") + value
        case 26..<52: return UInt8(ascii: "a") + value - 26
        case 52..<62: return UInt8(ascii: "0") + value - 52
        case 62: return UInt8(ascii: "+")
        default: return UInt8(ascii: "/")
        }
    }

    /// Decodes `count` digits at `source` to `target`, which may be the same memory, and returns the number of bytes; nil if the digits are not
    /// base64.
    static func decode(_ source: UnsafePointer<UInt8>, count: Int, to target: UnsafeMutablePointer<UInt8>) -> Int? {
        guard count % 4 == 0 else { return nil }
        guard count > 0 else { return 0 }
        let padding = source[count - 1] != UInt8(ascii: "=") ? 0 : source[count - 2] != UInt8(ascii: "=") ? 1 : 2
        var written = 0
        var position = 0
        while position < count {
            let digits = position + 4 == count ? 4 - padding : 4
            var group: UInt32 = 0
            for index in 0..<4 {
                let value = index < digits ? value(of: source[position + index]) : 0
                guard value < 64 else { return nil }
                group = group << 6 | UInt32(value)
            }
            if digits < 4, group & (digits == 3 ? 0xFF : 0xFFFF) != 0 { return nil }
            // The target never overtakes the source, because three bytes are written for every four that are read.
            for index in 0..<digits - 1 { target[written + index] = UInt8(truncatingIfNeeded: group >> (16 - 8 * UInt32(index))) }
            written += digits - 1
            position += 4
        }
        return written
    }

    private static func value(of digit: UInt8) -> UInt8 {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: 255
        }
    }
}
