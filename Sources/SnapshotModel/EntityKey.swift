import Foundation

/// The primary key of an entity, as used in an index, a tombstone or a range of rows.
///
/// Keys are ordered as in SQLite: numbers by value, then texts and then blobs by their bytes, column by column. Two keys that the table treats as
/// one are equal. See ``DatasetSchema/keyIndices`` for the columns.
public enum EntityKey: Hashable, Sendable {
    /// A text in UTF-8: the key of one column. Where the column ignores case or trailing spaces, the folded text.
    case text([UInt8])
    /// An integer, also one that is stored as a real number: the key of one column.
    case integer(Int64)
    /// Any other key: the encoded values of its columns. The bytes have the order of the keys. Source: docs/format.md, "Keys".
    case encoded([UInt8])

    /// The key of one column that holds a text.
    public init(_ text: String) { self = .text(Array(text.utf8)) }
}

extension EntityKey: Comparable {
    public static func < (left: EntityKey, right: EntityKey) -> Bool {
        switch (left, right) {
        case (.text(let left), .text(let right)): left.lexicographicallyPrecedes(right)
        case (.integer(let left), .integer(let right)): left < right
        case (.encoded(let left), .encoded(let right)): left.lexicographicallyPrecedes(right)
        case (.integer, .text): true
        case (.text, .integer): false
        // Numbers come before texts, and texts before blobs.
        default: left.encoding.lexicographicallyPrecedes(right.encoding)
        }
    }

    /// The encoded key with the same value.
    private var encoding: [UInt8] {
        if case .encoded(let bytes) = self { bytes } else { EntityKey(encoding: values).encoding }
    }
}

/// A key whose bytes belong to somebody else, and are valid only during a call.
package enum LentKey {
    case text(UnsafeRawBufferPointer)
    case integer(Int64)
    case encoded(UnsafeRawBufferPointer)

    /// A copy that owns its bytes.
    package var owned: EntityKey {
        switch self {
        case .text(let bytes): .text(Array(bytes))
        case .integer(let value): .integer(value)
        case .encoded(let bytes): .encoded(Array(bytes))
        }
    }

    /// The length in bytes that limits apply to; see ``EntityKey/byteCount``.
    package var byteCount: Int {
        switch self {
        case .text(let bytes), .encoded(let bytes): bytes.count
        case .integer: 8
        }
    }
}

extension EntityKey {
    /// Calls `body` with the key without copying it.
    package func lend<T>(_ body: (LentKey) throws -> T) rethrows -> T {
        switch self {
        // SAFETY: the bytes are valid during the call.
        case .text(let bytes): try bytes.withUnsafeBytes { try body(.text($0)) }
        case .integer(let value): try body(.integer(value))
        case .encoded(let bytes): try bytes.withUnsafeBytes { try body(.encoded($0)) }
        }
    }
}

extension EntityKey {
    /// Makes an encoded key from values, whose texts must be folded.
    package init(encoding values: [KeyValue]) {
        var bytes: [UInt8] = []
        for value in values { value.withColumnValue { EncodedKey.append($0, .binary, to: &bytes) } }
        self = .encoded(bytes)
    }

    /// The values of the key's columns, in order.
    public var values: [KeyValue] {
        switch self {
        case .text(let bytes): [.text(bytes)]
        case .integer(let value): [.integer(value)]
        case .encoded(let bytes): EncodedKey.values(of: bytes) ?? []
        }
    }

    /// The length in bytes that limits apply to and that `BlockCutter` hashes: of the text or of the encoded values.
    package var byteCount: Int {
        switch self {
        case .text(let bytes), .encoded(let bytes): bytes.count
        case .integer: 8
        }
    }
}

extension EntityKey: CustomStringConvertible {
    /// The key for people: texts quoted, with control characters escaped; several values in parentheses.
    public var description: String {
        let values = values.map(\.description)
        return values.count == 1 ? values[0] : "(\(values.joined(separator: ", ")))"
    }
}

extension KeyValue: CustomStringConvertible {
    public var description: String {
        switch self {
        case .integer(let value): String(value)
        case .real(let value): value.description
        case .text(let bytes): String(decoding: bytes, as: UTF8.self).debugDescription
        case .blob(let bytes): "X'\(bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true) }.joined())'"
        }
    }
}

extension EntityKey: Codable {
    public init(from decoder: any Decoder) throws {
        if var list = try? decoder.unkeyedContainer() {
            var values: [KeyValue] = []
            while !list.isAtEnd { values.append(try list.decode(KeyValue.self)) }
            self.init(encoding: values)
            return
        }
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else {
            self = .text(Array(try container.decode(String.self).utf8))
        }
    }

    /// Encodes a text or an integer as such, and an encoded key as an array of its values.
    public func encode(to encoder: any Encoder) throws {
        guard case .encoded = self else { return try values[0].encode(to: encoder) }
        var container = encoder.unkeyedContainer()
        for value in values { try container.encode(value) }
    }
}

extension KeyValue: Codable {
    private enum CodingKeys: CodingKey { case base64 }

    public init(from decoder: any Decoder) throws {
        if let object = try? decoder.container(keyedBy: CodingKeys.self) {
            self = .blob(Array(try object.decode(Data.self, forKey: .base64)))
            return
        }
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .real(value)
        } else {
            self = .text(Array(try container.decode(String.self).utf8))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        if case .blob(let bytes) = self {
            var object = encoder.container(keyedBy: CodingKeys.self)
            return try object.encode(Data(bytes), forKey: .base64)
        }
        var container = encoder.singleValueContainer()
        switch self {
        case .integer(let value): try container.encode(value)
        case .real(let value): try container.encode(value)
        case .text(let bytes), .blob(let bytes): try container.encode(String(decoding: bytes, as: UTF8.self))
        }
    }
}
