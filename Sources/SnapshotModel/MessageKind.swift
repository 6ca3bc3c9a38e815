/// What messages can say of a dataset's entities.
package enum MessageKind: Sendable, Hashable {
    /// That a notification was read or deleted. `readAt` is the column's position in the schema.
    case notifications(readAt: Int)
    /// That a bucket was created, updated or deleted.
    case buckets

    /// The kind of a dataset; nil if no message type is about it, or it lacks a column that the type needs.
    package init?(_ schema: DatasetSchema) {
        // Messages set timestamps as text.
        guard schema.hasSimpleKey, schema.keyShape.isText, schema.timestampUnit == nil else { return nil }
        switch schema.name {
        case "buckets": self = .buckets
        case "notifications":
            guard let index = schema.columns.firstIndex(where: { $0.name == "readAt" && $0.kind == .text && $0.isOptional }) else { return nil }
            self = .notifications(readAt: index)
        default: return nil
        }
    }

    /// The columns that a message sets by itself, whatever else the entity has.
    package func ownColumns(of schema: DatasetSchema) -> [Int] {
        guard case .notifications(let readAt) = self else { return [] }
        return [readAt] + (schema.timestampIndex.map { [$0] } ?? [])
    }

    /// The dataset that a type of message is about; nil for one that is about none.
    package static func dataset(of type: SyncUpdateMessage.UpdateType) -> String? {
        switch type {
        case .notificationRead, .notificationDeleted: "notifications"
        case .bucketCreated, .bucketUpdated, .bucketDeleted: "buckets"
        case .fullSync: nil
        }
    }
}

extension SyncUpdateMessage.UpdateType {
    /// Whether a message of this type says that its entity was deleted.
    package var isDeletion: Bool { self == .notificationDeleted || self == .bucketDeleted }
}

extension EntityKey {
    /// The key as a text; nil for any key but one text column.
    public var text: String? {
        guard case .text(let bytes) = self else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
