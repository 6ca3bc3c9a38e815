package import Foundation

/// A control document that reads itself from a tree, without the cost of Codable: for documents that every run reads.
///
/// Decoding through Codable costs a process a third of a millisecond for the first document of each type, most of it for looking up protocol
/// conformances, and a sync with nothing to do reads a dozen documents. Any document that `init(_:)` accepts must also be accepted by
/// `Decodable`, with the same meaning. Documents that it refuses are decoded with `Decodable`, which has the final decision and gives the error.
package protocol JSONNodeDecodable: Decodable {
    /// Reads the document.
    init(_ node: JSONNode) throws(JSONNode.Misfit)
}

extension StrictJSON {
    /// Decodes one control document.
    ///
    /// - Throws: ``JSONFault`` if the text is not strict JSON, else `DecodingError`.
    package static func decode<T: JSONNodeDecodable>(_ type: T.Type, from data: Data) throws -> T {
        if let value = data.withUnsafeBytes({ plain(type, $0) }) { return value }
        return try decodeAny(type, from: data)
    }

    /// Decodes one control document.
    ///
    /// - Throws: ``JSONFault`` if the text is not strict JSON, else `DecodingError`.
    package static func decode<T: JSONNodeDecodable>(_ type: T.Type, from bytes: ArraySlice<UInt8>) throws -> T {
        if let value = bytes.withUnsafeBytes({ plain(type, $0) }) { return value }
        return try decodeAny(type, from: Data(bytes))
    }

    /// Decodes one control document.
    ///
    /// - Throws: ``JSONFault`` if the text is not strict JSON, else `DecodingError`.
    package static func decode<T: JSONNodeDecodable>(_ type: T.Type, from text: String) throws -> T {
        var text = text
        if let value = text.withUTF8({ plain(type, UnsafeRawBufferPointer($0)) }) { return value }
        return try decodeAny(type, from: Data(text.utf8))
    }

    /// The document, if its type's `init(_:)` accepts it; otherwise nil.
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
