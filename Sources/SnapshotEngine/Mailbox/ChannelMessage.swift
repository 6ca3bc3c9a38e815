import CloudStore
public import Foundation
import SnapshotModel
import SnapshotVersions
import StrictText

/// The edits of a reader for the publisher over an application's own channel: WatchConnectivity, a socket, a file.
///
///     if let message = try await engine.outgoingMessage() { session.send(try message.encoded()) }       // at the reader
///     let outcome = try await engine.apply(try ChannelMessage(decoding: data))                           // at the publisher
///
/// The bytes are a JSON object: `cloud`, `zone` and `message`. Source: docs/embedding.md, "Over a channel of your own".
public struct ChannelMessage: Codable, Hashable, Sendable {
    /// The largest message, in bytes.
    package static let byteLimit = CloudMessage.byteLimit

    /// The UUID of the cloud that sender and receiver share.
    public let cloud: String
    /// The zone as a path: `private/ZentikSyncZone`.
    public let zone: String
    let message: EditMessage

    init(_ message: EditMessage, cloud: String, zone: String) {
        self.cloud = cloud
        self.zone = zone
        self.message = message
    }

    /// Returns the bytes to send.
    public func encoded() throws -> Data { try SyncError.at(.encode) { try StrictJSON.encode(self) } }

    /// Reads received bytes.
    ///
    /// - Throws: ``SyncError`` with `.dataRefused` for bytes that are no message, or too many.
    public init(decoding data: Data) throws {
        guard data.count <= Self.byteLimit else { throw Self.refusal("it has \(data.count) bytes; a message has at most \(Self.byteLimit)") }
        do { self = try StrictJSON.decode(ChannelMessage.self, from: data) } catch { throw Self.refusal("its bytes are not a message") }
    }

    static let place = "a message of the application's channel"

    /// The error for bytes that are no message for this device.
    static func refusal(_ reason: String) -> SyncError {
        SyncError(.dataRefused, step: .decode, at: place, "\(reason); nothing was changed", hint: "find out what sent it")
    }
}

/// The result of a message at the publisher.
public enum MessageOutcome: Hashable, Sendable {
    /// The edits stand, or at least one of them. The next version has them.
    case applied
    /// None of the edits stands: later ones exist, or a rule of the tables forbids them; the text says which.
    case refused(String)
    /// All of it was decided before. Nothing was done.
    case receivedBefore
}
