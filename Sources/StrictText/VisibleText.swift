/// Text from elsewhere as people may see it: nothing in it steers a terminal or turns the text around.
package enum VisibleText {
    /// The text with control and format characters written out, such as `\u{1b}`; tabs stay.
    package static func escape(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        return String(
            String.UnicodeScalarView(
                text.unicodeScalars.flatMap { scalar in
                    isControl(scalar) ? Array("\\u{\(String(scalar.value, radix: 16))}".unicodeScalars) : [scalar]
                }))
    }

    /// Whether a character is not for eyes: a control, a format mark, or the end of a line; a tab is none.
    package static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        // Most text is ASCII, and its properties need no table.
        if scalar.value < 0x80 { return scalar.value < 0x20 && scalar != "\t" || scalar.value == 0x7F }
        return switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
