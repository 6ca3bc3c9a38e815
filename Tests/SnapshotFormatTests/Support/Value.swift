import SnapshotModel

/// A column's value that owns its bytes, for comparing what went in with what came out.
enum Value: Hashable {
    case null
    case integer(Int64)
    case real(UInt64)
    case text([UInt8])
    case json([UInt8])
    case blob([UInt8])

    static func text(_ text: String) -> Value { .text(Array(text.utf8)) }
    static func json(_ text: String) -> Value { .json(Array(text.utf8)) }
    static func real(_ value: Double) -> Value { .real(value.bitPattern) }

    /// The value as a key; nil if it can be none.
    var key: EntityKey? {
        switch self {
        case .text(let bytes): .text(bytes)
        case .integer(let value): .integer(value)
        default: nil
        }
    }

    init(_ value: ColumnValue) {
        switch value {
        case .null: self = .null
        case .integer(let value): self = .integer(value)
        case .real(let value): self = .real(value.bitPattern)
        case .text(let bytes): self = .text(Array(bytes))
        case .json(let bytes): self = .json(Array(bytes))
        case .blob(let bytes): self = .blob(Array(bytes))
        }
    }
}

/// Lends rows to a sink, as a database does: the bytes are gone after each call.
func give(_ rows: some Sequence<[Value]>, to sink: any EntitySink) throws {
    for row in rows { try give(row, to: sink) }
}

func give(_ row: [Value], to sink: any EntitySink) throws {
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
    try values.withUnsafeBufferPointer { try sink.take($0) }
}

/// Keeps what it is given.
final class CollectingSink: EntitySink {
    var rows: [[Value]] = []
    func take(_ values: UnsafeBufferPointer<ColumnValue>) throws { rows.append(values.map(Value.init)) }
}
