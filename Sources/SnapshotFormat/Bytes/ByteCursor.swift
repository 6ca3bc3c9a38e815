import Foundation

/// Appends to a buffer and keeps its ends in local variables, because each access to a class's property has a runtime check.
///
///     var cursor = ByteCursor(buffer)
///     cursor.append(UInt8(ascii: "["))
///     cursor.finish()
struct ByteCursor {
    var at: UnsafeMutablePointer<UInt8>
    private var limit: UnsafeMutablePointer<UInt8>
    private let buffer: ByteBuffer

    @inline(__always)
    init(_ buffer: ByteBuffer) {
        self.buffer = buffer
        at = buffer.base + buffer.count
        limit = buffer.base + buffer.capacity
    }

    /// Sets the buffer's count to what was written.
    @inline(__always)
    func finish() { buffer.count = at - buffer.base }

    /// The number of bytes written to the buffer.
    var position: Int { at - buffer.base }

    /// Removes everything after a position.
    mutating func cut(to position: Int) { at = buffer.base + position }

    /// Makes room for `count` bytes, in addition to the buffer's slack.
    @inline(__always)
    mutating func reserve(_ count: Int) {
        if limit - at < count { grow(count) }
    }

    @inline(never)
    private mutating func grow(_ count: Int) {
        finish()
        buffer.reserve(count)
        at = buffer.base + buffer.count
        limit = buffer.base + buffer.capacity
    }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        reserve(1)
        at.pointee = byte
        at += 1
    }

    @inline(__always)
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        // SAFETY: there is room for bytes.count bytes, and the source is not this buffer.
        UnsafeMutableRawPointer(at).copyMemory(from: source, byteCount: bytes.count)
        at += bytes.count
    }

    mutating func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    /// Appends `length` bytes in whole words. Bytes beyond `length` go into the slack and are overwritten later.
    @inline(__always)
    mutating func append(words: UnsafePointer<UInt64>, length: Int) {
        reserve(length)
        var offset = 0
        while offset < length {
            // SAFETY: at + length lies within the capacity, and the rest of the last word within the slack of 32 bytes.
            UnsafeMutableRawPointer(at + offset).storeBytes(of: words[offset >> 3], as: UInt64.self)
            offset += 8
        }
        at += length
    }
}

extension ByteCursor {
    /// Appends a JSON string with the fewest escapes. Returns whether it has bytes beyond ASCII, which are not checked here.
    ///
    /// Copies and checks eight bytes at a time: a byte of `x` is zero if `(x - 0x01…) & ~x & 0x80…` has its high bit set.
    @inline(__always)
    mutating func appendString(_ text: UnsafeRawBufferPointer) -> Bool {
        reserve(text.count + 2)
        at.pointee = UInt8(ascii: "\"")
        at += 1
        var high: UInt64 = 0
        if var position = text.baseAddress {
            let end = position + text.count
            while true {
                let ones: UInt64 = 0x0101_0101_0101_0101, highs: UInt64 = 0x8080_8080_8080_8080
                while position + 8 <= end {
                    // SAFETY: eight bytes are left to read, and at least as many to write, because room for the rest was reserved.
                    let word = position.loadUnaligned(as: UInt64.self)
                    UnsafeMutableRawPointer(at).storeBytes(of: word, as: UInt64.self)
                    high |= word
                    let quote = word ^ (ones &* 0x22), slash = word ^ (ones &* 0x5C)
                    let hit = (((quote &- ones) & ~quote) | ((slash &- ones) & ~slash) | ((word &- ones &* 0x20) & ~word)) & highs
                    let plain = hit == 0 ? 8 : UInt64(littleEndian: hit).trailingZeroBitCount / 8
                    position += plain
                    at += plain
                    if plain < 8 { break }
                }
                while position < end {
                    let byte = position.load(as: UInt8.self)
                    if byte == 0x22 || byte == 0x5C || byte < 0x20 { break }
                    high |= UInt64(byte)
                    at.pointee = byte
                    at += 1
                    position += 1
                }
                guard position < end else { break }
                appendEscape(position.load(as: UInt8.self), left: end - position)
                position += 1
            }
        }
        at.pointee = UInt8(ascii: "\"")
        at += 1
        return high & 0x8080_8080_8080_8080 != 0
    }

    /// Appends the escape of one byte, and makes room for the rest of the string with its closing quote.
    @inline(never)
    private mutating func appendEscape(_ byte: UInt8, left: Int) {
        reserve(6 + left)
        at[0] = UInt8(ascii: "\\")
        switch byte {
        case 0x08: at[1] = UInt8(ascii: "b")
        case 0x09: at[1] = UInt8(ascii: "t")
        case 0x0A: at[1] = UInt8(ascii: "n")
        case 0x0C: at[1] = UInt8(ascii: "f")
        case 0x0D: at[1] = UInt8(ascii: "r")
        case 0x22, 0x5C: at[1] = byte
        default:
            at[1] = UInt8(ascii: "u")
            at[2] = UInt8(ascii: "0")
            at[3] = UInt8(ascii: "0")
            at[4] = UInt8(ascii: "0") + byte >> 4
            at[5] = byte & 15 < 10 ? UInt8(ascii: "0") + byte & 15 : UInt8(ascii: "a") + byte & 15 - 10
            at += 4
        }
        at += 2
    }

    /// Appends an integer in decimal.
    mutating func append(decimal value: Int64) {
        reserve(20)
        var rest = value.magnitude
        var length = value < 0 ? 2 : 1
        var bound: UInt64 = 10
        while rest >= bound {
            length += 1
            let (next, overflow) = bound.multipliedReportingOverflow(by: 10)
            if overflow { break }
            bound = next
        }
        if value < 0 { at.pointee = UInt8(ascii: "-") }
        var position = at + length
        repeat {
            position -= 1
            position.pointee = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        at += length
    }

    /// Appends a finite real number as the shortest text that reads back as the same number; it always contains a `.` or an `e`.
    mutating func append(real value: Double) { append(value.description) }

    /// Appends bytes as a JSON string in base64 with padding.
    mutating func appendBase64(_ bytes: UnsafeRawBufferPointer) {
        append(UInt8(ascii: "\""))
        append(Data(bytes).base64EncodedString())
        append(UInt8(ascii: "\""))
    }
}
