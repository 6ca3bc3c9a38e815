import GRDB
import SnapshotModel
package import StrictText

/// A part of SQL text: a word or number, a name or text in quotes, or one other character.
///
/// The text is taken apart by scalars: a quotation mark ends a name for SQLite whatever follows it.
package struct SQLToken {
    package let range: Range<Int>
    /// The word, or what stands in the quotes of a name; nil for what is no name.
    package var name: String?
    /// What stands in single quotes.
    package var text: String?
    /// The opening quote of a name or text; nil without one.
    package var quote: Unicode.Scalar?
    /// The character; nil for words and texts.
    package var symbol: Unicode.Scalar?

    /// Whether it is this word, in any case and not quoted.
    package func isWord(_ word: ExactText) -> Bool { quote == nil && name?.folded == word }

    private static let quotes: [Unicode.Scalar: Unicode.Scalar] = ["\"": "\"", "'": "'", "`": "`", "[": "]"]

    package static func text(_ part: ArraySlice<Unicode.Scalar>) -> String { String(String.UnicodeScalarView(part)) }
    /// Whether it is a number without a sign.
    var isNumber: Bool {
        guard quote == nil, let digit = name?.utf8.first(where: { $0 != UInt8(ascii: ".") }) else { return false }
        return (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit)
    }

    /// The text from the first to the last of some tokens.
    package static func text(of tokens: ArraySlice<SQLToken>, in source: [Unicode.Scalar]) -> String {
        guard let first = tokens.first, let last = tokens.last else { return "" }
        return String(String.UnicodeScalarView(source[first.range.lowerBound..<last.range.upperBound]))
    }

    /// Takes SQL text apart.
    ///
    /// Source: "SQL As Understood By SQLite"; comments count as white space.
    package static func all(of text: [Unicode.Scalar]) -> [SQLToken] {
        var found: [SQLToken] = []
        var at = 0
        func starts(_ start: String) -> Bool { text[at...].starts(with: start.unicodeScalars) }
        func isOneOf(_ scalars: String, _ index: Int) -> Bool { index < text.count && scalars.unicodeScalars.contains(text[index]) }
        func isDigit(_ index: Int) -> Bool { index < text.count && ("0"..."9").contains(text[index]) }
        func isOfWord(_ index: Int) -> Bool {
            isDigit(index) || isOneOf("_$.", index) || !text[index].isASCII || text[index].properties.isAlphabetic
        }
        while at < text.count {
            let start = at, first = text[at]
            if starts("--") {
                while at < text.count, text[at] != "\n" { at += 1 }
            } else if starts("/*") {
                at += 2
                while at < text.count, !starts("*/") { at += 1 }
                at += 2
            } else if let close = quotes[first] {
                var name = String.UnicodeScalarView()
                at += 1
                while at < text.count {
                    let scalar = text[at]
                    at += 1
                    if scalar == close {
                        // A doubled quote is one of the name.
                        guard close != "]", at < text.count, text[at] == close else { break }
                        at += 1
                    }
                    name.append(scalar)
                }
                found.append(
                    SQLToken(range: start..<at, name: first == "'" ? nil : String(name), text: first == "'" ? String(name) : nil, quote: first))
            } else if isOfWord(at) {
                let isNumber = isDigit(at) || first == "." && isDigit(at + 1)
                while at < text.count, isOfWord(at) {
                    at += 1
                    // The sign of a number's exponent.
                    if isNumber, isOneOf("eE", at - 1), isOneOf("+-", at), isDigit(at + 1) { at += 1 }
                }
                found.append(SQLToken(range: start..<at, name: Self.text(text[start..<at])))
            } else {
                at += 1
                if !isOneOf(" \t\n\r\u{C}", start) { found.append(SQLToken(range: start..<at, symbol: first)) }
            }
        }
        return found
    }
}

/// The statement that made a table or an index, taken apart, for what no pragma tells.
struct CreateText {
    /// The definitions in the parentheses, which commas separate.
    private(set) var parts: [ArraySlice<SQLToken>] = []
    /// What follows the parentheses.
    let rest: ArraySlice<SQLToken>
    private let source: [Unicode.Scalar]

    /// - Returns: nil if there is no such statement, or none with parentheses.
    init?(_ db: Database, of type: String, _ name: String) throws {
        let sql = try String.fetchOne(db, sql: "SELECT sql FROM main.sqlite_schema WHERE type = ? AND name = ?", arguments: [type, name])
        source = Array((sql ?? "").unicodeScalars)
        let tokens = SQLToken.all(of: source)
        guard let open = tokens.firstIndex(where: { $0.symbol == "(" }), let inner = Self.inner(tokens[open...]) else { return nil }
        rest = tokens[(inner.endIndex + 1)...]
        var start = inner.startIndex, depth = 0
        for index in inner.indices {
            depth += inner[index].nesting
            guard depth == 0, inner[index].symbol == "," else { continue }
            parts.append(inner[start..<index])
            start = index + 1
        }
        parts.append(inner[start...])
    }

    /// What stands between the parenthesis at the beginning and the one that closes it; nil if none does.
    private static func inner(_ tokens: ArraySlice<SQLToken>) -> ArraySlice<SQLToken>? {
        var depth = 0
        let close = tokens.firstIndex {
            depth += $0.nesting
            return depth == 0
        }
        return close.map { tokens[..<$0].dropFirst() }
    }

    package func text(of tokens: ArraySlice<SQLToken>) -> String { SQLToken.text(of: tokens, in: source) }

    /// What stands in the parentheses that follow each such word of a definition.
    func groups(after word: ExactText, in part: ArraySlice<SQLToken>) -> [String] {
        var depth = 0, found: [String] = []
        for index in part.indices.dropLast() {
            depth += part[index].nesting
            guard depth == 0, part[index].isWord(word), part[index + 1].symbol == "(", let inner = Self.inner(part[(index + 1)...]) else { continue }
            found.append(text(of: inner))
        }
        return found
    }
}

extension SQLToken {
    /// By how much the token changes the depth of the parentheses.
    package var nesting: Int { symbol == "(" ? 1 : symbol == ")" ? -1 : 0 }
}
