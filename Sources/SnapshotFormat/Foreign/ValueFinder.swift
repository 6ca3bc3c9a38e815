internal import StrictText

/// Finds the ends of JSON values in a text that is read in pieces, so that each value can be parsed as a whole.
///
/// Looks only at strings and brackets; the parser of the value checks everything else.
struct ValueFinder {
    let window: InputWindow
    /// The maximum size of a value, in bytes.
    let limit: Int

    /// Moves the window to the next value, consumes the white space before it, reads the whole value, and returns its length.
    ///
    /// - Throws: ``FormatError`` with `.truncated` if the file ends before the value does, `.tooLarge` beyond the limit.
    func gather() throws -> Int {
        switch try window.peek() {
        case nil: throw Self.truncated(at: window.offset)
        case UInt8(ascii: "{"), UInt8(ascii: "["): return try gatherContainer()
        case UInt8(ascii: "\""): return try gatherString(from: 0)
        default: return try gatherScalar()
        }
    }

    /// Returns the position after the string whose opening quote is at `start`.
    private func gatherString(from start: Int) throws -> Int {
        var position = start + 1
        while true {
            let bytes = window.bytes
            position = JSONScanner(bytes).plainEnd(position)
            // Skip at least two bytes of an escape; the rest of it is plain text.
            if position == bytes.count || (bytes[position] == UInt8(ascii: "\\") && position + 1 == bytes.count) {
                try more()
            } else if bytes[position] == UInt8(ascii: "\"") {
                return position + 1
            } else {
                position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
            }
        }
    }

    private func gatherContainer() throws -> Int {
        var depth = 0
        var position = 0
        while true {
            let bytes = window.bytes
            while position < bytes.count {
                let byte = bytes[position]
                if byte == UInt8(ascii: "\"") { break }
                position += 1
                // '[' and '{' differ in one bit, and so do ']' and '}'.
                if byte | 0x20 == UInt8(ascii: "{") { depth += 1 }
                if byte | 0x20 == UInt8(ascii: "}") {
                    depth -= 1
                    if depth == 0 { return position }
                }
            }
            if position < bytes.count { position = try gatherString(from: position) } else { try more() }
        }
    }

    private func gatherScalar() throws -> Int {
        var position = 0
        while true {
            let bytes = window.bytes
            while position < bytes.count {
                switch bytes[position] {
                case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ":"), 0x20, 0x0A, 0x0D, 0x09: return position
                default: position += 1
                }
            }
            try more()
        }
    }

    private func more() throws {
        guard window.bytes.count < limit else {
            throw FormatError(
                .tooLarge, at: "file, byte \(window.offset)", "one value is larger than \(limit >> 20) MiB",
                hint: "keep large contents outside the dataset and refer to them")
        }
        guard try window.fill() else { throw Self.truncated(at: window.offset + window.bytes.count) }
    }

    static func truncated(at offset: Int) -> FormatError {
        FormatError(.truncated, at: "file", "it ends at byte \(offset) of its text, in the middle", hint: "copy the file again")
    }
}
