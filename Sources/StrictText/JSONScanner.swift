/// Scans JSON text byte by byte according to RFC 8259, without recursion and without copying.
///
/// The text is borrowed. UTF-8 is *not* checked here: check whole buffers once with ``UTF8Check``. Memory: one bit for each nesting level.
/// Source: RFC 8259 sections 2 to 7.
package struct JSONScanner {
    /// The deepest nesting of `[` and `{` that is accepted.
    package static let depthLimit = 512

    package let base: UnsafePointer<UInt8>
    package let end: Int

    /// Makes a scanner of `bytes`, which must outlive it.
    package init(_ bytes: UnsafeRawBufferPointer) {
        // SAFETY: the caller keeps the buffer alive. An empty buffer has no address; then `end` is 0, and nothing is read.
        self.base = bytes.baseAddress.map { $0.assumingMemoryBound(to: UInt8.self) } ?? UnsafePointer(bitPattern: 1)!
        self.end = bytes.count
    }

    /// Returns the first position at or after `start` without white space.
    @inline(__always)
    package func skipSpace(_ start: Int) -> Int {
        var position = start
        while position < end {
            let byte = base[position]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { break }
            position += 1
        }
        return position
    }

    /// Returns the position after the value that begins at `start`, without white space before it.
    ///
    /// - Throws: ``JSONFault``.
    package func skipValue(_ start: Int, depthLimit: Int = JSONScanner.depthLimit) throws(JSONFault) -> Int {
        guard start < end else { throw JSONFault(offset: start, reason: "a value is missing") }
        switch base[start] {
        case UInt8(ascii: "\""): return try skipString(start)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            if start + 1 < end, base[start + 1] == base[start] + 2 { return start + 2 }
            return try skipContainer(start, depthLimit: depthLimit)
        default: return try skipScalar(start)
        }
    }

    /// Returns the position after the string that begins with the quote at `start`.
    package func skipString(_ start: Int) throws(JSONFault) -> Int {
        var position = start + 1
        while true {
            position = plainEnd(position)
            guard position < end else { throw JSONFault(offset: start, reason: "a string does not end") }
            switch base[position] {
            case UInt8(ascii: "\""): return position + 1
            case UInt8(ascii: "\\"): position = try skipEscape(position)
            default: throw JSONFault(offset: position, reason: "a control character stands in a string")
            }
        }
    }

    /// Returns the first position at or after `start` with a quote, a backslash or a control character.
    ///
    /// Checks eight bytes at a time: a byte of `x` is zero where `(x - 0x01…) & ~x & 0x80…` has its high bit set.
    @inline(__always)
    package func plainEnd(_ start: Int) -> Int {
        var position = start
        while position + 8 <= end {
            // SAFETY: position + 8 <= end, so the eight bytes are in the buffer; the load needs no alignment.
            let word = UnsafeRawPointer(base + position).loadUnaligned(as: UInt64.self)
            let ones: UInt64 = 0x0101_0101_0101_0101, highs: UInt64 = 0x8080_8080_8080_8080
            let quote = word ^ (ones &* 0x22), slash = word ^ (ones &* 0x5C)
            let hit = ((quote &- ones) & ~quote) | ((slash &- ones) & ~slash) | ((word &- ones &* 0x20) & ~word)
            if hit & highs != 0 { return position + UInt64(littleEndian: hit & highs).trailingZeroBitCount / 8 }
            position += 8
        }
        while position < end {
            let byte = base[position]
            if byte == 0x22 || byte == 0x5C || byte < 0x20 { break }
            position += 1
        }
        return position
    }

    private func skipEscape(_ start: Int) throws(JSONFault) -> Int {
        guard start + 1 < end else { throw JSONFault(offset: start, reason: "an escape does not end") }
        switch base[start + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return start + 2
        case UInt8(ascii: "u"):
            _ = try hexUnit(start + 2)
            return start + 6
        default: throw JSONFault(offset: start, reason: "an unknown escape")
        }
    }

    /// Returns the UTF-16 code unit of the four hexadecimal digits at `start`.
    package func hexUnit(_ start: Int) throws(JSONFault) -> UInt16 {
        guard start + 4 <= end else { throw JSONFault(offset: start, reason: "an escape does not end") }
        var unit: UInt16 = 0
        for position in start..<start + 4 {
            let digit: UInt8
            switch base[position] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = base[position] - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = base[position] - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = base[position] - UInt8(ascii: "A") + 10
            default: throw JSONFault(offset: position, reason: "a hexadecimal digit is missing")
            }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    /// Returns the position after the number, `true`, `false` or `null` that begins at `start`.
    package func skipScalar(_ start: Int) throws(JSONFault) -> Int {
        switch base[start] {
        case UInt8(ascii: "t"): return try skipWord(start, "true")
        case UInt8(ascii: "f"): return try skipWord(start, "false")
        case UInt8(ascii: "n"): return try skipWord(start, "null")
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try skipNumber(start).end
        default: throw JSONFault(offset: start, reason: "a value is missing")
        }
    }

    private func skipWord(_ start: Int, _ word: StaticString) throws(JSONFault) -> Int {
        guard start + word.utf8CodeUnitCount <= end else { throw JSONFault(offset: start, reason: "'\(word)' is cut") }
        for index in 0..<word.utf8CodeUnitCount where base[start + index] != word.utf8Start[index] {
            throw JSONFault(offset: start, reason: "a value is missing")
        }
        return start + word.utf8CodeUnitCount
    }

    /// Returns the position after the number at `start`, and whether it has neither fraction nor exponent.
    package func skipNumber(_ start: Int) throws(JSONFault) -> (end: Int, isInteger: Bool) {
        var position = start
        if base[position] == UInt8(ascii: "-") { position += 1 }
        let first = position
        position = digitsEnd(position)
        guard position > first else { throw JSONFault(offset: position, reason: "a digit is missing") }
        if base[first] == UInt8(ascii: "0"), position > first + 1 {
            throw JSONFault(offset: first, reason: "a number begins with 0")
        }
        var isInteger = true
        if position < end, base[position] == UInt8(ascii: ".") {
            isInteger = false
            let digits = position + 1
            position = digitsEnd(digits)
            guard position > digits else { throw JSONFault(offset: position, reason: "a digit is missing") }
        }
        if position < end, base[position] | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            position += 1
            if position < end, base[position] == UInt8(ascii: "+") || base[position] == UInt8(ascii: "-") { position += 1 }
            let digits = position
            position = digitsEnd(digits)
            guard position > digits else { throw JSONFault(offset: position, reason: "a digit is missing") }
        }
        return (position, isInteger)
    }

    @inline(__always)
    private func digitsEnd(_ start: Int) -> Int {
        var position = start
        while position < end, base[position] &- UInt8(ascii: "0") < 10 { position += 1 }
        return position
    }

    private func skipContainer(_ start: Int, depthLimit: Int) throws(JSONFault) -> Int {
        var nesting = NestingStack(limit: depthLimit)
        var position = start
        while true {
            // A value begins here.
            guard position < end else { throw JSONFault(offset: position, reason: "a value is missing") }
            let byte = base[position]
            if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
                guard nesting.push(isObject: byte == UInt8(ascii: "{")) else {
                    throw JSONFault(offset: position, reason: "nested more than \(depthLimit) levels deep")
                }
                position = skipSpace(position + 1)
                if position < end, base[position] == byte + 2 {
                    position += 1
                    nesting.pop()
                } else {
                    if nesting.topIsObject { position = try skipKey(position) }
                    continue
                }
            } else if byte == UInt8(ascii: "\"") {
                position = try skipString(position)
            } else {
                position = try skipScalar(position)
            }
            // A value has ended: close the containers that end here, or go to the next element.
            while true {
                if nesting.isEmpty { return position }
                position = skipSpace(position)
                guard position < end else { throw JSONFault(offset: position, reason: "an array or object does not end") }
                if base[position] == UInt8(ascii: ",") {
                    position = skipSpace(position + 1)
                    if nesting.topIsObject { position = try skipKey(position) }
                    break
                }
                guard base[position] == (nesting.topIsObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                    throw JSONFault(offset: position, reason: "',' or the end of an array or object is missing")
                }
                position += 1
                nesting.pop()
            }
        }
    }

    /// Returns the position of the value after `"key" :`, with the key's quote at `start`.
    private func skipKey(_ start: Int) throws(JSONFault) -> Int {
        guard start < end, base[start] == UInt8(ascii: "\"") else { throw JSONFault(offset: start, reason: "a key is missing") }
        let colon = skipSpace(try skipString(start))
        guard colon < end, base[colon] == UInt8(ascii: ":") else { throw JSONFault(offset: colon, reason: "':' is missing") }
        return skipSpace(colon + 1)
    }
}

