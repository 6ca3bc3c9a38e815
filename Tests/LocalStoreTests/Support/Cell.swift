import SnapshotModel

/// One value of a row, compared bit by bit: -0.0 is not 0.0, an empty text is not NULL.
enum Cell: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(bits: UInt64)
    case text([UInt8])
    case json([UInt8])
    case blob([UInt8])

    static func real(_ value: Double) -> Cell { .real(bits: value.bitPattern) }
    static func text(_ value: String) -> Cell { .text(Array(value.utf8)) }
    static func json(_ value: String) -> Cell { .json(Array(value.utf8)) }

    /// The value as an SQL literal that any SQLite reads back to the bit.
    var sql: String {
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
}

/// Keeps a copy of every row that it is given.
final class RowCollector: EntitySink {
    private(set) var rows: [[Cell]] = []

    func take(_ values: UnsafeBufferPointer<ColumnValue>) {
        rows.append(
            values.map { value in
                switch value {
                case .null: .null
                case .integer(let value): .integer(value)
                case .real(let value): .real(value)
                case .text(let bytes): .text(Array(bytes))
                case .json(let bytes): .json(Array(bytes))
                case .blob(let bytes): .blob(Array(bytes))
                }
            })
    }
}

extension [[Cell]] {
    /// Lends every row to a sink, as a block of an asset would.
    func give(to sink: any EntitySink) throws {
        for row in self {
            var bytes: [UInt8] = []
            var ranges: [Range<Int>] = []
            for cell in row {
                let start = bytes.count
                if case .text(let value) = cell { bytes += value }
                if case .json(let value) = cell { bytes += value }
                if case .blob(let value) = cell { bytes += value }
                ranges.append(start..<bytes.count)
            }
            try bytes.withUnsafeBytes { buffer in
                // SAFETY: the slices point into `bytes`, which lives until the sink returns.
                let values = zip(row, ranges).map { cell, range -> ColumnValue in
                    switch cell {
                    case .null: .null
                    case .integer(let value): .integer(value)
                    case .real(let bits): .real(Double(bitPattern: bits))
                    case .text: .text(UnsafeRawBufferPointer(rebasing: buffer[range]))
                    case .json: .json(UnsafeRawBufferPointer(rebasing: buffer[range]))
                    case .blob: .blob(UnsafeRawBufferPointer(rebasing: buffer[range]))
                    }
                }
                try values.withUnsafeBufferPointer { try sink.take($0) }
            }
        }
    }
}
