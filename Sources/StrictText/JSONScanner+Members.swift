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
            let valueEnd = try skipValue(start)
            try take(try unescape(position + 1, nameEnd - 1), start..<valueEnd)
            position = skipSpace(valueEnd)
            if position < end, base[position] == UInt8(ascii: ",") { position = skipSpace(position + 1) }
        }
        return first
    }
}