/// Which of the open containers are objects, one bit each, the innermost in the lowest bit.
private struct NestingStack {
    private var bits: UInt64 = 0
    private var full: [UInt64] = []
    private var depth = 0
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    var isEmpty: Bool { depth == 0 }
    var topIsObject: Bool { bits & 1 == 1 }

    mutating func push(isObject: Bool) -> Bool {
        guard depth < limit else { return false }
        if depth > 0, depth % 64 == 0 {
            full.append(bits)
            bits = 0
        }
        bits = bits << 1 | (isObject ? 1 : 0)
        depth += 1
        return true
    }

    mutating func pop() {
        depth -= 1
        bits >>= 1
        if depth > 0, depth % 64 == 0 { bits = full.removeLast() }
    }
}

extension JSONScanner {
    /// Calls `take` with the members of an object in order: each name, unescaped, and the range of its value.
    ///
    /// The text must be strict JSON (``StrictJSON/check(_:)``) with an object at the top.
    ///
    /// - Returns: the position of the first member, or of the closing brace if there is none.
    @discardableResult
    package func forEachMember(_ take: (_ name: [UInt8], _ value: Range<Int>) throws -> Void) throws -> Int {
        let first = skipSpace(skipSpace(0) + 1)
        var position = first
        while position < end, base[position] != UInt8(ascii: "}") {
            let nameEnd = try skipString(position)
            let start = skipSpace(skipSpace(nameEnd) + 1)
            let valueEnd = try skipValue(start, depthLimit: .max)
            try take(try unescape(position + 1, nameEnd - 1), start..<valueEnd)
            position = skipSpace(valueEnd)
            if position < end, base[position] == UInt8(ascii: ",") { position = skipSpace(position + 1) }
        }
        return first
    }
}
