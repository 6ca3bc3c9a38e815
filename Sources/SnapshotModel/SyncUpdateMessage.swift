import Foundation

/// One change of one entity, sent by a device to a publisher.
///
///     SyncUpdateMessage(type: .notificationRead, entityId: "n-17", timestamp: "2026-11-21T08:32:00.250Z")
///
/// `type`, `entityId` and `timestamp` alone are a complete message about a notification, which an application may send over its own channel. In a
/// zone's mailbox the other fields name the sender and carry what the type needs. Source: docs/messages.md.
public struct SyncUpdateMessage: Hashable, Sendable {
    /// What happened.
    public enum UpdateType: String, Codable, Sendable, CaseIterable {
        case notificationRead, notificationDeleted, bucketCreated, bucketUpdated, bucketDeleted
        /// No change: the sender asks the publisher to publish everything again as snapshot assets.
        case fullSync
        /// In the dataset that the message names, a row was added, replaced as a whole or deleted, or some of its columns were changed.
        case rowAdded, rowChanged, rowDeleted, rowPatched
    }

    public let type: UpdateType
    /// The key of the entity; nil for `fullSync`.
    public let key: EntityKey?
    /// When it happened, as RFC 3339 text. In a mailbox, the instant of the change, in microseconds.
    public let timestamp: String
    /// 32 hexadecimal digits that identify the message. A publisher applies an id only once.
    public let id: String?
    /// The device that sent it.
    public let sender: String?
    /// The dataset of the entity, required for the types of rows.
    public let dataset: String?
    /// The row as canonical JSON, for types that add or replace one. For `rowPatched`, its key and the new values of ``columns``.
    public let entity: String?
    /// The new `readAt`, for `notificationRead`. Nil means the timestamp or, with ``basedOnReadAt``, that the notification is unread again.
    public let readAt: String?
    /// The `readAt` before the sender's change; nil if the notification was unread.
    public let basedOnReadAt: String?
    /// When the entity that the sender changed or deleted had last changed, as RFC 3339 text. Nil for a new entity, or if the sender does not
    /// know. If the publisher's entity is later, the publisher stores what the message overwrites in its conflict journal.
    public let replaces: String?
    /// The number of the version that the sender had applied when it wrote the message; nil if the sender does not say. If that version or an
    /// earlier one answered an earlier message of the same sender, this message follows the earlier message, whatever their instants are.
    public let version: Int?
    /// The JSON names of the columns that ``entity`` covers, with or without a value, for the types of rows. Other columns stay as they are.
    public let columns: [String]?
    /// For `rowPatched`: the key and the values of ``columns`` before the sender's change, as canonical JSON; nil if the sender does not know
    /// them.
    public let basedOn: String?

    public init(
        type: UpdateType, entityId: String? = nil, timestamp: String, id: String? = nil, sender: String? = nil, dataset: String? = nil,
        entity: String? = nil, readAt: String? = nil, basedOnReadAt: String? = nil, replaces: String? = nil, version: Int? = nil
    ) {
        self.init(
            type: type, key: entityId.map { EntityKey($0) }, timestamp: timestamp, id: id, sender: sender, dataset: dataset, entity: entity, readAt: readAt,
            basedOnReadAt: basedOnReadAt, replaces: replaces, version: version)
    }

    /// - Parameter key: a key of any shape: a text, an integer, or several values.
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
    /// The key of the entity as a text: a text itself, an integer in digits, several values as a JSON array. Nil for `fullSync`.
    public var entityId: String? { key?.plainText }

    /// The new value of `readAt`, for `notificationRead`; nil: unread.
    public var newReadAt: String? { readAt ?? (basedOnReadAt == nil ? timestamp : nil) }
}

extension SyncUpdateMessage: Codable {
    private enum CodingKeys: String, CodingKey {
        case type, timestamp, id, sender, dataset, entity, readAt, basedOnReadAt, replaces, version, columns, basedOn
        case key = "entityId"
    }
}

extension EntityKey {
    /// The key as plain text, for programs. Code that prints it must escape control characters. An encoded key is the text of a JSON array.
    package var plainText: String {
        switch self {
        case .text(let bytes): String(decoding: bytes, as: UTF8.self)
        case .integer(let value): String(value)
        case .encoded: jsonText
        }
    }

    /// The key as JSON.
    private var jsonText: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? description
    }
}
