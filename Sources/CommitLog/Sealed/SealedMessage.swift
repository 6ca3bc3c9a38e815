package import CloudStore
import Foundation
package import Sealing
import StrictText

/// A message's body in a sealed zone: `{"sealed":"BOX"}`, the box in base64. Equal bodies of one message give equal bytes as long as the epoch lasts.
package enum SealedMessage {
    /// Whether a body has that form.
    static func isOne(_ body: Data) -> Bool { box(of: body) != nil }

    /// The message as the mailbox gets it.
    package static func seal(_ message: CloudMessage, by keys: BoxKeys) throws -> CloudMessage {
        let box = try keys.seal(message.body, kind: .message, dataset: place(of: message))
        return CloudMessage(id: message.id, sender: message.sender, body: Data("{\"sealed\":\"\(Data(box).base64EncodedString())\"}".utf8))
    }

    /// The message as its sender meant it.
    ///
    /// - Throws: ``BoxError``: `.damaged` for a body that was not sealed, or not for this message.
    package static func open(_ message: CloudMessage, by keys: BoxKeys) throws(BoxError) -> CloudMessage {
        guard let box = box(of: message.body) else { throw .damaged }
        let body = Data(try keys.open(box, kind: .message, dataset: place(of: message)))
        // The wrapped cloud has seen to it that a body is an object, of what was sealed it could not.
        guard body.first == UInt8(ascii: "{"), (try? body.withUnsafeBytes({ try StrictJSON.check($0) })) != nil else { throw .damaged }
        return CloudMessage(id: message.id, sender: message.sender, body: body)
    }

    private static func place(of message: CloudMessage) -> String { "\(message.sender)/\(message.id)" }

    private static func box(of body: Data) -> Data? {
        guard let members = try? body.withUnsafeBytes({ JSONNode($0) })?.object(), members.count == 1, let text = try? members["sealed"]?.text(),
            let box = Data(base64Encoded: text), box.count >= BoxKeys.overhead
        else { return nil }
        return box
    }
}
