package import CloudStore
import Foundation
import StrictText

/// A control document with its own checksum, so that a flipped bit in the newest one is found too:
/// `{"commit":{…},"sha256":"<SHA-256 of the bytes {…}>"}`.
///
/// The checksum is over the body's bytes as they stand in the file: a reader needs no canonical encoder, and keys that it
/// does not know take part.
package enum ChecksummedDocument {
    /// Seals a value under a name.
    package static func encode(_ value: some Encodable, named name: String) throws -> [UInt8] {
        seal(try StrictJSON.encode(value), named: name)
    }

    /// The same, for what every export or import writes.
    static func encode(_ value: some PlainWritable, named name: String) throws -> [UInt8] {
        seal(try StrictJSON.encode(value), named: name)
    }

    /// Seals a body that is JSON already.
    static func seal(_ body: Data, named name: String) -> [UInt8] {
        Array("{\"\(name)\":".utf8) + body + Array(",\"sha256\":\"\(ContentHash.of(body))\"}".utf8)
    }

    /// Checks the seal and decodes the body.
    ///
    /// - Throws: ``CloudError`` with `.damaged` at `place`, without the content.
    package static func decode<T: Decodable>(
        _ type: T.Type, named name: String, from bytes: [UInt8], at place: String
    ) throws(CloudError) -> T {
        try decode(named: name, from: bytes, at: place) { try StrictJSON.decode(type, from: Data($0)) }
    }

    /// The same, for what every run reads.
    static func decode<T: PlainReadable>(
        _ type: T.Type, named name: String, from bytes: [UInt8], at place: String
    ) throws(CloudError) -> T {
        try decode(named: name, from: bytes, at: place) { try StrictJSON.decode(type, from: $0) }
    }

    private static func decode<T>(
        named name: String, from bytes: [UInt8], at place: String, _ decode: (ArraySlice<UInt8>) throws -> T
    ) throws(CloudError) -> T {
        let body = try self.body(of: bytes, named: name, at: place)
        do {
            return try decode(body)
        } catch let fault as JSONFault {
            throw CloudError(.damaged, at: place, "not the JSON of a \(name): \(fault)", hint: CloudError.damageHint)
        } catch let error as CloudError {
            throw error.moved(to: place)
        } catch let error as DecodingError {
            throw CloudError(.damaged, at: place, "not a \(name) of this format: \(error.place)", hint: CloudError.damageHint)
        } catch {
            throw CloudError(.damaged, at: place, "not a \(name) of this format", hint: CloudError.damageHint)
        }
    }

    /// The body's bytes, once the seal was checked.
    static func body(of bytes: [UInt8], named name: String, at place: String) throws(CloudError) -> ArraySlice<UInt8> {
        let head = Array("{\"\(name)\":".utf8)
        let middle = Array(",\"sha256\":\"".utf8), end = Array("\"}".utf8)
        let tail = middle.count + 64 + end.count
        guard bytes.count > head.count + tail, bytes.starts(with: head), bytes.suffix(tail).starts(with: middle), bytes.suffix(end.count) == end[...]
        else { throw CloudError(.damaged, at: place, "cut short or not a \(name)", hint: CloudError.damageHint) }
        let body = bytes[head.count..<bytes.count - tail]
        guard bytes.suffix(tail).dropFirst(middle.count).prefix(64).elementsEqual(ContentHash.of(body).utf8) else {
            throw CloudError(.damaged, at: place, "the content does not match its checksum", hint: CloudError.damageHint)
        }
        return body
    }
}

extension DecodingError {
    /// Where decoding stopped and what was missing; never a value.
    package var place: String {
        switch self {
        case .keyNotFound(let key, let context): "\(path(context)): '\(key.stringValue)' is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context): "\(path(context)): a value of another type is expected"
        case .dataCorrupted(let context): "\(path(context)): the value is not allowed"
        @unknown default: "a value is not as it must be"
        }
    }

    private func path(_ context: Context) -> String {
        context.codingPath.isEmpty ? "document" : context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
    }
}
