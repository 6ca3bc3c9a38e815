/// Text from elsewhere as a part of another language. Each language has one function, and all of them look at bytes.
///
/// A `Character` is the wrong unit: a quotation mark and the combining mark behind it are one `Character`, so a search for the quotation mark
/// misses it, while SQLite and the shell see it and end the quotes there.
extension String {
    /// The text as a quoted identifier of SQL: `a"b` becomes `"a""b"`.
    ///
    /// GRDB's `quotedDatabaseIdentifier` does not double quotation marks.
    package var sqlIdentifier: String { "\"" + escaping { $0 == UInt8(ascii: "\"") ? "\"\"" : nil } + "\"" }

    /// The text as a literal of SQL: `it's` becomes `'it''s'`.
    package var sqlText: String { "'" + escaping { $0 == UInt8(ascii: "'") ? "''" : nil } + "'" }

    /// The text as a word of a shell's command line, in quotes if it needs them.
    ///
    /// A text with tabs or characters that ``VisibleText`` escapes is written as `"$(printf %b '…')"` with escapes, which every shell reads, so that
    /// the word runs as it is shown. Only line breaks at the end need `$'…'` (bash, zsh, POSIX.1-2024).
    package var shellWord: String {
        func isHidden(_ scalar: Unicode.Scalar) -> Bool { scalar == "\t" || VisibleText.isControl(scalar) }
        if unicodeScalars.contains(where: isHidden) {
            func escape(_ scalar: Unicode.Scalar) -> String {
                String(scalar).utf8.map { byte in
                    let digits = String(byte, radix: 8)
                    return "\\" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
                }.joined()
            }
            let breaks = unicodeScalars.reversed().prefix { $0 == "\n" }.count
            let parts = unicodeScalars.dropLast(breaks).map { isHidden($0) || $0 == "'" || $0 == "\\" || $0 == "!" ? escape($0) : String($0) }
            return "\"$(printf %b '\(parts.joined())')\"" + (breaks == 0 ? "" : "$'\(String(repeating: "\\n", count: breaks))'")
        }
        let isPlain = utf8.allSatisfy { byte in
            (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10 || "_-./,:@+".utf8.contains(byte)
        }
        return isPlain && !isEmpty ? self : "'" + escaping { $0 == UInt8(ascii: "'") ? "'\\''" : nil } + "'"
    }

    /// The text with other text in the place of some bytes.
    ///
    /// - Parameter escape: what stands for an ASCII byte; nil if the byte itself does. Bytes of other characters must stay.
    package func escaping(_ escape: (UInt8) -> String?) -> String {
        guard utf8.contains(where: { escape($0) != nil }) else { return self }
        var bytes: [UInt8] = []
        for byte in utf8 {
            if let text = escape(byte) { bytes += text.utf8 } else { bytes.append(byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Makes text from elsewhere safe to show: no character in it controls a terminal or reverses the text's direction.
package enum VisibleText {
    /// The text with control and format characters escaped, such as `\u{1b}`; tabs stay.
    package static func escape(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        return String(
            String.UnicodeScalarView(
                text.unicodeScalars.flatMap { scalar in
                    isControl(scalar) ? Array("\\u{\(String(scalar.value, radix: 16))}".unicodeScalars) : [scalar]
                }))
    }

    /// Whether a character must be escaped: a control or format character, or a line end, but not a tab.
    package static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        // Most text is ASCII, which needs no table lookup.
        if scalar.value < 0x80 { return scalar.value < 0x20 && scalar != "\t" || scalar.value == 0x7F }
        return switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
