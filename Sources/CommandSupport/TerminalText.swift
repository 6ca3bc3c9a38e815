import Foundation
import Platform
import StrictText

/// The meaning of a line in a report, which a terminal shows as a colour.
package enum Tone: String {
    case good = "32"
    case attention = "33"
    case bad = "31"
}

/// A line of a report for people, which a terminal can show in a colour.
///
///     var lines: [Line] = ["phone.db: writer"]
///     lines.append(Line("  last error: …", .bad))
package struct Line: ExpressibleByStringInterpolation {
    package let text: String
    package let tone: Tone?

    package init(_ text: String, _ tone: Tone? = nil) { (self.text, self.tone) = (text, tone) }

    package init(stringLiteral text: String) { self.init(text) }
}

/// How text is formatted on a stream: a terminal has a width and colours; a file and a pipe have neither.
///
/// Colours follow https://no-color.org: none if `NO_COLOR` is set and not empty, and none if `TERM` is `dumb`. `COLUMNS` sets the width,
/// otherwise it is the terminal's.
package struct TerminalText {
    /// The width in columns; nil for what is no terminal.
    package let width: Int?
    package let hasColours: Bool

    package init(_ stream: StandardStream) {
        let columns = Place.environment("COLUMNS").flatMap { Int($0) }
        width = stream.isTerminal ? columns ?? Terminal.width(of: stream.rawValue) : nil
        hasColours = stream.isTerminal && Place.environment("NO_COLOR") == nil && Place.environment("TERM") != "dumb"
    }

    /// Colours a text by its tone. It must not contain control characters.
    package func paint(_ text: String, _ tone: Tone?) -> String {
        guard hasColours, let tone else { return text }
        return "\u{1B}[\(tone.rawValue)m\(text)\u{1B}[0m"
    }
}
