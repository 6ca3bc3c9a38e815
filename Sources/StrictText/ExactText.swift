/// A text that is its UTF-8 bytes: a name or a value from a database, a cloud, a file or a command line.
///
/// Swift takes two `String`s for equal if they are canonically equivalent, also as keys of dictionaries and sets: `é` as one scalar and as `e` with
/// a combining mark, or `K` and the Kelvin sign. To SQLite, JSON and file systems these are different. So what comes from outside is compared,
/// ordered and hashed as ``Swift/String/exact``, or as ``Swift/String/folded`` where SQLite compares names. As a property's wrapper it makes
/// the equality of a value with a `String` exact:
///
///     struct Column: Hashable { @ExactText var name: String }
@propertyWrapper
package struct ExactText: Sendable {
    package let text: String

    package var wrappedValue: String { text }

    package init(_ text: String) { self.text = text }

    package init(wrappedValue text: String) { self.text = text }

    /// Whether it begins with these bytes, even if a combining mark follows.
    package func hasPrefix(_ prefix: String) -> Bool { text.utf8.starts(with: prefix.utf8) }

    /// Whether it ends with these bytes.
    package func hasSuffix(_ suffix: String) -> Bool { text.utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) }

    /// Whether these bytes stand in it.
    package func contains(_ part: String) -> Bool { text.utf8.contains(part.utf8) }

    /// The texts between the places of an ASCII character.
    package func split(separator: Unicode.Scalar, maxSplits: Int = .max, omittingEmptySubsequences: Bool = true) -> [String] {
        text.utf8.split(separator: UInt8(ascii: separator), maxSplits: maxSplits, omittingEmptySubsequences: omittingEmptySubsequences)
            .map { String(Substring($0)) }
    }
}

extension StringProtocol {
    /// The text, compared, searched and divided by its bytes.
    package var exact: ExactText { ExactText(String(self)) }
}

extension String {
    /// The text with the letters a to z in upper case, as SQLite has keywords and names of collations.
    package var upper: String { String(decoding: utf8.map { $0 &- UInt8(ascii: "a") < 26 ? $0 & 0xDF : $0 }, as: UTF8.self) }

    /// The name, compared as SQLite compares the names of tables and columns: by its bytes, of which only A to Z and a to z are the same.
    ///
    /// `lowercased()` would fold more: SQLite has `Ä` and `ä` as two tables.
    package var folded: ExactText { ExactText(String(decoding: utf8.map { $0 &- UInt8(ascii: "A") < 26 ? $0 | 0x20 : $0 }, as: UTF8.self)) }
}

extension ExactText: Hashable, Comparable {
    package static func == (left: ExactText, right: ExactText) -> Bool {
        // Texts with equal bytes are also equal Strings, and most that differ are told apart in one step.
        left.text == right.text && left.text.utf8.elementsEqual(right.text.utf8)
    }

    package static func < (left: ExactText, right: ExactText) -> Bool { left.text.utf8.lexicographicallyPrecedes(right.text.utf8) }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // No text has this byte, so what follows cannot be taken for a part of it.
        hasher.combine(0xFF as UInt8)
    }
}

extension ExactText: ExpressibleByStringLiteral, CustomStringConvertible {
    package init(stringLiteral text: String) { self.init(text) }

    package var description: String { text }
}

extension ExactText: Codable {
    package init(from decoder: any Decoder) throws { self.init(try decoder.singleValueContainer().decode(String.self)) }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// As the key of a dictionary, it is the name of a JSON object's member.
extension ExactText: CodingKeyRepresentable {
    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    package var codingKey: any CodingKey { Key(stringValue: text) }

    package init?(codingKey: some CodingKey) { self.init(codingKey.stringValue) }
}
