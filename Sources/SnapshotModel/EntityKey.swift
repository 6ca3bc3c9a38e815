/// The primary key of an entity, as it stands in an index, a tombstone or a range of rows.
///
/// Text keys are ordered by their UTF-8 bytes, integer keys by value: the order in which SQLite keeps them.
public enum EntityKey: Hashable, Sendable {
    case text([UInt8])
    case integer(Int64)

    /// The key of a text.
    public init(_ text: String) { self = .text(Array(text.utf8)) }
}

extension EntityKey: Comparable {
    public static func < (left: EntityKey, right: EntityKey) -> Bool {
        switch (left, right) {
        case (.text(let left), .text(let right)): left.lexicographicallyPrecedes(right)
        case (.integer(let left), .integer(let right)): left < right
        case (.integer, .text): true
        case (.text, .integer): false
        }
    }
}

extension EntityKey: CustomStringConvertible {
    /// The key for people: quoted, with control characters escaped.
    public var description: String {
        switch self {
        case .text(let bytes): String(decoding: bytes, as: UTF8.self).debugDescription
        case .integer(let value): String(value)
        }
    }
}

extension EntityKey: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else {
            self = .text(Array(try container.decode(String.self).utf8))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let bytes): try container.encode(String(decoding: bytes, as: UTF8.self))
        case .integer(let value): try container.encode(value)
        }
    }
}
