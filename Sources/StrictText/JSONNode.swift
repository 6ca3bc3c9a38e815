/// A small control document as a tree, for types that read themselves from one (``JSONNodeDecodable``).
///
/// A tree is made only from text that ``StrictJSON/check(_:)`` accepts: UTF-8, no repeated key, no lone surrogate, nothing after the end.
/// Otherwise there is no tree, and `StrictJSON` finds out what is wrong with the text. Memory: a small multiple of the text.
package enum JSONNode {
    case null
    case boolean(Bool)
    case integer(Int64)
    /// A number with a fraction or an exponent, or beyond 64 bits. No document that is read in this way contains one.
    case otherNumber
    case text(String)
    case list([JSONNode])
    case object(JSONObject)

    /// The document's tree; nil if it is not strict JSON.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard UTF8Check.firstFault(in: bytes) == nil else { return nil }
        var reader = Reader(scanner: JSONScanner(bytes))
        guard let node = try? reader.document() else { return nil }
        self = node
    }
}

extension JSONNode {
    /// The node is not of the expected type.
    package struct Misfit: Error {
        package init() {}
    }

    /// The node as an object.
    package func object() throws(Misfit) -> JSONObject {
        guard case .object(let members) = self else { throw Misfit() }
        return members
    }

    /// The node as a list, each element read by `read`.
    package func list<T>(_ read: (JSONNode) throws(Misfit) -> T) throws(Misfit) -> [T] {
        guard case .list(let nodes) = self else { throw Misfit() }
        var values: [T] = []
        values.reserveCapacity(nodes.count)
        for node in nodes { values.append(try read(node)) }
        return values
    }

    /// The node as text.
    package func text() throws(Misfit) -> String {
        guard case .text(let text) = self else { throw Misfit() }
        return text
    }

    /// The node as an integer of 64 bits.
    package func integer() throws(Misfit) -> Int64 {
        guard case .integer(let number) = self else { throw Misfit() }
        return number
    }

    /// The node as a count.
    package func count() throws(Misfit) -> Int {
        guard let count = Int(exactly: try integer()) else { throw Misfit() }
        return count
    }

    /// The node as true or false.
    package func boolean() throws(Misfit) -> Bool {
        guard case .boolean(let flag) = self else { throw Misfit() }
        return flag
    }

    /// The node as an RFC 3339 date and time.
    package func instant() throws(Misfit) -> Instant {
        guard let instant = try? Instant(parsing: try text()) else { throw Misfit() }
        return instant
    }
}

/// Parses the text once. It does not report where a fault is, because the caller then checks the text again with `StrictJSON`.
private struct Reader {
    let scanner: JSONScanner
    var position = 0

    mutating func document() throws(JSONFault) -> JSONNode {
        position = scanner.skipSpace(0)
        let node = try value(depth: 0)
        position = scanner.skipSpace(position)
        guard position == scanner.end else { throw fault }
        return node
    }

    private var fault: JSONFault { JSONFault(offset: position, reason: "not as expected") }

    private mutating func value(depth: Int) throws(JSONFault) -> JSONNode {
        guard position < scanner.end else { throw fault }
        switch scanner.base[position] {
        case UInt8(ascii: "\""): return .text(try string())
        case UInt8(ascii: "{"): return .object(try object(depth: depth + 1))
        case UInt8(ascii: "["): return .list(try list(depth: depth + 1))
        case UInt8(ascii: "t"): return try word(.boolean(true))
        case UInt8(ascii: "f"): return try word(.boolean(false))
        case UInt8(ascii: "n"): return try word(.null)
        default: return try number()
        }
    }

    private mutating func word(_ node: JSONNode) throws(JSONFault) -> JSONNode {
        position = try scanner.skipScalar(position)
        return node
    }

    private mutating func number() throws(JSONFault) -> JSONNode {
        let start = position
        let end = try scanner.skipScalar(start)
        position = end
        let text = String(decoding: UnsafeBufferPointer(start: scanner.base + start, count: end - start), as: UTF8.self)
        // A number with a fraction or an exponent, or beyond 64 bits, is not the text of an Int64.
        return Int64(text).map { .integer($0) } ?? .otherNumber
    }

    private mutating func string() throws(JSONFault) -> String {
        let start = position + 1
        let end = try scanner.skipString(position) - 1
        position = end + 1
        // SAFETY: both positions are within the text, which outlives the reader; the bytes are copied.
        let bytes = UnsafeBufferPointer(start: scanner.base + start, count: end - start)
        guard scanner.plainEnd(start) < end else { return String(decoding: bytes, as: UTF8.self) }
        return String(decoding: try scanner.unescape(start, end), as: UTF8.self)
    }

    private mutating func list(depth: Int) throws(JSONFault) -> [JSONNode] {
        var nodes: [JSONNode] = []
        try elements(until: UInt8(ascii: "]"), depth) { (reader: inout Reader) throws(JSONFault) in
            nodes.append(try reader.value(depth: depth))
        }
        return nodes
    }

    private mutating func object(depth: Int) throws(JSONFault) -> JSONObject {
        var members = JSONObject()
        try elements(until: UInt8(ascii: "}"), depth) { (reader: inout Reader) throws(JSONFault) in
            guard reader.position < reader.scanner.end, reader.scanner.base[reader.position] == UInt8(ascii: "\"") else { throw reader.fault }
            let key = try reader.string()
            reader.position = reader.scanner.skipSpace(reader.position)
            guard reader.position < reader.scanner.end, reader.scanner.base[reader.position] == UInt8(ascii: ":") else { throw reader.fault }
            reader.position = reader.scanner.skipSpace(reader.position + 1)
            let node = try reader.value(depth: depth)
            guard members.add(key, node) else { throw reader.fault }
        }
        return members
    }

    /// Reads the elements between a bracket and its end, which are separated by commas.
    private mutating func elements(until close: UInt8, _ depth: Int, _ element: (inout Reader) throws(JSONFault) -> Void) throws(JSONFault) {
        guard depth <= StrictJSON.depthLimit else { throw fault }
        position = scanner.skipSpace(position + 1)
        if position < scanner.end, scanner.base[position] == close {
            position += 1
            return
        }
        while true {
            try element(&self)
            position = scanner.skipSpace(position)
            guard position < scanner.end else { throw fault }
            let byte = scanner.base[position]
            position += 1
            if byte == close { return }
            guard byte == UInt8(ascii: ",") else { throw fault }
            position = scanner.skipSpace(position)
        }
    }
}
