import Foundation
import Platform
import StrictText

/// The meaning of a line in a report, which a terminal shows as a colour.
enum Tone: String {
    case good = "32"
    case attention = "33"
    case bad = "31"
}

/// A line of a report for people, which can be coloured and wrapped on a terminal.
///
///     var lines: [Line] = ["phone.db: writer"]
///     lines.append(Line("  last error: …", .bad))
struct Line: ExpressibleByStringInterpolation {
    let text: String
    let tone: Tone?

    init(_ text: String, _ tone: Tone? = nil) { (self.text, self.tone) = (text, tone) }

    init(stringLiteral text: String) { self.init(text) }
}

/// How text is formatted on a stream: a terminal has a width and colours; a file and a pipe have neither.
///
/// Colours follow https://no-color.org: none if `NO_COLOR` is set and not empty, and none if `TERM` is `dumb`. `COLUMNS` sets the width,
/// otherwise it is the terminal's.
struct TerminalText {
    /// The width in columns; nil if lines are not wrapped.
    let width: Int?
    let hasColours: Bool

    init(width: Int?, hasColours: Bool) { (self.width, self.hasColours) = (width, hasColours) }

    init(_ stream: StandardStream) {
        guard stream.isTerminal else {
            self.init(width: nil, hasColours: false)
            return
        }
        let columns = DatabaseOptions.environment("COLUMNS").flatMap { Int($0) }
        self.init(
            width: columns ?? Terminal.width(of: stream.rawValue),
            hasColours: DatabaseOptions.environment("NO_COLOR") == nil && DatabaseOptions.environment("TERM") != "dumb")
    }

    /// A line in the form for the stream, with the newline. Control characters are made visible.
    ///
    /// - Parameter wraps: whether to wrap a line that is too long, with a deeper indentation.
    func render(_ line: Line, wraps: Bool) -> String {
        let text = VisibleText.escape(line.text)
        let rows = wraps ? width.map { Self.wrap(text, to: $0) } ?? [text] : [text]
        return rows.map { paint($0, line.tone) + "\n" }.joined()
    }

    /// Colours a text by its tone. It must not contain control characters.
    func paint(_ text: String, _ tone: Tone?) -> String {
        guard hasColours, let tone else { return text }
        return "\u{1B}[\(tone.rawValue)m\(text)\u{1B}[0m"
    }

    /// Wraps a line at spaces into rows of at most `width` characters. Every row but the first is indented by four more than the line. A word
    /// that is longer than a row, such as a path, is not broken, so that it can be copied.
    static func wrap(_ line: String, to width: Int) -> [String] {
        guard line.count > width else { return [line] }
        let indent = String(line.prefix { $0 == " " }), hanging = indent + "    "
        guard width >= hanging.count + leastRoom else { return [line] }
        var rows: [String] = [], row = indent, isEmpty = true
        for word in line.dropFirst(indent.count).exact.split(separator: " ", omittingEmptySubsequences: false) {
            if isEmpty {
                row += word
                isEmpty = word.isEmpty
            } else if row.count + 1 + word.count <= width {
                row += " " + word
            } else {
                rows.append(String(row.reversed().drop { $0 == " " }.reversed()))
                row = hanging + word
                isEmpty = word.isEmpty
            }
        }
        return rows + [row]
    }

    /// The minimum number of columns in a wrapped row, without its indentation.
    private static let leastRoom = 16
}
