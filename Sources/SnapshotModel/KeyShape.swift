/// How a dataset's table compares the texts of a key column.
///
/// Source: "Collating Sequences" in SQLite's documentation of datatypes.
package enum KeyCollation: String, NameInFile, Sendable {
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

/// The columns of a dataset's key and how the table compares them.
///
///     let shape = schema.keyShape
///     if let key = shape.key(of: values) { … }
///
/// A key column may hold integers, reals, texts and blobs side by side. The key of one column is its value where that is an integer or a text; any
/// other key is encoded.
package struct KeyShape: Hashable, Sendable {
    /// One column of the key.
    package struct Part: Hashable, Sendable {
        /// The column's position in the schema.
        package let index: Int
        package let shape: ColumnShape?
        package let collation: KeyCollation
    }

    /// The columns in the key's order, at least one.
    package let parts: [Part]

    init(_ columns: [DatasetColumn], _ indices: [Int]) {
        parts = indices.map { Part(index: $0, shape: columns[$0].shape, collation: columns[$0].collation) }
    }

    /// The position of the key's first column.
    package var firstIndex: Int { parts[0].index }
    /// Whether the key has one column.
    package var isSingle: Bool { parts.count == 1 }
    /// Whether the key has one column, whose texts are compared by their bytes. Then a text or an integer is the key as it is.
    package var isPlain: Bool { isSingle && parts[0].collation == .binary }
    /// Whether the dataset declares that all keys are texts, compared by their bytes.
    package var isTextOnly: Bool { isPlain && parts[0].shape == .text }

    /// The key of an entity; nil if a key column is NULL or an infinite number.
    @inline(__always)
    package func key(of values: UnsafeBufferPointer<ColumnValue>) -> EntityKey? {
        if isPlain {
            switch values[parts[0].index] {
            case .text(let bytes): return .text(Array(bytes))
            case .integer(let value): return .integer(value)
            default: break
            }
        }
        var bytes: [UInt8] = []
        return lendKey(of: values, using: &bytes) { $0.owned }
    }

    /// Calls `body` with the key of an entity; returns nil, without a call, if a key column is NULL or an infinite number.
    ///
    /// - Parameter bytes: memory for a key that is not a value of the entity.
    package func lendKey<T>(of values: UnsafeBufferPointer<ColumnValue>, using bytes: inout [UInt8], _ body: (LentKey) throws -> T) rethrows -> T? {
        bytes.removeAll(keepingCapacity: true)
        guard isSingle else {
            for part in parts {
                guard Self.isUsable(values[part.index]) else { return nil }
                EncodedKey.append(values[part.index], part.collation, to: &bytes)
            }
            return try bytes.withUnsafeBytes { try body(.encoded($0)) }
        }
        let value = values[parts[0].index]
        guard Self.isUsable(value) else { return nil }
        switch value {
        case .integer(let integer): return try body(.integer(integer))
        case .text(let text) where parts[0].collation == .binary: return try body(.text(text))
        case .text(let text):
            parts[0].collation.appendFolded(text, to: &bytes)
            return try bytes.withUnsafeBytes { try body(.text($0)) }
        case .real(let real):
            // 1 and 1.0 are one key.
            if let integer = Int64(exactly: real) { return try body(.integer(integer)) }
            fallthrough
        default:
            EncodedKey.append(value, .binary, to: &bytes)
            return try bytes.withUnsafeBytes { try body(.encoded($0)) }
        }
    }

    /// The position in the schema of the first key column that is NULL or an infinite number; nil if there is none.
    package func unusableColumn(of values: UnsafeBufferPointer<ColumnValue>) -> Int? { parts.first { !Self.isUsable(values[$0.index]) }?.index }

    private static func isUsable(_ value: ColumnValue) -> Bool {
        switch value {
        case .null: false
        case .real(let value): value.isFinite
        default: true
        }
    }

    /// Whether a key can have this shape: as many values as columns, in the one form that a key has, each as its column declares it.
    package func accepts(_ key: EntityKey) -> Bool {
        switch key {
        case .text(let bytes):
            guard isSingle, fits(.text, 0) else { return false }
            if parts[0].collation == .binary { return true }
            var folded: [UInt8] = []
            bytes.withUnsafeBytes { parts[0].collation.appendFolded($0, to: &folded) }
            return folded == bytes
        case .integer: return isSingle && (fits(.integer, 0) || fits(.real, 0) || fits(.boolean, 0))
        case .encoded(let bytes):
            guard let values = EncodedKey.values(of: bytes), values.count == parts.count else { return false }
            var again: [UInt8] = []
            for (index, value) in values.enumerated() {
                let isFit =
                    switch value {
                    case .integer: !isSingle && (fits(.integer, index) || fits(.real, index) || fits(.boolean, index))
                    case .real(let real): real.isFinite && fits(.real, index)
                    case .text: !isSingle && fits(.text, index)
                    case .blob: fits(.blob, index)
                    }
                guard isFit else { return false }
                value.withColumnValue { EncodedKey.append($0, parts[index].collation, to: &again) }
            }
            return again == bytes
        }
    }

    private func fits(_ shape: ColumnShape, _ part: Int) -> Bool { parts[part].shape ?? shape == shape }

    /// The longest key that a version can contain, in bytes of UTF-8 or of its encoded values.
    package static let byteLimit = 1024

    /// Whether a version can contain the key.
    package func holds(_ key: EntityKey) -> Bool { accepts(key) && key.byteCount <= Self.byteLimit }

    /// Whether keys of the other shape have the same meaning: as many columns, compared in the same way.
    package func isComparable(with other: KeyShape) -> Bool { parts.elementsEqual(other.parts) { $0.collation == $1.collation } }
}

extension DatasetSchema {
    /// The columns of the key, in order.
    package var keyColumns: [DatasetColumn] { keyIndices.map { columns[$0] } }
    /// The key of an entity; nil if a key column is NULL or an infinite number.
    package func key(of values: UnsafeBufferPointer<ColumnValue>) -> EntityKey? { keyShape.key(of: values) }
    /// The names of the key's columns for people: `id`, or `order_id, line`.
    package var keyNames: String { keyColumns.map(\.name).joined(separator: ", ") }
}
