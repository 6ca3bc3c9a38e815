import Foundation

/// One change of one entity, as an application may send it to a publisher over its own channel.
///
///     SyncUpdateMessage(type: .notificationRead, entityId: "n-17", timestamp: "2026-11-21T08:32:00.250Z")
///
/// `type`, `entityId` and `timestamp` alone are a complete message about a notification. Source: docs/embedding.md.
public struct SyncUpdateMessage: Hashable, Sendable, Codable {
    /// What happened.
    public enum UpdateType: String, Codable, Sendable, CaseIterable {
        case notificationRead, notificationDeleted, bucketCreated, bucketUpdated, bucketDeleted
        /// No change: the sender asks the publisher to publish everything again as snapshot assets.
        case fullSync
    }

    public let type: UpdateType
    /// The key of the entity; nil for `fullSync`.
    public let entityId: String?
    /// When it happened, as RFC 3339 text.
    public let timestamp: String
    /// The device that sent it; nil if it does not say.
    public let sender: String?
    /// The bucket as JSON, for `bucketCreated` and `bucketUpdated`.
    public let entity: String?
    /// The new `readAt`, for `notificationRead`; nil means the timestamp.
    public let readAt: String?

    public init(type: UpdateType, entityId: String? = nil, timestamp: String, sender: String? = nil, entity: String? = nil, readAt: String? = nil) {
        self.type = type
        self.entityId = entityId
        self.timestamp = timestamp
        self.sender = sender
        self.entity = entity
        self.readAt = readAt
    }
}

extension SyncUpdateMessage.UpdateType {
    /// The dataset that a message of this type is about; nil for `fullSync`.
    package var dataset: String? {
        switch self {
        case .notificationRead, .notificationDeleted: "notifications"
        case .bucketCreated, .bucketUpdated, .bucketDeleted: "buckets"
        case .fullSync: nil
        }
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
