import Foundation
import StrictText

/// JSON as RFC 8259 says, and control documents on their way to Foundation's decoder.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    let isStrict = (try? StrictJSON.check(bytes)) != nil
    let scanner = JSONScanner(bytes)
    let start = scanner.skipSpace(0)
    let end = try? scanner.skipValue(start)
    if let end { expect(end > start && end <= bytes.count, "a value ends within its text") }
    guard isStrict else { return }
    expect(String(validating: bytes, as: UTF8.self) != nil, "what is taken is UTF-8")
    expect(end.map(scanner.skipSpace) == bytes.count, "what is taken is one value and nothing after it")
    let data = Data(bytes)
    expect((try? (data + Data("x".utf8)).withUnsafeBytes { try StrictJSON.check($0) }) == nil, "text after the end is refused")
    _ = try? StrictJSON.decode(Tree.self, from: data)
}

/// Any JSON, decoded as documents are. What was taken is at most 64 levels deep, so this recursion ends.
private enum Tree: Decodable {
    case null, boolean(Bool), integer(Int64), real(Double), text(String), list([Tree]), object([String: Tree])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .real(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([Tree].self) {
            self = .list(value)
        } else {
            self = .object(try container.decode([String: Tree].self))
        }
    }
}
