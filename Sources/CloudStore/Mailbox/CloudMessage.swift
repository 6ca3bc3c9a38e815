public import Foundation
package import StrictText

/// A message that a device leaves in a zone's mailbox for the publisher: an id, a sender, and a JSON object that the cloud does not
/// interpret.
public struct CloudMessage: Hashable, Sendable {
    /// 32 lower-case hexadecimal digits, unique among the sender's messages.
    public let id: String
    /// The device that sends it. The message is stored in this device's part of the mailbox.
    public let sender: String
    /// One JSON object, strict and in UTF-8.
    public let body: Data

    /// The largest message file, in bytes.
    package static let byteLimit = 1 << 20

    public init(id: String, sender: String, body: Data) {
        self.id = id
        self.sender = sender
        self.body = body
    }

    /// The message's sender and id.
    public var name: CloudMessageName { CloudMessageName(sender: sender, id: id) }

    /// Makes a new id: the instant in microseconds, then 16 random digits. Ids therefore sort by instant.
    package static func newID(at instant: Instant) -> String { newID(at: instant, nonces: .system) }

    /// Makes a new id whose random digits come from the given source.
    package static func newID(at instant: Instant, nonces: NonceSource) -> String { id(at: instant, ending: nonces.hex(16)) }

    /// Makes the id of an instant with the given last 16 hexadecimal digits.
    package static func id(at instant: Instant, ending half: String) -> String {
        let time = String(UInt64(clamping: instant.microseconds), radix: 16)
        return String(repeating: "0", count: 16 - time.utf8.count) + time + half
    }
}

/// Identifies a message by its sender and its id.
public struct CloudMessageName: Hashable, Sendable {
    public let sender: String
    public let id: String

    public init(sender: String, id: String) {
        self.sender = sender
        self.id = id
    }
}

/// A message that was ignored, and why: it is too large, malformed, misnamed, or not from the device whose folder it is in.
public struct SetAsideMessage: Hashable, Sendable {
    /// The message's path.
    public let place: String
    public let reason: String

    public init(place: String, reason: String) {
        self.place = place
        self.reason = reason
    }
}
