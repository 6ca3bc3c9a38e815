/// What messages can say of a dataset's entities: its ``MessagePolicy`` by the columns' positions.
package struct MessageRules: Sendable, Hashable {
    /// Whether whole rows are added, replaced and deleted.
    package let rows: Bool
    /// The positions of the columns that are changed by themselves.
    package let patched: [Int]
    /// Whether rows are deleted.
    package let deletes: Bool
    /// The types of the messages.
    package let vocabulary: MessageVocabulary
    /// The columns that a message sets by itself, whatever else the entity has.
    package let ownColumns: [Int]
}

extension DatasetSchema {
    /// What messages can say of the entities; nil if a reader may tell nothing.
    package var messageRules: MessageRules? {
        guard !messages.isEmpty else { return nil }
        let patched = messages.patch.compactMap { name in columns.firstIndex { $0.name == name } }
        return MessageRules(
            rows: messages.rows, patched: patched, deletes: messages.delete, vocabulary: MessageVocabulary(self),
            ownColumns: patched.isEmpty ? [] : patched + (timestampIndex.map { [$0] } ?? []))
    }

    /// Whether the types of messages that name a built-in dataset can be about this one: it has the dataset's name, and the columns that they need.
    package var takesBuiltInMessages: Bool { !MessagePolicy.standard(of: name, columns, keyShape, timestampUnit).isEmpty }

    /// The columns that only a marked row has a value in: of two devices that mark one row at different times neither has lost anything.
    package var markColumns: [Int] { messageRules.map { $0.vocabulary == .notifications ? $0.patched : [] } ?? [] }
}

/// What a message does to a row.
package enum MessageOperation: Sendable, Hashable {
    /// A whole row is added or replaced.
    case put
    /// Columns are changed by themselves.
    case patch
    case delete
}

/// The types of the messages about a dataset.
///
/// The built-in datasets keep those that earlier versions of snapsync know; all others have types that name no dataset.
package enum MessageVocabulary: Sendable, Hashable {
    case notifications, buckets, rows

    init(_ schema: DatasetSchema) {
        let standard = MessagePolicy.standard(of: schema.name, schema.columns, schema.keyShape, schema.timestampUnit)
        guard schema.messages == standard else {
            self = .rows
            return
        }
        switch schema.name {
        case "notifications": self = .notifications
        case "buckets": self = .buckets
        default: self = .rows
        }
    }

    /// The type of a message.
    ///
    /// - Parameter isNew: whether a row is put in that the sender's version lacks.
    package func type(of operation: MessageOperation, isNew: Bool = false) -> SyncUpdateMessage.UpdateType {
        switch (self, operation) {
        case (.notifications, .patch): .notificationRead
        case (.notifications, _): .notificationDeleted
        case (.buckets, .delete): .bucketDeleted
        case (.buckets, _): isNew ? .bucketCreated : .bucketUpdated
        case (.rows, .put): isNew ? .rowAdded : .rowChanged
        case (.rows, .patch): .rowPatched
        case (.rows, .delete): .rowDeleted
        }
    }
}

extension SyncUpdateMessage.UpdateType {
    /// What a message of this type does to its row; nil for one that is about none.
    package var operation: MessageOperation? {
        switch self {
        case .notificationRead, .rowPatched: .patch
        case .notificationDeleted, .bucketDeleted, .rowDeleted: .delete
        case .bucketCreated, .bucketUpdated, .rowAdded, .rowChanged: .put
        case .fullSync: nil
        }
    }

    /// The dataset that the type itself names; nil where the message does, and for one that is about none.
    package var dataset: String? {
        switch self {
        case .notificationRead, .notificationDeleted: "notifications"
        case .bucketCreated, .bucketUpdated, .bucketDeleted: "buckets"
        case .rowAdded, .rowChanged, .rowDeleted, .rowPatched, .fullSync: nil
        }
    }

    /// Whether a message of this type says that its entity was deleted.
    package var isDeletion: Bool { operation == .delete }
    /// Whether it puts in a row that its sender's version lacked.
    package var isAddition: Bool { self == .bucketCreated || self == .rowAdded }
}

extension EntityKey {
    /// The key as a text; nil for any key but one text column.
    public var text: String? {
        guard case .text(let bytes) = self else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
