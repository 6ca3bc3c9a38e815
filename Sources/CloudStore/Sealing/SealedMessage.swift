import Foundation
package import Sealing
import StrictText

/// A message's body in a sealed zone: `{"sealed":"BOX"}`, the box in base64. Within one epoch, equal bodies of the same message give equal
/// bytes.
package enum SealedMessage {
    /// Whether a body has the sealed form.
    static func isOne(_ body: Data) -> Bool { box(of: body) != nil }

    /// The sealed message, as the mailbox stores it.
    package static func seal(_ message: CloudMessage, by keys: BoxKeys) throws -> CloudMessage {
        let box = try keys.seal(message.body, kind: .message, dataset: place(of: message))
        return CloudMessage(id: message.id, sender: message.sender, body: Data("{\"sealed\":\"\(Data(box).base64EncodedString())\"}".utf8))
    }

    /// The message as its sender wrote it.
    ///
    /// - Throws: ``BoxError`` with `.damaged` for a body that is not sealed, or is sealed for another message.
    package static func open(_ message: CloudMessage, by keys: BoxKeys) throws(BoxError) -> CloudMessage {
        guard let box = box(of: message.body) else { throw .damaged }
        let body = Data(try keys.open(box, kind: .message, dataset: place(of: message)))
        // The wrapped cloud verified that the sealed body is an object. It could not do so for the content, so check it here.
        guard body.first == UInt8(ascii: "{"), (try? body.withUnsafeBytes({ try StrictJSON.check($0) })) != nil else { throw .damaged }
        return CloudMessage(id: message.id, sender: message.sender, body: body)
    }

    private static func place(of message: CloudMessage) -> String { "\(message.sender)/\(message.id)" }

    private static func box(of body: Data) -> Data? {
        guard let members = try? StrictJSON.decode([String: String].self, from: body), members.count == 1, let text = members["sealed"],
            let box = Data(base64Encoded: text), box.count >= BoxKeys.overhead
        else { return nil }
        return box
    }
}
