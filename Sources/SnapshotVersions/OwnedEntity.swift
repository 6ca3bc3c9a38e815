import Foundation
package import SnapshotModel

/// A column's value that may be kept, unlike the one that is lent.
package enum OwnedValue: Hashable, Sendable {
    case null
    case integer(Int64)
    /// The number's bits, so that what is stored differently differs.
    case real(UInt64)
    case text([UInt8])
    case json([UInt8])
    case blob([UInt8])

    init(_ value: ColumnValue) {
        switch value {
        case .null: self = .null
        case .integer(let integer): self = .integer(integer)
        case .real(let real): self = .real(real.bitPattern)
        case .text(let bytes): self = .text(Array(bytes))
        case .json(let bytes): self = .json(Array(bytes))
        case .blob(let bytes): self = .blob(Array(bytes))
        }
    }
}

/// An entity that may be kept.
package struct OwnedEntity: Sendable {
    let key: EntityKey
    /// A value for each column of the schema that it was read by.
    package let values: [OwnedValue]
}

/// Takes entities and keeps all of them.
package final class OwnedEntities: EntitySink {
    package private(set) var all: [OwnedEntity] = []
    private let keyShape: KeyShape

    package init(schema: DatasetSchema) { keyShape = schema.keyShape }

    package func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        guard let key = keyShape.key(of: values) else { return }
        all.append(OwnedEntity(key: key, values: values.map(OwnedValue.init)))
    }
}

extension EntityKey {
    /// The key as it is, for programs; who prints it takes care of control characters. An encoded key is the text of a JSON array.
    package var plainText: String {
        switch self {
        case .text(let bytes): String(decoding: bytes, as: UTF8.self)
        case .integer(let value): String(value)
        case .encoded: jsonText
        }
    }

    /// The key as JSON has it.
    private var jsonText: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? description
    }
}

extension OwnedValue: Encodable {
    /// As JSON has it; a JSON column's text and a blob's base64 as strings.
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
