import GRDB
import SnapshotModel

/// Reads the expressions of an index from its CREATE INDEX statement, because no pragma returns them.
enum IndexText {
    /// The indexed columns and expressions of an index in order, as the statement has them, without `ASC` and `DESC`.
    ///
    /// - Returns: nil if the statement cannot be parsed.
    static func expressions(_ db: Database, index: String) throws -> [String]? {
        guard let sql = try String.fetchOne(db, sql: "SELECT sql FROM main.sqlite_schema WHERE type = 'index' AND name = ?", arguments: [index]) else {
            return nil
        }
        let text = Array(sql)
        var tokens = tokens(of: text)[...]
        guard let on = tokens.firstIndex(where: { $0.isWord("on") }) else { return nil }
        tokens = tokens[(on + 1)...]
        guard let open = tokens.firstIndex(where: { $0.symbol == "(" }) else { return nil }
        var parts: [[Token]] = [[]]
        var depth = 1
        for token in tokens[(open + 1)...] {
            if token.symbol == "(" { depth += 1 }
            if token.symbol == ")" { depth -= 1 }
            if depth == 0 { break }
            if depth == 1, token.symbol == "," { parts.append([]) } else { parts[parts.count - 1].append(token) }
        }
        guard depth == 0 else { return nil }
        return parts.map { part in
            var part = part
            if part.last?.isWord("asc") == true || part.last?.isWord("desc") == true { part.removeLast() }
            guard let first = part.first, let last = part.last else { return "" }
            return String(text[first.range.lowerBound..<last.range.upperBound])
        }
    }

    /// The columns of a table that an expression mentions, in the table's order.
    static func columns(in expression: String, of table: String, _ db: Database) throws -> [String] {
        let names = Set(tokens(of: Array(expression)).compactMap(\.name).map(\.asciiLowercased))
        return try TableColumns(db, table)?.columns.map(\.name).filter { names.contains($0.asciiLowercased) } ?? []
    }

    /// A word, a quoted text, or one other character.
    private struct Token {
        let range: Range<Int>
        /// The word, or the content of a quoted name; nil for a string literal or another character.
        var name: String?
        var isQuoted = false
        /// The character; nil for words and quoted texts.
        var symbol: Character?

        /// Whether the token is this unquoted word, in any case.
        func isWord(_ word: String) -> Bool { !isQuoted && name?.asciiLowercased == word }
    }

    private static let quotes: [Character: Character] = ["\"": "\"", "'": "'", "`": "`", "[": "]"]

    /// Splits SQL into tokens. Comments count as white space. Source: "SQL As Understood By SQLite".
    private static func tokens(of text: [Character]) -> [Token] {
        var found: [Token] = []
        var at = 0
        func starts(_ start: String) -> Bool { text[at...].starts(with: start) }
        func isOfWord(_ character: Character) -> Bool { character.isLetter || character.isNumber || "_$.".contains(character) || !character.isASCII }
        while at < text.count {
            let start = at, first = text[at]
            if starts("--") {
                while at < text.count, !text[at].isNewline { at += 1 }
            } else if starts("/*") {
                at += 2
                while at < text.count, !starts("*/") { at += 1 }
                at += 2
            } else if let close = quotes[first] {
                var name = ""
                at += 1
                while at < text.count {
                    let character = text[at]
                    at += 1
                    if character == close {
                        // A doubled quote stands for one quote in the name.
                        guard close != "]", at < text.count, text[at] == close else { break }
                        at += 1
                    }
                    name.append(character)
                }
                found.append(Token(range: start..<at, name: first == "'" ? nil : name, isQuoted: true))
            } else if isOfWord(first) {
                while at < text.count, isOfWord(text[at]) { at += 1 }
                found.append(Token(range: start..<at, name: String(text[start..<at])))
            } else {
                at += 1
                if !first.isWhitespace { found.append(Token(range: start..<at, symbol: first)) }
            }
        }
        return found
    }
}
