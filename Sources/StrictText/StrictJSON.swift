package import Foundation

/// Control documents (commits, indexes, dataset files) as JSON: read strictly, written canonically.
///
///     let commit = try StrictJSON.decode(Commit.self, from: bytes)
///     let bytes = try StrictJSON.encode(commit)
///
/// Foundation's decoder keeps the first of two equal keys and accepts trailing commas. This one refuses both, and a BOM, bytes that are not
/// UTF-8, lone surrogates, nesting beyond 64 levels and anything after the end. Not for datasets: memory is a small multiple of the document.
package enum StrictJSON {
    /// The deepest nesting of a control document, in levels.
    package static let depthLimit = 64

    /// Decodes one control document with Foundation, after ``check(_:)``.
    ///
    /// - Throws: ``JSONFault`` if the text is not strict JSON, else `DecodingError`.
    package static func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
        try data.withUnsafeBytes { try check($0) }
        return try JSONDecoder().decode(type, from: data)
    }

    /// Decodes one control document.
    package static func decode<T: Decodable>(_ type: T.Type, from text: String) throws -> T { try decode(type, from: Data(text.utf8)) }

    /// Encodes a control document: keys sorted, no white space, `/` not escaped. Equal values give equal bytes.
    package static func encode(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(value)
    }

    /// Encodes a control document as text.
    package static func text(_ value: some Encodable) throws -> String { String(decoding: try encode(value), as: UTF8.self) }

    /// Throws unless the bytes are one strict JSON value in UTF-8, without repeated keys in an object.
    package static func check(_ bytes: UnsafeRawBufferPointer) throws {
        if let fault = UTF8Check.firstFault(in: bytes) { throw JSONFault(offset: fault, reason: "not UTF-8") }
        let scanner = JSONScanner(bytes)
        let start = scanner.skipSpace(0)
        let end = scanner.skipSpace(try scanner.skipValue(start, depthLimit: depthLimit))
        guard end == bytes.count else { throw JSONFault(offset: end, reason: "text after the end") }
        try refuseRepeatedKeys(scanner, start)
    }

    /// Scans text that is known to be JSON and compares the unescaped keys of each object.
    private static func refuseRepeatedKeys(_ scanner: JSONScanner, _ start: Int) throws {
        var open: [Set<[UInt8]>?] = []
        var position = start
        var expectsKey = false
        while position < scanner.end {
            switch scanner.base[position] {
            case UInt8(ascii: "{"):
                open.append([])
                expectsKey = true
                position += 1
            case UInt8(ascii: "["):
                open.append(nil)
                expectsKey = false
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                open.removeLast()
                expectsKey = false
                position += 1
            case UInt8(ascii: ","):
                expectsKey = open.last.map { $0 != nil } ?? false
                position += 1
            case UInt8(ascii: "\""):
                let end = try scanner.skipString(position)
                let text = try scanner.unescape(position + 1, end - 1)
                if expectsKey, open[open.count - 1]?.insert(text).inserted == false {
                    throw JSONFault(offset: position, reason: "a key stands twice in one object")
                }
                expectsKey = false
                position = end
            default:
                position += 1
            }
        }
    }
}

extension JSONScanner {
    /// Returns the UTF-8 bytes of a string's contents from `start` up to `end`, without the quotes.
    ///
    /// - Throws: ``JSONFault`` for a lone surrogate, which UTF-8 cannot represent.
    package func unescape(_ start: Int, _ end: Int) throws(JSONFault) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(end - start)
        var position = start
        while position < end {
            let plain = min(plainEnd(position), end)
            bytes.append(contentsOf: UnsafeBufferPointer(start: base + position, count: plain - position))
            guard plain < end else { break }
            position = try unescapeOne(plain) { bytes.append($0) }
        }
        return bytes
    }

    /// Passes the UTF-8 bytes of the escape at `start` to `emit` and returns the position after it.
    @inline(__always)
    package func unescapeOne(_ start: Int, _ emit: (UInt8) -> Void) throws(JSONFault) -> Int {
        switch base[start + 1] {
        case UInt8(ascii: "b"): emit(0x08)
        case UInt8(ascii: "f"): emit(0x0C)
        case UInt8(ascii: "n"): emit(0x0A)
        case UInt8(ascii: "r"): emit(0x0D)
        case UInt8(ascii: "t"): emit(0x09)
        case UInt8(ascii: "u"): return try unescapeUnicode(start, emit)
        default: emit(base[start + 1])
        }
        return start + 2
    }

    private func unescapeUnicode(_ start: Int, _ emit: (UInt8) -> Void) throws(JSONFault) -> Int {
        let first = try hexUnit(start + 2)
        var code = UInt32(first)
        var position = start + 6
        if (0xD800...0xDBFF).contains(first), position + 6 <= end, base[position] == UInt8(ascii: "\\"),
            base[position + 1] == UInt8(ascii: "u")
        {
            let second = try hexUnit(position + 2)
            if (0xDC00...0xDFFF).contains(second) {
                code = 0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
                position += 6
            }
        }
        guard let scalar = Unicode.Scalar(code) else { throw JSONFault(offset: start, reason: "a lone surrogate") }
        for byte in UTF8.encode(scalar)! { emit(byte) }
        return position
    }
}

/// Where and why a text is not the expected JSON.
package struct JSONFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// The offset in bytes at which reading stopped, from 0.
    package let offset: Int
    /// What is wrong there; never the text itself.
    package let reason: String

    package init(offset: Int, reason: String) { (self.offset, self.reason) = (offset, reason) }

    package var description: String { "\(reason) at byte \(offset)" }
}
