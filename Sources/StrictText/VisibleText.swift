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
