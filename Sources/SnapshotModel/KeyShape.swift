/// How a dataset's table compares the texts of a key column.
///
/// Source: "Collating Sequences" in SQLite's documentation of datatypes.
public enum KeyCollation: String, Codable, Sendable, CaseIterable {
    /// By their bytes.
    case binary
    /// A to Z equal a to z. A NUL ends the comparison; of texts that are equal up to it, the longer is greater.
    case nocase
    /// By their bytes, ignoring spaces at the end.
    case rtrim

    /// Appends the folded text: bytes that are the same for all texts that are equal under the collation, and have its order.
    package func appendFolded(_ text: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        switch self {
        case .binary: bytes.append(contentsOf: text)
        case .rtrim:
            var end = text.count
            while end > 0, text[end - 1] == UInt8(ascii: " ") { end -= 1 }
            bytes.append(contentsOf: text[..<end])
        case .nocase:
            var isEnded = false
            for byte in text {
                isEnded = isEnded || byte == 0
                bytes.append(isEnded ? 0 : (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte)
            }
        }
    }
}

/// The columns of a dataset's key: their types and how the table compares them.
///
///     let shape = schema.keyShape
///     if let key = shape.key(of: values) { … }
package struct KeyShape: Hashable, Sendable {
    /// One column of the key.
    package struct Part: Hashable, Sendable {
        /// The column's position in the schema.
        package let index: Int
        package let kind: ColumnKind
        package let collation: KeyCollation
    }

    /// The columns in the key's order, at least one.
    package let parts: [Part]
    /// Whether the key is one text column compared by its bytes, or one integer column. Then the value itself is the key.
    package let isSimple: Bool
    /// Whether a simple key is text.
    package let isText: Bool

    init(_ columns: [DatasetColumn], _ indices: [Int]) {
        parts = indices.map { Part(index: $0, kind: columns[$0].kind, collation: columns[$0].collation) }
        isSimple = parts.count == 1 && (parts[0].kind == .integer || parts[0].kind == .text && parts[0].collation == .binary)
        isText = parts[0].kind == .text
    }

    /// The position of the key's first column; of the only one if the key is simple.
    package var firstIndex: Int { parts[0].index }

    /// The key of an entity; nil if a key column is NULL or has a value of another type.
    @inline(__always)
    package func key(of values: UnsafeBufferPointer<ColumnValue>) -> EntityKey? {
        guard isSimple else { return encodedKey(of: values) }
        switch values[parts[0].index] {
        case .text(let bytes) where isText: return .text(Array(bytes))
        case .integer(let value) where !isText: return .integer(value)
        default: return nil
        }
    }

    private func encodedKey(of values: UnsafeBufferPointer<ColumnValue>) -> EntityKey? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(64)
        return misfit(of: values, encodingInto: &bytes) == nil ? .encoded(bytes) : nil
    }

    /// Appends the encoded key of an entity.
    ///
    /// - Returns: the position in the schema of the first key column that is NULL or has a value of another type; nil if there is none.
    package func misfit(of values: UnsafeBufferPointer<ColumnValue>, encodingInto bytes: inout [UInt8]) -> Int? {
        for part in parts {
            let value = values[part.index]
            guard Self.fits(value, part.kind) else { return part.index }
            EncodedKey.append(value, part.collation, to: &bytes)
        }
        return nil
    }

    /// Whether a key can have this shape: the same number of values, each of its column's type, with texts folded by their collations.
    package func accepts(_ key: EntityKey) -> Bool {
        switch key {
        case .text: return isSimple && isText
        case .integer: return isSimple && !isText
        case .encoded(let bytes):
            guard !isSimple, let values = EncodedKey.values(of: bytes), values.count == parts.count else { return false }
            var again: [UInt8] = []
            for (value, part) in zip(values, parts) {
                guard value.withColumnValue({ Self.fits($0, part.kind) }) else { return false }
                value.withColumnValue { EncodedKey.append($0, part.collation, to: &again) }
            }
            return again == bytes
        }
    }

    /// The longest key that a version can contain, in bytes of UTF-8 or of its encoded values.
    package static let byteLimit = 1024

    /// Whether a version can contain the key.
    package func holds(_ key: EntityKey) -> Bool { accepts(key) && key.byteCount <= Self.byteLimit }

    /// Whether keys of the other shape have the same meaning: the same types, compared in the same way.
    package func isComparable(with other: KeyShape) -> Bool {
        parts.elementsEqual(other.parts) { $0.kind == $1.kind && $0.collation == $1.collation }
    }

    private static func fits(_ value: ColumnValue, _ kind: ColumnKind) -> Bool {
        switch (value, kind) {
        case (.text, .text), (.integer, .integer), (.integer, .real), (.integer, .boolean), (.blob, .blob): true
        case (.real(let value), .real): value.isFinite
        default: false
        }
    }
}

extension DatasetSchema {
    /// Whether the key is one text column compared by its bytes, or one integer column.
    public var hasSimpleKey: Bool { keyShape.isSimple }
    /// The columns of the key, in order.
    public var keyColumns: [DatasetColumn] { keyIndices.map { columns[$0] } }
    /// The key of an entity; nil if a key column is NULL or has a value of another type.
    package func key(of values: UnsafeBufferPointer<ColumnValue>) -> EntityKey? { keyShape.key(of: values) }
    /// The names of the key's columns for people: `id`, or `order_id, line`.
    package var keyNames: String { keyColumns.map(\.name).joined(separator: ", ") }
}
