import SnapshotModel

/// A part of SQL text: a word or number, a name or text in quotes, or one other character.
struct SQLToken {
    let range: Range<Int>
    /// The word, or what stands in the quotes of a name; nil for what is no name.
    var name: String?
    /// What stands in single quotes.
    var text: String?
    /// The opening quote of a name or text; nil without one.
    var quote: Character?
    /// The character; nil for words and texts.
    var symbol: Character?

    /// Whether it is this word, in any case and not quoted.
    func isWord(_ word: String) -> Bool { quote == nil && name?.asciiLowercased == word }

    private static let quotes: [Character: Character] = ["\"": "\"", "'": "'", "`": "`", "[": "]"]

    /// Takes SQL text apart.
    ///
    /// Source: "SQL As Understood By SQLite"; comments count as white space.
    static func all(of text: [Character]) -> [SQLToken] {
        var found: [SQLToken] = []
        var at = 0
        func starts(_ start: String) -> Bool { text[at...].starts(with: start) }
        func isOfWord(_ character: Character) -> Bool { character.isLetter || character.isNumber || "_$.".contains(character) || !character.isASCII }
        func isDigit(_ index: Int) -> Bool { index < text.count && ("0"..."9").contains(text[index]) }
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
                        // A doubled quote is one of the name.
                        guard close != "]", at < text.count, text[at] == close else { break }
                        at += 1
                    }
                    name.append(character)
                }
                found.append(SQLToken(range: start..<at, name: first == "'" ? nil : name, text: first == "'" ? name : nil, quote: first))
            } else if isOfWord(first) {
                let isNumber = isDigit(at) || first == "." && isDigit(at + 1)
                while at < text.count, isOfWord(text[at]) {
                    at += 1
                    // The sign of a number's exponent.
                    if isNumber, "eE".contains(text[at - 1]), at < text.count, "+-".contains(text[at]), isDigit(at + 1) { at += 1 }
                }
                found.append(SQLToken(range: start..<at, name: String(text[start..<at])))
            } else {
                at += 1
                if !first.isWhitespace { found.append(SQLToken(range: start..<at, symbol: first)) }
            }
        }
        return found
    }
}
