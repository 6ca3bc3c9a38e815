/// One change of one entity, told by a device to whoever publishes.
///
///     SyncUpdateMessage(type: .notificationRead, entityId: "n-17", timestamp: "2026-11-21T08:32:00.250Z")
///
/// `type`, `entityId` and `timestamp` alone are a complete message, as an application sends it over a channel of its own. In a
/// zone's mailbox the other fields say who sent it and what the type needs. Source: docs/messages.md.
public struct SyncUpdateMessage: Codable, Hashable, Sendable {
    /// What happened.
    public enum UpdateType: String, Codable, Sendable, CaseIterable {
        case notificationRead, notificationDeleted, bucketCreated, bucketUpdated, bucketDeleted
        /// Nothing happened: the sender asks the publisher to write everything whole and anew.
        case fullSync
    }

    public let type: UpdateType
    /// The key of the notification or bucket; nil for `fullSync`.
    public let entityId: String?
    /// When it happened: an RFC 3339 text. In a mailbox, the instant of the change, to the microsecond.
    public let timestamp: String
    /// 32 hexadecimal digits that no other message has; a publisher applies an id once.
    public let id: String?
    /// The device that sent it.
    public let sender: String?
    /// The dataset of the entity.
    public let dataset: String?
    /// The bucket as canonical JSON, for `bucketCreated` and `bucketUpdated`.
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

    public init(
        type: UpdateType, entityId: String? = nil, timestamp: String, id: String? = nil, sender: String? = nil, dataset: String? = nil,
        entity: String? = nil, readAt: String? = nil, basedOnReadAt: String? = nil, replaces: String? = nil, version: Int? = nil
    ) {
        self.type = type
        self.entityId = entityId
        self.timestamp = timestamp
        self.id = id
        self.sender = sender
        self.dataset = dataset
        self.entity = entity
        self.readAt = readAt
        self.basedOnReadAt = basedOnReadAt
        self.replaces = replaces
        self.version = version
    }
}

extension SyncUpdateMessage {
    /// What `readAt` is to be, for `notificationRead`; nil: not read.
    public var newReadAt: String? { readAt ?? (basedOnReadAt == nil ? timestamp : nil) }
}
