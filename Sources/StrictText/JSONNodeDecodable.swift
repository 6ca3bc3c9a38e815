package import Foundation

/// A control document that reads itself from a tree, without Codable's machinery: for those that every run reads.
///
/// Decoding through Codable costs a process a third of a millisecond for the first document of each type, most of it spent on
/// finding out which type conforms to what; a sync with nothing to do reads a dozen. A document that its reader takes must be one that
/// `Decodable` takes, and mean the same. What the reader does not take is decoded as ever, so that `Decodable` has the last word, and the
/// words for what is wrong.
package protocol JSONNodeDecodable: Decodable {
    /// Reads the document.
    init(_ node: JSONNode) throws(JSONNode.Misfit)
}

extension StrictJSON {
    /// Decodes one control document.
    ///
    /// - Throws: ``JSONFault`` where the text is not strict JSON, else `DecodingError`.
    package static func decode<T: JSONNodeDecodable>(_ type: T.Type, from data: Data) throws -> T {
        if let value = data.withUnsafeBytes({ plain(type, $0) }) { return value }
        return try decodeAny(type, from: data)
    }

    /// Decodes one control document.
    ///
    /// - Throws: ``JSONFault`` where the text is not strict JSON, else `DecodingError`.
    package static func decode<T: JSONNodeDecodable>(_ type: T.Type, from bytes: ArraySlice<UInt8>) throws -> T {
        if let value = bytes.withUnsafeBytes({ plain(type, $0) }) { return value }
        return try decodeAny(type, from: Data(bytes))
    }

    /// Decodes one control document.
    ///
    /// - Throws: ``JSONFault`` where the text is not strict JSON, else `DecodingError`.
    package static func decode<T: JSONNodeDecodable>(_ type: T.Type, from text: String) throws -> T {
        var text = text
        if let value = text.withUTF8({ plain(type, UnsafeRawBufferPointer($0)) }) { return value }
        return try decodeAny(type, from: Data(text.utf8))
    }

    /// The document, if its type's own reader takes it.
    package static func plain<T: JSONNodeDecodable>(_ type: T.Type, _ bytes: UnsafeRawBufferPointer) -> T? {
        JSONNode(bytes).flatMap { try? T($0) }
    }
}

extension [String]: JSONNodeDecodable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        self = try node.list { node throws(JSONNode.Misfit) in try node.text() }
    }
}

extension Instant: JSONNodeDecodable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) { self = try node.instant() }
}

extension String: JSONNodeDecodable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) { self = try node.text() }
}

extension Int: JSONNodeDecodable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) { self = try node.count() }
}
