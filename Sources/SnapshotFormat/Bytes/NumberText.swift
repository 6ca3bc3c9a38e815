/// Parses numbers from JSON tokens whose grammar was already checked.
enum NumberText {
    /// The integer of an optional `-` and digits; nil if it does not fit in 64 bits.
    @inline(__always)
    static func integer(_ digits: UnsafePointer<UInt8>, count: Int) -> Int64? {
        let isNegative = digits[0] == UInt8(ascii: "-")
        var position = isNegative ? 1 : 0
        // 19 digits always fit in an unsigned 64-bit magnitude; the sign is checked below.
        guard count - position <= 19 else { return nil }
        var magnitude: UInt64 = 0
        while position < count {
            magnitude = magnitude &* 10 &+ UInt64(digits[position] &- UInt8(ascii: "0"))
            position += 1
        }
        if isNegative { return magnitude <= 1 << 63 ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil }
        return Int64(exactly: magnitude)
    }

    /// The real number of a token; nil if it is too large.
    static func real(_ token: UnsafePointer<UInt8>, count: Int) -> Double? {
        let text = String(decoding: UnsafeBufferPointer(start: token, count: count), as: UTF8.self)
        guard let value = Double(text), value.isFinite else { return nil }
        return value
    }
}
