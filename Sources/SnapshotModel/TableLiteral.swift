package import Foundation
package import StrictText

/// A value in the declaration of a table.
package enum TableLiteral: Hashable, Sendable {
    case integer(Int64)
    case real(Double)
    case text(ExactText)
    case blob(Data)

    /// The most bytes of a text or BLOB.
    package static let byteLimit = 4096

    /// Why it cannot be used; nil if it can.
    package var fault: String? {
        switch self {
        case .integer: nil
        case .real(let number): number.isNaN ? "it is not a number" : nil
        case .text(let text):
            text.text.utf8.count > Self.byteLimit ? "a text has more than \(Self.byteLimit) bytes" : text.text.utf8.contains(0) ? "a text holds NUL" : nil
        case .blob(let bytes): bytes.count > Self.byteLimit ? "a BLOB has more than \(Self.byteLimit) bytes" : nil
        }
    }

    /// The value as SQL has it.
    package var sql: String {
        switch self {
        case .integer(let number): "\(number)"
        case .real(let number): number.isInfinite ? number < 0 ? "-9e999" : "9e999" : "\(number)"
        case .text(let text): text.text.sqlText
        case .blob(let bytes): "X'\(bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())'"
        }
    }
}

extension TableLiteral: Codable {
    private enum CodingKeys: String, CodingKey {
        case integer, real, text, base64
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if container.contains(.integer) {
            self = .integer(try container.decode(Int64.self, forKey: .integer))
        } else if container.contains(.real) {
            // As in the rows: no JSON number is infinite.
            let name = try? container.decode(ExactText.self, forKey: .real)
            self = .real(
                name == "Infinity".exact ? .infinity : name == "-Infinity".exact ? -.infinity : try container.decode(Double.self, forKey: .real))
        } else if container.contains(.text) {
            self = .text(try container.decode(ExactText.self, forKey: .text))
        } else {
            let text = try container.decode(ExactText.self, forKey: .base64)
            guard let bytes = Data(base64Encoded: text.text), bytes.base64EncodedString().exact == text.text.exact else {
                throw DecodingError.dataCorruptedError(forKey: .base64, in: container, debugDescription: "not base64")
            }
            self = .blob(bytes)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .integer(let number): try container.encode(number, forKey: .integer)
        case .real(let number):
            if number.isInfinite {
                try container.encode(number < 0 ? "-Infinity" : "Infinity", forKey: .real)
            } else {
                try container.encode(number, forKey: .real)
            }
        case .text(let text): try container.encode(text, forKey: .text)
        case .blob(let bytes): try container.encode(bytes, forKey: .base64)
        }
    }
}
