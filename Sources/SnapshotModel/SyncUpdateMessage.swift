import Foundation

/// One change of one entity, told by a device to whoever publishes.
///
///     SyncUpdateMessage(type: .notificationRead, entityId: "n-17", timestamp: "2026-11-21T08:32:00.250Z")
///
/// `type`, `entityId` and `timestamp` alone are a complete message about a notification, as an application sends it over a channel of its own. In a
/// zone's mailbox the other fields say who sent it and what the type needs. Source: docs/messages.md.
public struct SyncUpdateMessage: Hashable, Sendable {
    /// What happened.
    public enum UpdateType: String, Codable, Sendable, CaseIterable {
        case notificationRead, notificationDeleted, bucketCreated, bucketUpdated, bucketDeleted
        /// Nothing happened: the sender asks the publisher to write everything whole and anew.
        case fullSync
        /// Of the dataset that the message names: a row was added, replaced as a whole, deleted, or some of its columns were changed.
        case rowAdded, rowChanged, rowDeleted, rowPatched
    }

    public let type: UpdateType
    /// The key of the entity; nil for `fullSync`.
    public let key: EntityKey?
    /// When it happened: an RFC 3339 text. In a mailbox, the instant of the change, to the microsecond.
    public let timestamp: String
    /// 32 hexadecimal digits that no other message has; a publisher applies an id once.
    public let id: String?
    /// The device that sent it.
    public let sender: String?
    /// The dataset of the entity. The types of rows need it.
    public let dataset: String?
    /// The row as canonical JSON, for the types that add or replace one; for `rowPatched` its key and the new values of ``columns``.
    public let entity: String?
    /// The new `readAt`, for `notificationRead`. Nil: the timestamp; or, with ``basedOnReadAt``, not read any more.
    public let readAt: String?
    /// The `readAt` that the sender saw before; nil if the notification was not read.
    public let basedOnReadAt: String?
    /// When the entity had last changed that the sender changed or deleted: an RFC 3339 text. Nil where the sender does not know, and for a
    /// new entity. A publisher whose entity is later keeps what the message overwrites in its conflict journal.
    public let replaces: String?
    /// The number of the version that the sender had applied when it wrote the message. A message that knows the version with the answer to an
    /// earlier message of the same sender follows that message, whatever the two instants are. Nil where the sender does not say.
    public let version: Int?
    /// The JSON names of the columns that ``entity`` has a value or no value for, for the types of rows. The others are left as they are.
    public let columns: [String]?
    /// For `rowPatched`: the key and what the sender saw in ``columns`` before, as canonical JSON; nil where the sender does not know.
    public let basedOn: String?

    public init(
        type: UpdateType, entityId: String? = nil, timestamp: String, id: String? = nil, sender: String? = nil, dataset: String? = nil,
        entity: String? = nil, readAt: String? = nil, basedOnReadAt: String? = nil, replaces: String? = nil, version: Int? = nil
    ) {
        self.init(
            type: type, key: entityId.map { EntityKey($0) }, timestamp: timestamp, id: id, sender: sender, dataset: dataset, entity: entity, readAt: readAt,
            basedOnReadAt: basedOnReadAt, replaces: replaces, version: version)
    }

    /// - Parameter key: of any shape: a text, an integer, or several values.
    public init(
        type: UpdateType, key: EntityKey?, timestamp: String, id: String? = nil, sender: String? = nil, dataset: String? = nil, entity: String? = nil,
        readAt: String? = nil, basedOnReadAt: String? = nil, replaces: String? = nil, version: Int? = nil, columns: [String]? = nil, basedOn: String? = nil
    ) {
        self.type = type
        self.key = key
        self.timestamp = timestamp
        self.id = id
        self.sender = sender
        self.dataset = dataset
        self.entity = entity
        self.readAt = readAt
        self.basedOnReadAt = basedOnReadAt
        self.replaces = replaces
        self.version = version
        self.columns = columns
        self.basedOn = basedOn
    }
}

extension SyncUpdateMessage {
    /// The key of the entity as a text: a text as it is, an integer in digits, several values as a JSON array. Nil for `fullSync`.
    public var entityId: String? { key?.plainText }

    /// What `readAt` is to be, for `notificationRead`; nil: not read.
    public var newReadAt: String? { readAt ?? (basedOnReadAt == nil ? timestamp : nil) }
}

extension SyncUpdateMessage: Codable {
    private enum CodingKeys: String, CodingKey {
        case type, timestamp, id, sender, dataset, entity, readAt, basedOnReadAt, replaces, version, columns, basedOn
        case key = "entityId"
    }
}

extension EntityKey {
    /// The key as it is, for programs; who prints it takes care of control characters. An encoded key is the text of a JSON array.
    package var plainText: String {
        switch self {
        case .text(let bytes): String(decoding: bytes, as: UTF8.self)
        case .integer(let value): String(value)
        case .encoded: jsonText
        }
    }

    /// The key as JSON has it.
    private var jsonText: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? description
    }
}
