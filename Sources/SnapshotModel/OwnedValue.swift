import Foundation

/// A column's value that owns its bytes, unlike ``ColumnValue``.
package enum OwnedValue: Hashable, Sendable {
    case null
    case integer(Int64)
    /// The number's bits, so that values with different bits are not equal.
    case real(UInt64)
    case text([UInt8])
    case json([UInt8])
    case blob([UInt8])

    package init(_ value: ColumnValue) {
        switch value {
        case .null: self = .null
        case .integer(let integer): self = .integer(integer)
        case .real(let real): self = .real(real.bitPattern)
        case .text(let bytes): self = .text(Array(bytes))
        case .json(let bytes): self = .json(Array(bytes))
        case .blob(let bytes): self = .blob(Array(bytes))
        }
    }

    /// Calls `body` with the value as a column value.
    package func withColumnValue<T>(_ body: (ColumnValue) throws -> T) rethrows -> T {
        switch self {
        case .null: try body(.null)
        case .integer(let value): try body(.integer(value))
        case .real(let bits): try body(.real(Double(bitPattern: bits)))
        // SAFETY: the bytes are valid during the call.
        case .text(let bytes): try bytes.withUnsafeBytes { try body(.text($0)) }
        case .json(let bytes): try bytes.withUnsafeBytes { try body(.json($0)) }
        case .blob(let bytes): try bytes.withUnsafeBytes { try body(.blob($0)) }
        }
    }
}

/// A sink that keeps the values of the last entity.
package final class RowValues: EntitySink {
    package private(set) var values: [OwnedValue] = []

    package init() {}

    package func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws { self.values = values.map(OwnedValue.init) }
}

extension [OwnedValue] {
    /// Calls `body` with the values as column values.
    package func lending<T>(_ body: (UnsafeBufferPointer<ColumnValue>) throws -> T) rethrows -> T {
        func lend(_ rest: Self.SubSequence, _ lent: inout [ColumnValue]) throws -> T {
            guard let first = rest.first else { return try lent.withUnsafeBufferPointer(body) }
            return try first.withColumnValue { value in
                lent.append(value)
                return try lend(rest.dropFirst(), &lent)
            }
        }
        var lent: [ColumnValue] = []
        lent.reserveCapacity(count)
        return try lend(self[...], &lent)
    }
}

extension OwnedValue {
    /// A text, or NULL.
    package init(_ text: String?) { self = text.map { .text(Array($0.utf8)) } ?? .null }

    /// The text; nil if the value is not a text.
    package var text: String? {
        guard case .text(let bytes) = self else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension OwnedValue: Encodable {
    /// Encodes the value as JSON: a JSON column's text and a blob's base64 as strings.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .integer(let value): try container.encode(value)
        case .real(let bits):
            let real = Double(bitPattern: bits)
            if real.isFinite { try container.encode(real) } else { try container.encode(real < 0 ? "-Infinity" : "Infinity") }
        case .text(let bytes), .json(let bytes): try container.encode(String(decoding: bytes, as: UTF8.self))
        case .blob(let bytes): try container.encode(Data(bytes).base64EncodedString())
        }
    }
}

extension OwnedValue: CustomStringConvertible {
    /// The value for people: text quoted, with control characters escaped.
    package var description: String {
        switch self {
        case .null: "none"
        case .integer(let value): String(value)
        case .real(let bits): String(Double(bitPattern: bits))
        case .text(let bytes): String(decoding: bytes, as: UTF8.self).debugDescription
        case .json(let bytes): String(decoding: bytes, as: UTF8.self)
        case .blob(let bytes): "\(bytes.count) bytes"
        }
    }
}
