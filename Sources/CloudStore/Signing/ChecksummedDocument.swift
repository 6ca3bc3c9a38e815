import Foundation
import StrictText

/// A control document with its own checksum, so that a flipped bit is found even in the newest file, whose hash no other file names:
///
///     {"commit":{…},"sha256":"<SHA-256 of the bytes {…}>"}
///
/// The checksum covers the body's bytes exactly as they are in the file. A reader therefore needs no canonical encoder, and keys that the
/// reader does not know are covered too.
///
/// In a signed zone a third part follows: `,"signature":"<128 hexadecimal digits>"}`. It is the Ed25519 signature over `snapsync-commit 1`,
/// a line feed, and the same bytes. The word after `snapsync-` is the document's name, so a signature of one kind of document is not valid
/// for another kind. Source: docs/sealed.md.
package enum ChecksummedDocument {
    /// Encodes a value under a name, adds the checksum, and signs it in a signed zone.
    package static func encode(_ value: some Encodable, named name: String, by keys: DeviceKeys? = nil) throws -> [UInt8] {
        try seal(try StrictJSON.encode(value), named: name, by: keys)
    }

    /// Adds the checksum to a body that is already JSON, and signs it if there are keys.
    static func seal(_ body: Data, named name: String, by keys: DeviceKeys?) throws -> [UInt8] {
        let sealed = seal(body, named: name)
        guard let keys else { return sealed }
        let signature = try keys.signature(of: message(body, name))
        return sealed.dropLast() + Array(",\"signature\":\"\(Hexadecimal.text(signature))\"}".utf8)
    }

    /// The bytes that are signed: the label of the kind of document, and the body.
    private static func message(_ body: some Sequence<UInt8>, _ name: String) -> [UInt8] { Array("snapsync-\(name) 1\n".utf8) + body }

    /// Adds the checksum to a body that is already JSON.
    static func seal(_ body: Data, named name: String) -> [UInt8] {
        Array("{\"\(name)\":".utf8) + body + Array(",\"sha256\":\"\(ContentHash.of(body))\"}".utf8)
    }

    /// Verifies the checksum and decodes the body.
    ///
    /// - Throws: ``CloudError`` with `.damaged` at `place`; the error never holds the content.
    package static func decode<T: Decodable>(
        _ type: T.Type, named name: String, from bytes: [UInt8], at place: String, isSigned: Bool = false
    ) throws(CloudError) -> T {
        let body = try self.body(of: bytes, named: name, at: place, isSigned: isSigned)
        do {
            return try StrictJSON.decode(type, from: Data(body))
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

    /// Returns the body's bytes after verifying the checksum. The signature is checked separately, by ``verifySignature(of:named:by:at:)``.
    ///
    /// - Parameter isSigned: whether the document belongs to a signed zone. It must have a signature then, and must have none otherwise.
    static func body(of bytes: [UInt8], named name: String, at place: String, isSigned: Bool = false) throws(CloudError) -> ArraySlice<UInt8> {
        let sealed = try parts(of: bytes, named: name, at: place, isSigned: isSigned).sealed
        let head = "{\"\(name)\":".utf8, tail = middle.count + 64 + end.count
        guard sealed.count > head.count + tail, sealed.starts(with: head), sealed.suffix(tail).starts(with: middle),
            sealed.suffix(end.count).first == end[0], isSigned || sealed.last == end[1]
        else { throw CloudError(.damaged, at: place, "cut short or not a \(name)", hint: CloudError.damageHint) }
        let body = sealed.dropFirst(head.count).dropLast(tail)
        guard sealed.suffix(tail).dropFirst(middle.count).prefix(64).elementsEqual(ContentHash.of(body).utf8) else {
            throw CloudError(.damaged, at: place, "the content does not match its checksum", hint: CloudError.damageHint)
        }
        return body
    }

    /// Verifies the signature of a document whose checksum is already verified.
    ///
    /// - Parameter key: the Ed25519 public key that the body names, in hexadecimal digits.
    /// - Throws: ``CloudError`` with `.untrusted` at `place`.
    static func verifySignature(of bytes: [UInt8], named name: String, by key: String?, at place: String) throws(CloudError) {
        let (sealed, digits) = try parts(of: bytes, named: name, at: place, isSigned: true)
        let body = sealed.dropFirst("{\"\(name)\":".utf8.count).dropLast(middle.count + 64 + end.count)
        guard let key, let signature = Hexadecimal.bytes(digits), DevicePublicKeys.isValid(signature, of: message(body, name), by: key) else {
            throw CloudError(
                .untrusted, at: place, "invalid signature: it does not match this \(name) and the key that it names",
                hint: "the file was changed or forged; bring it back from a copy, or run snapsync check")
        }
    }

    private static let middle = Array(",\"sha256\":\"".utf8)
    private static let end = Array("\"}".utf8)
    private static let signatureMark = Array(",\"signature\":\"".utf8)
    /// The byte count of everything after the checksum's last digit and quotation mark in a signed document.
    private static let signatureCount = signatureMark.count + 128 + end.count

    /// Splits a document into its unsigned form and the signature's digits. In a signed document the unsigned form ends with a comma instead
    /// of the brace; in an unsigned zone there are no digits.
    private static func parts(of bytes: [UInt8], named name: String, at place: String, isSigned: Bool) throws(CloudError) -> (
        sealed: ArraySlice<UInt8>, digits: ArraySlice<UInt8>
    ) {
        let tail = bytes.suffix(signatureCount)
        let hasSignature = tail.count == signatureCount && tail.starts(with: signatureMark) && tail.suffix(end.count).elementsEqual(end)
        guard hasSignature == isSigned else {
            guard !isSigned || bytes.suffix(end.count).elementsEqual(end) else {
                throw CloudError(.damaged, at: place, "cut short or not a \(name)", hint: CloudError.damageHint)
            }
            throw CloudError(
                .untrusted, at: place,
                isSigned ? "the zone is signed, and this \(name) is not" : "this \(name) is signed, but zone.json does not list the zone as signed",
                hint: "somebody else wrote the file, or zone.json; run snapsync check")
        }
        guard isSigned else { return (bytes[...], []) }
        // The unsigned form keeps the comma where an unsigned document has the closing brace.
        return (bytes.dropLast(signatureCount - 1), tail.dropFirst(signatureMark.count).prefix(128))
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
