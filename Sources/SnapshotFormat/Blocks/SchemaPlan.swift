internal import SnapshotModel

/// A schema prepared for encoding and parsing: each column's label as whole words, in flat memory.
///
/// Memory: the labels, for the plan's lifetime. Immutable after init.
final class SchemaPlan: @unchecked Sendable {
    // SAFETY (of @unchecked Sendable): the pointers are written only in init.
    struct Column {
        /// `"name":`, padded with zeros to whole words.
        let label: UnsafePointer<UInt64>
        let labelLength: Int
        /// Mask of the bytes of the last word that belong to the label.
        let lastMask: UInt64
        /// How its values look; nil for the form that carries every value.
        let shape: ColumnShape?
        let isKey: Bool
        /// Whether the column may be NULL.
        let isOptional: Bool
        /// The name as unescaped UTF-8.
        let name: UnsafeRawBufferPointer
    }

    let schema: DatasetSchema
    let count: Int
    let columns: UnsafeMutablePointer<Column>
    let keyShape: KeyShape
    /// The position of the key's first column.
    let keyIndex: Int
    /// Whether a text or an integer in the key's column is the key as it is.
    let hasPlainKey: Bool

    init(_ schema: DatasetSchema) {
        self.schema = schema
        count = schema.columns.count
        keyShape = schema.keyShape
        keyIndex = keyShape.firstIndex
        hasPlainKey = keyShape.isPlain
        columns = .allocate(capacity: count)
        for (index, column) in schema.columns.enumerated() {
            (columns + index).initialize(to: Self.plan(column, isKey: schema.keyIndices.contains(index)))
        }
    }

    deinit {
        for index in 0..<count {
            columns[index].label.deallocate()
            columns[index].name.deallocate()
        }
        columns.deallocate()
    }

    /// The name of the column at a position, for errors.
    func name(_ index: Int) -> String { schema.columns[index].name }

    private static func plan(_ column: DatasetColumn, isKey: Bool) -> Column {
        let text = ByteBuffer()
        var cursor = ByteCursor(text)
        var name = column.name
        name.withUTF8 { _ = cursor.appendString(UnsafeRawBufferPointer($0)) }
        cursor.append(UInt8(ascii: ":"))
        cursor.finish()

        let wordCount = (text.count + 7) / 8
        let words = UnsafeMutablePointer<UInt64>.allocate(capacity: wordCount)
        words.initialize(repeating: 0, count: wordCount)
        UnsafeMutableRawPointer(words).copyMemory(from: text.base, byteCount: text.count)
        let rest = text.count % 8
        let mask: UInt64 = rest == 0 ? .max : (1 << (8 * UInt64(rest)) - 1)

        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: name.utf8.count, alignment: 1)
        copy.copyBytes(from: name.utf8)
        return Column(
            label: UnsafePointer(words), labelLength: text.count, lastMask: mask.littleEndian, shape: column.shape, isKey: isKey,
            isOptional: column.isOptional && !isKey, name: UnsafeRawBufferPointer(copy))
    }
}

/// How entities write values that JSON cannot express: as objects with one member.
///
/// Source: docs/format.md, "Values".
enum ValueForm {
    /// The beginning of the object for a blob, followed by base64 and a brace.
    static let blob: StaticString = "{\"base64\":"
    /// The beginning of the object for text that is not UTF-8, followed by base64 and a brace.
    static let text: StaticString = "{\"textBase64\":"
    /// The object for positive infinity.
    static let infinity: StaticString = "{\"real\":\"Infinity\"}"
    /// The object for negative infinity.
    static let minusInfinity: StaticString = "{\"real\":\"-Infinity\"}"

    /// The name of the object's one member.
    enum Member {
        case blob, text, real

        /// The member with this name, given as the bytes between the quotes; nil for any other name.
        init?(_ name: UnsafeRawBufferPointer) {
            if name.elementsEqual("base64".utf8) {
                self = .blob
            } else if name.elementsEqual("textBase64".utf8) {
                self = .text
            } else if name.elementsEqual("real".utf8) {
                self = .real
            } else {
                return nil
            }
        }
    }
}
