/// Finds texts that SQLite stores as numbers in a column of numeric affinity.
///
/// Source: "Type Affinity" in SQLite's documentation of datatypes: a well-formed integer or real literal, optionally surrounded by spaces.
enum NumericText {
    /// Whether a column of numeric affinity would store the text as a number.
    static func isNumber(_ text: UnsafeRawBufferPointer) -> Bool {
        var position = 0
        func skip(while condition: (UInt8) -> Bool) -> Int {
            let start = position
            while position < text.count, condition(text[position]) { position += 1 }
            return position - start
        }
        func skip(_ bytes: UInt8...) -> Bool {
            guard position < text.count, bytes.contains(text[position]) else { return false }
            position += 1
            return true
        }
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

        _ = skip(while: isSpace)
        _ = skip(UInt8(ascii: "+"), UInt8(ascii: "-"))
        var digits = skip(while: isDigit)
        if skip(UInt8(ascii: ".")) { digits += skip(while: isDigit) }
        guard digits > 0 else { return false }
        if skip(UInt8(ascii: "e"), UInt8(ascii: "E")) {
            _ = skip(UInt8(ascii: "+"), UInt8(ascii: "-"))
            guard skip(while: isDigit) > 0 else { return false }
        }
        _ = skip(while: isSpace)
        return position == text.count
    }
}
