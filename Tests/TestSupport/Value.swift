package import SnapshotModel

/// A column's value that owns its bytes, compared bit by bit: -0.0 is not 0.0, an empty text is not NULL.
package enum Value: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(bits: UInt64)
    case text([UInt8])
    case json([UInt8])
    case blob([UInt8])

    package static func text(_ text: String) -> Value { .text(Array(text.utf8)) }
    package static func json(_ text: String) -> Value { .json(Array(text.utf8)) }
    package static func real(_ value: Double) -> Value { .real(bits: value.bitPattern) }

    /// The value as a key; nil if it can be none.
    package var key: EntityKey? {
        switch self {
        case .text(let bytes): .text(bytes)
        case .integer(let value): .integer(value)
        default: nil
        }
    }

    /// The value as an SQL literal that any SQLite reads back to the bit.
    package var sql: String {
        func hex(_ bytes: [UInt8]) -> String { "x'" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "'" }
        return switch self {
        case .null: "NULL"
        case .integer(.min): "(-9223372036854775807 - 1)"
        case .integer(let value): "\(value)"
        case .real(let bits): bits == 1 << 63 ? "-0.0" : "\(Double(bitPattern: bits))"
        case .text(let bytes), .json(let bytes): "CAST(\(hex(bytes)) AS TEXT)"
        case .blob(let bytes): hex(bytes)
        }
    }

    package init(_ value: ColumnValue) {
        switch value {
        case .null: self = .null
        case .integer(let value): self = .integer(value)
        case .real(let value): self = .real(bits: value.bitPattern)
        case .text(let bytes): self = .text(Array(bytes))
        case .json(let bytes): self = .json(Array(bytes))
        case .blob(let bytes): self = .blob(Array(bytes))
        }
    }
}

/// Lends rows to a sink, as a database does: the bytes are gone after each call.
package func send(_ rows: some Sequence<[Value]>, to sink: any EntitySink) throws {
    for row in rows { try send(row, to: sink) }
}

package func send(_ row: [Value], to sink: any EntitySink) throws {
    var lent: [UnsafeMutableRawBufferPointer] = []
    defer { for buffer in lent { buffer.deallocate() } }
    func lend(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        buffer.copyBytes(from: bytes)
        lent.append(buffer)
        return UnsafeRawBufferPointer(buffer)
    }
    let values: [ColumnValue] = row.map {
        switch $0 {
        case .null: .null
        case .integer(let value): .integer(value)
        case .real(let bits): .real(Double(bitPattern: bits))
        case .text(let bytes): .text(lend(bytes))
        case .json(let bytes): .json(lend(bytes))
        case .blob(let bytes): .blob(lend(bytes))
        }
    }
    try values.withUnsafeBufferPointer { try sink.receive($0) }
}

/// Keeps what it is given.
package final class CollectingSink: EntitySink {
    package private(set) var rows: [[Value]] = []
    package init() {}
    package func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws { rows.append(values.map(Value.init)) }
}
