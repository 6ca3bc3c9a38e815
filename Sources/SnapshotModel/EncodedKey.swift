/// One value of an entity's key.
public enum KeyValue: Hashable, Sendable {
    case integer(Int64)
    /// A number that is not a 64-bit integer.
    case real(Double)
    case text([UInt8])
    case blob([UInt8])

    /// Calls `body` with the value as a column value.
    package func withColumnValue<T>(_ body: (ColumnValue) throws -> T) rethrows -> T {
        switch self {
        case .integer(let value): try body(.integer(value))
        case .real(let value): try body(.real(value))
        // SAFETY: the bytes are valid during the call.
        case .text(let bytes): try bytes.withUnsafeBytes { try body(.text($0)) }
        case .blob(let bytes): try bytes.withUnsafeBytes { try body(.blob($0)) }
        }
    }
}

/// The bytes of a key that is not one text or one integer: its values one after another, each with its storage class, in SQLite's order.
///
/// Two keys are equal for the table exactly if their bytes are equal, and the bytes have the same order as the keys in the table.
///
/// | value | bytes |
/// |---|---|
/// | a number | `10`, 8 bytes of the greatest double that is not above it, 2 bytes of the difference |
/// | text | `20`, the folded text with each `00` as `00 FF`, `00 00` |
/// | blob | `30`, the bytes with each `00` as `00 FF`, `00 00` |
///
/// The double's bits are big-endian: all inverted if it is negative, else with the sign bit set. 1 and 1.0 are one number, and so are 0.0 and
/// -0.0.
/// Source: docs/format.md, "Keys".
package enum EncodedKey {
    private static let number: UInt8 = 0x10, text: UInt8 = 0x20, blob: UInt8 = 0x30

    /// Appends a value that is not NULL.
    package static func append(_ value: ColumnValue, _ collation: KeyCollation, to bytes: inout [UInt8]) {
        switch value {
        case .null: break
        case .integer(let value): append(integer: value, to: &bytes)
        case .real(let value):
            if let integer = Int64(exactly: value) { append(integer: integer, to: &bytes) } else { append(value, rest: 0, to: &bytes) }
        case .text(let value), .json(let value):
            bytes.append(text)
            if collation == .binary {
                append(value, to: &bytes)
            } else {
                var folded: [UInt8] = []
                collation.appendFolded(value, to: &folded)
                folded.withUnsafeBytes { append($0, to: &bytes) }
            }
        case .blob(let value):
            bytes.append(blob)
            append(value, to: &bytes)
        }
    }

    private static func append(integer value: Int64, to bytes: inout [UInt8]) {
        var double = Double(value)
        // Rounding up may give 2^63, which is beyond Int64.
        if double >= 0x1p63 || Int64(double) > value { double = double.nextDown }
        append(double, rest: UInt16(truncatingIfNeeded: value - Int64(double)), to: &bytes)
    }

    private static func append(_ value: Double, rest: UInt16, to bytes: inout [UInt8]) {
        let pattern = value.bitPattern
        let ordered = pattern >> 63 == 1 ? ~pattern : pattern | 1 << 63
        bytes.append(number)
        withUnsafeBytes(of: ordered.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: rest.bigEndian) { bytes.append(contentsOf: $0) }
    }

    private static func append(_ value: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        if value.contains(0) {
            for byte in value {
                bytes.append(byte)
                if byte == 0 { bytes.append(0xFF) }
            }
        } else {
            bytes.append(contentsOf: value)
        }
        bytes.append(0)
        bytes.append(0)
    }

    /// The values of an encoded key; nil for bytes that are not one.
    ///
    /// A folded text represents all texts that are equal for the table: with NOCASE it is in lower case, with RTRIM it has no spaces at its end.
    package static func values(of bytes: [UInt8]) -> [KeyValue]? {
        var values: [KeyValue] = []
        var position = 0
        while position < bytes.count {
            let tag = bytes[position]
            position += 1
            switch tag {
            case number:
                guard bytes.count - position >= 10, let value = number(bytes[position..<position + 10]) else { return nil }
                values.append(value)
                position += 10
            case text, blob:
                guard let (content, end) = content(bytes, position) else { return nil }
                values.append(tag == text ? .text(content) : .blob(content))
                position = end
            default: return nil
            }
        }
        return values
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> KeyValue? {
        let ordered = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let rest = bytes.suffix(2).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        let double = Double(bitPattern: ordered >> 63 == 1 ? ordered & ~(1 << 63) : ~ordered)
        guard !double.isNaN else { return nil }
        guard let whole = Int64(exactly: double) else { return rest == 0 ? .real(double) : nil }
        let (sum, overflow) = whole.addingReportingOverflow(rest)
        return overflow ? nil : .integer(sum)
    }

    private static func content(_ bytes: [UInt8], _ start: Int) -> ([UInt8], end: Int)? {
        var content: [UInt8] = []
        var position = start
        while position + 1 < bytes.count {
            let byte = bytes[position]
            guard byte == 0 else {
                content.append(byte)
                position += 1
                continue
            }
            switch bytes[position + 1] {
            case 0: return (content, position + 2)
            case 0xFF: content.append(0)
            default: return nil
            }
            position += 2
        }
        return nil
    }
}
