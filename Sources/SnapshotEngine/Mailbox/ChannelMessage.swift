import CloudStore
public import Foundation
public import SnapshotModel
import SnapshotVersions
import StrictText

/// A message to the publisher over an application's own channel: WatchConnectivity, a socket, a file.
///
///     for message in try await engine.outgoingMessages() { session.send(try message.encoded()) }       // at the reader
///     let outcome = try await engine.apply(try ChannelMessage(decoding: data))                          // at the publisher
///
/// The bytes are a JSON object: `format`, `cloud`, `zone` and `message`. Source: docs/messages.md, "Over a channel of your own".
public struct ChannelMessage: Codable, Hashable, Sendable {
    /// The version of the wire format that this program writes.
    public static let formatVersion = 1
    /// The largest message, in bytes.
    public static let byteLimit = 64 << 10

    public let format: Int
    /// The UUID of the cloud that sender and receiver share.
    public let cloud: String
    /// The zone as a path: `private/ZentikSyncZone`.
    public let zone: String
    public let message: SyncUpdateMessage

    init(_ message: SyncUpdateMessage, cloud: String, zone: String) {
        format = Self.formatVersion
        self.cloud = cloud
        self.zone = zone
        self.message = message
    }

    /// Returns the bytes to send.
    public func encoded() throws -> Data { try SyncError.at(.encode) { try StrictJSON.encode(self) } }

    /// Reads received bytes.
    ///
    /// - Throws: ``SyncError`` with `.dataRefused` for bytes that are no message, or too many; with `.refused` for a newer wire format.
    public init(decoding data: Data) throws {
        guard data.count <= Self.byteLimit else { throw Self.refusal("it has \(data.count) bytes; a message has at most \(Self.byteLimit)") }
        let form: Form
        do { form = try StrictJSON.decode(Form.self, from: data) } catch { throw Self.refusal("its bytes are not a message") }
        guard form.format == Self.formatVersion else {
            throw SyncError(
                .refused, step: .decode, at: Self.place, "its format is \(form.format), and this version reads format \(Self.formatVersion)",
                hint: "update this application")
        }
        do { self = try StrictJSON.decode(ChannelMessage.self, from: data) } catch {
            throw Self.refusal("it is of a type that this version does not know, or lacks a field")
        }
    }

    private struct Form: Decodable { let format: Int }

    static let place = "a message of the application's channel"

    /// The error for bytes that are no message for this device.
    static func refusal(_ reason: String) -> SyncError {
        SyncError(.dataRefused, step: .decode, at: place, "\(reason); nothing was changed", hint: "find out what sent it")
    }
}

/// The result of a message at the publisher.
public enum MessageOutcome: Hashable, Sendable {
    /// The change was made, or had been made already. The next version names the message as applied.
    case applied
    /// A later change exists, or a rule of the tables forbids the change; the text says which. The next version names the message as refused.
    case refused(String)
    /// The message was received before, over this channel or through the mailbox. Nothing was done.
    case receivedBefore
}
