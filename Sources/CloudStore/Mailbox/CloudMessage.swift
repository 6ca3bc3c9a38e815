public import Foundation
public import StrictText

/// What a device leaves in a zone's mailbox for whoever publishes: an id, a sender, and a JSON object that the cloud does not look into.
public struct CloudMessage: Hashable, Sendable {
    /// 32 lower-case hexadecimal digits; no two messages of a sender have the same.
    public let id: String
    /// The device that sends it, whose part of the mailbox it lies in.
    public let sender: String
    /// One JSON object, strict and in UTF-8.
    public let body: Data

    /// The largest message as a file, in bytes.
    public static let byteLimit = 64 << 10
    /// How many messages of one device wait at most, unless it was told otherwise.
    public static let waitingLimit = 1000

    public init(id: String, sender: String, body: Data) {
        self.id = id
        self.sender = sender
        self.body = body
    }

    /// A new id: the instant in microseconds, then a random half, so that the order of ids is the order of instants.
    public static func newID(at instant: Instant) -> String { newID(at: instant, nonces: .system) }

    /// A new id whose random half comes from a source of one's own.
    package static func newID(at instant: Instant, nonces: NonceSource) -> String { id(at: instant, ending: nonces.hex(16)) }

    /// The id of an instant with a half of 16 hexadecimal digits.
    package static func id(at instant: Instant, ending half: String) -> String {
        let time = String(UInt64(clamping: instant.microseconds), radix: 16)
        return String(repeating: "0", count: 16 - time.utf8.count) + time + half
    }
}

/// Which message: its sender and its id.
public struct CloudMessageName: Hashable, Sendable {
    public let sender: String
    public let id: String

    public init(sender: String, id: String) {
        self.sender = sender
        self.id = id
    }
}

/// A message that was passed over, and why: too large, malformed, under a wrong name, or not of the device whose folder it lies in.
public struct SetAsideMessage: Hashable, Sendable {
    /// Where it lies.
    public let place: String
    public let reason: String

    public init(place: String, reason: String) {
        self.place = place
        self.reason = reason
    }
}
