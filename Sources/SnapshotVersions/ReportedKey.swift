package import SnapshotModel

/// An entity's key in a report.
///
/// In JSON it is a string for a key of one text or integer column (an integer in decimal). Every other key is an array of the columns' values in
/// the key's order, as in the format's files; see docs/format.md, "Keys".
public struct ReportedKey: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The key as one text: the text, the decimal digits, or the JSON array. The caller escapes control characters before it prints the text.
    public let description: String
    /// The key, if JSON writes it as an array; nil if JSON writes it as a string.
    private let list: EntityKey?

    package init(_ key: EntityKey) {
        description = key.plainText
        if case .encoded = key { list = key } else { list = nil }
    }

    /// A key of one text or integer column, made from its text.
    private init(_ text: String) { (description, list) = (text, nil) }

    public init(from decoder: any Decoder) throws {
        if let text = try? decoder.singleValueContainer().decode(String.self) {
            self.init(text)
        } else {
            self.init(try EntityKey(from: decoder))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        guard let list else {
            var container = encoder.singleValueContainer()
            return try container.encode(description)
        }
        var container = encoder.unkeyedContainer()
        for value in list.values {
            // JSON has no infinity. No version contains such a key, but a table may.
            if case .real(let real) = value, !real.isFinite {
                try container.encode(real < 0 ? "-Infinity" : "Infinity")
            } else {
                try container.encode(value)
            }
        }
    }
}
