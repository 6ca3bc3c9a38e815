package import Foundation

/// A control document that writes itself as a tree, without the cost of Codable: for documents that every export or import writes.
///
/// The bytes equal those of `Encodable`: keys in byte order, no white space, the fewest escapes. A tree with a value that this code does not
/// write (a control character, a number with a fraction) is encoded with `Encodable`.
package protocol JSONNodeEncodable: Encodable {
    /// The document as a tree.
    var node: JSONNode { get }
}

extension StrictJSON {
    /// Encodes a control document: keys sorted, no white space, `/` not escaped. Equal values give equal bytes.
    package static func encode(_ value: some JSONNodeEncodable) throws -> Data {
        var bytes: [UInt8] = []
        return value.node.write(to: &bytes) ? Data(bytes) : try encodeAny(value)
    }

    /// Encodes a control document as text.
    package static func text(_ value: some JSONNodeEncodable) throws -> String {
        var bytes: [UInt8] = []
        return String(decoding: value.node.write(to: &bytes) ? bytes : Array(try encodeAny(value)), as: UTF8.self)
    }
}

extension JSONNode {
    /// A list of texts.
    package static func texts(_ texts: [String]) -> JSONNode { .list(texts.map { .text($0) }) }

    /// A count.
    package static func count(_ number: Int) -> JSONNode { .integer(Int64(number)) }

    /// An instant as its text.
    package static func instant(_ instant: Instant) -> JSONNode { .text(instant.description) }

    /// Appends the node's text. Returns false if the tree has a value that this code does not write.
    func write(to bytes: inout [UInt8]) -> Bool {
        switch self {
        case .null: bytes += "null".utf8
        case .boolean(let flag): bytes += (flag ? "true" : "false").utf8
        case .integer(let number): bytes += String(number).utf8
        case .otherNumber: return false
        case .text(let text): return Self.write(text, to: &bytes)
        case .list(let nodes):
            bytes.append(UInt8(ascii: "["))
            for (number, node) in nodes.enumerated() {
                if number > 0 { bytes.append(UInt8(ascii: ",")) }
                guard node.write(to: &bytes) else { return false }
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (number, member) in members.sorted.enumerated() {
                if number > 0 { bytes.append(UInt8(ascii: ",")) }
                guard Self.write(member.name, to: &bytes) else { return false }
                bytes.append(UInt8(ascii: ":"))
                guard member.node.write(to: &bytes) else { return false }
            }
            bytes.append(UInt8(ascii: "}"))
        }
        return true
    }

    private static func write(_ text: String, to bytes: inout [UInt8]) -> Bool {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            guard byte >= 0x20 else { return false }
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\""))
        return true
    }
}

extension String: JSONNodeEncodable {
    package var node: JSONNode { .text(self) }
}

extension Int: JSONNodeEncodable {
    package var node: JSONNode { .count(self) }
}

extension Instant: JSONNodeEncodable {
    package var node: JSONNode { .instant(self) }
}

extension [String]: JSONNodeEncodable {
    package var node: JSONNode { .texts(self) }
}
