import Foundation
import StrictText

/// A message's file, as docs/cloud-directory.md describes it. It has a checksum and names the cloud and zone in which it is valid.
package enum MessageDocument {
    static let sealName = "message"

    private struct Envelope: Codable {
        let cloud: String
        let id: String
        /// In a signed zone: the Ed25519 public key of the sender, which signed the message.
        let key: String?
        let sender: String
        let zone: String
    }

    /// Returns the bytes of a message's file, signed with the sender's keys in a signed zone.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments` if no reader could read it back, `.limitExceeded` if it is too large.
    package static func encode(_ message: CloudMessage, of history: HistoryID, by keys: DeviceKeys? = nil) throws -> [UInt8] {
        try CloudNames.verify(message.sender, isNameOf: "device")
        guard CloudNames.isMessageID(message.id) else {
            throw CloudError(.invalidArguments, at: "message", "the id is not 32 lower-case hexadecimal digits")
        }
        let isObject = message.body.first == UInt8(ascii: "{") && (try? message.body.withUnsafeBytes { try StrictJSON.check($0) }) != nil
        guard isObject, message.body.last == UInt8(ascii: "}") else {
            throw CloudError(.invalidArguments, at: "message \(message.id)", "the body is not one JSON object")
        }
        guard !history.isSealed || SealedMessage.isOne(message.body) else {
            throw CloudError(.invalidArguments, at: "message \(message.id)", "the zone is sealed, and the message is not")
        }
        let envelope = try StrictJSON.encode(
            Envelope(cloud: history.cloud, id: message.id, key: keys?.publicKeys.signing, sender: message.sender, zone: history.zone.description))
        // The document's keys are sorted, and "body" comes before all keys of the envelope.
        let body = Data("{\"body\":".utf8) + message.body + Data(",".utf8) + envelope.dropFirst()
        let bytes = try ChecksummedDocument.seal(body, named: sealName, by: keys)
        guard bytes.count <= CloudMessage.byteLimit else {
            throw CloudError(.limitExceeded, at: "message \(message.id)", "it would be \(bytes.count) bytes, the limit is \(CloudMessage.byteLimit)")
        }
        return bytes
    }

    /// Reads a message's file.
    ///
    /// - Parameter signers: the devices that may send messages, in a signed zone.
    /// - Throws: ``CloudError`` with `.damaged` if the file is truncated, altered, of another cloud, zone or sender, or does not match its
    ///   name; with `.untrusted` if it is not signed by a member that may send messages.
    static func decode(
        _ bytes: [UInt8], _ name: CloudMessageName, of history: HistoryID, by signers: MessageSigners? = nil, at place: String
    ) throws(CloudError) -> CloudMessage {
        guard bytes.count <= CloudMessage.byteLimit else {
            throw damaged(place, "\(bytes.count) bytes long, at most \(CloudMessage.byteLimit) are allowed")
        }
        let envelope = try ChecksummedDocument.decode(Envelope.self, named: sealName, from: bytes, at: place, isSigned: history.isSigned)
        guard envelope.cloud == history.cloud, envelope.zone == history.zone.description else {
            throw damaged(place, "it is a message of another location or zone")
        }
        guard envelope.id == name.id else { throw damaged(place, "it says another id than its name") }
        guard envelope.sender == name.sender else { throw damaged(place, "its sender is not the device whose folder it lies in") }
        if history.isSigned {
            try ChecksummedDocument.verifySignature(of: bytes, named: sealName, by: envelope.key, at: place)
            if let reason = signers?.refusal(of: name.sender, key: envelope.key) ?? (signers == nil ? "the members of the zone are not known" : nil) {
                throw CloudError(.untrusted, at: place, reason, hint: "snapsync zone members shows who is a member, and who asks to be one")
            }
        }
        let document = Array(try ChecksummedDocument.body(of: bytes, named: sealName, at: place, isSigned: history.isSigned))
        guard let body = try? document.withUnsafeBytes({ try Self.body(of: $0) }), body.first == UInt8(ascii: "{") else {
            throw damaged(place, "its body is not a JSON object")
        }
        return CloudMessage(id: name.id, sender: name.sender, body: body)
    }

    /// Returns the bytes of the document's body. The JSON is already known to be strict.
    private static func body(of document: UnsafeRawBufferPointer) throws -> Data? {
        var body: Data?
        try JSONScanner(document).forEachMember { name, value in
            if name.elementsEqual("body".utf8) { body = Data(document[value]) }
        }
        return body
    }

    private static func damaged(_ place: String, _ reason: String) -> CloudError {
        CloudError(.damaged, at: place, reason, hint: "remove the file; its sender tells the change again")
    }
}
