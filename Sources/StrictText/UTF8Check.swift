/// Checks that bytes are UTF-8 according to Unicode 16, table 3-7: no overlong forms, no surrogates, nothing beyond U+10FFFF.
package enum UTF8Check {
    /// Returns the offset of the first byte of a sequence that is not UTF-8, or nil.
    ///
    /// Skips ASCII eight bytes at a time, also after each other sequence: in JSON, text of any language has long runs of ASCII.
    package static func firstFault(in bytes: UnsafeRawBufferPointer) -> Int? {
        guard let base = bytes.baseAddress else { return nil }
        let end = bytes.count
        var position = 0
        while position < end {
            if position + 8 <= end {
                // SAFETY: eight bytes are between position and the end; the load needs no alignment.
                let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: position, as: UInt64.self))
                let high = word & 0x8080_8080_8080_8080
                guard high != 0 else {
                    position += 8
                    continue
                }
                position += high.trailingZeroBitCount / 8
            } else if bytes[position] < 0x80 {
                position += 1
                continue
            }
            let length = sequenceLength(base + position, left: end - position)
            guard length > 0 else { return position }
            position += length
        }
        return nil
    }

    /// The length of the sequence of 2 to 4 bytes at `text`; 0 if it is not valid.
    @inline(__always)
    private static func sequenceLength(_ text: UnsafeRawPointer, left: Int) -> Int {
        let lead = text.load(as: UInt8.self)
        // The second byte's range excludes overlong forms, surrogates and code points beyond U+10FFFF.
        let length: Int
        var low: UInt8 = 0x80, high: UInt8 = 0xBF
        switch lead {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, low) = (3, 0xA0)
        case 0xED: (length, high) = (3, 0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, low) = (4, 0x90)
        case 0xF4: (length, high) = (4, 0x8F)
        case 0xF1...0xF3: length = 4
        default: return 0
        }
        guard left >= length else { return 0 }
        let second = text.load(fromByteOffset: 1, as: UInt8.self)
        guard second >= low, second <= high else { return 0 }
        for offset in 2..<max(2, length) where text.load(fromByteOffset: offset, as: UInt8.self) & 0xC0 != 0x80 { return 0 }
        return length
    }
}
