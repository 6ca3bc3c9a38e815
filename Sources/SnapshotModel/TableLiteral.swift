package import Foundation
package import StrictText

/// A value in the declaration of a table.
package enum TableLiteral: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(ExactText)
    case blob(Data)

    /// The most bytes of a text or BLOB.
    package static let byteLimit = 4096

    /// Why it cannot be used; nil if it can.
    package var fault: String? {
        switch self {
        case .null, .integer: nil
        case .real(let number): number.isFinite ? nil : "a number is not finite"
        case .text(let text):
            text.text.utf8.count > Self.byteLimit ? "a text has more than \(Self.byteLimit) bytes" : text.text.utf8.contains(0) ? "a text holds NUL" : nil
        case .blob(let bytes): bytes.count > Self.byteLimit ? "a BLOB has more than \(Self.byteLimit) bytes" : nil
        }
    }

    /// The value as SQL has it.
    package var sql: String {
        switch self {
        case .null: "NULL"
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .text(let text): text.text.sqlText
        case .blob(let bytes): "X'\(bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())'"
        }
    }
}

extension TableLiteral: Codable {
    private enum CodingKeys: String, CodingKey {
        case null, integer, real, text, base64
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if container.contains(.integer) {
            self = .integer(try container.decode(Int64.self, forKey: .integer))
        } else if container.contains(.real) {
            self = .real(try container.decode(Double.self, forKey: .real))
        } else if container.contains(.text) {
            self = .text(try container.decode(ExactText.self, forKey: .text))
        } else if container.contains(.base64) {
            let text = try container.decode(ExactText.self, forKey: .base64)
            guard let bytes = Data(base64Encoded: text.text), bytes.base64EncodedString().exact == text.text.exact else {
                throw DecodingError.dataCorruptedError(forKey: .base64, in: container, debugDescription: "not base64")
            }
            self = .blob(bytes)
        } else if try container.decode(Bool.self, forKey: .null) {
            self = .null
        } else {
            throw DecodingError.dataCorruptedError(forKey: .null, in: container, debugDescription: "only true can be said")
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .null: try container.encode(true, forKey: .null)
        case .integer(let number): try container.encode(number, forKey: .integer)
        case .real(let number): try container.encode(number, forKey: .real)
        case .text(let text): try container.encode(text, forKey: .text)
        case .blob(let bytes): try container.encode(bytes, forKey: .base64)
        }
    }
}
