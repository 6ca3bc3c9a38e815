import StrictText

/// The edits that messages can carry for a dataset: its ``MessagePolicy`` with the columns' positions.
package struct MessageRules: Sendable, Hashable {
    /// Whether messages add, replace and delete whole rows.
    package let rows: Bool
    /// The positions of the columns that messages change by themselves.
    package let patched: [Int]
    /// Whether messages delete rows.
    package let deletes: Bool
    /// The types of the messages.
    package let vocabulary: MessageVocabulary
    /// The columns that a message sets by itself, without the rest of the entity.
    package let ownColumns: [Int]
}

extension DatasetSchema {
    /// The edits that messages can carry; nil if readers may send none.
    package var messageRules: MessageRules? {
        guard !messages.isEmpty else { return nil }
        let patched = messages.patch.compactMap { name in columns.firstIndex { $0.name.exact == name.exact } }
        return MessageRules(
            rows: messages.rows, patched: patched, deletes: messages.delete, vocabulary: MessageVocabulary(self),
            ownColumns: patched.isEmpty ? [] : patched + (timestampIndex.map { [$0] } ?? []))
    }

    /// Whether message types that name a built-in dataset can be about this one: it has the dataset's name and the columns that they need.
    package var takesBuiltInMessages: Bool { !MessagePolicy.standard(of: name, columns, keyShape, timestampUnit).isEmpty }

    /// The columns in which only a marked row has a value. If two devices mark one row at different times, neither loses anything.
    package var markColumns: [Int] { messageRules.map { $0.vocabulary == .notifications ? $0.patched : [] } ?? [] }
}

/// How a message changes a row.
package enum MessageOperation: Sendable, Hashable {
    /// A whole row is added or replaced.
    case put
    /// Columns are changed without the rest of the row.
    case patch
    case delete
}

/// The types of the messages about a dataset.
///
/// The built-in datasets have types of their own. All other datasets use types that name no dataset.
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
    /// - Parameter isNew: whether the sender's version does not have the row.
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
    /// How a message of this type changes its row; nil if it is not about a row.
    package var operation: MessageOperation? {
        switch self {
        case .notificationRead, .rowPatched: .patch
        case .notificationDeleted, .bucketDeleted, .rowDeleted: .delete
        case .bucketCreated, .bucketUpdated, .rowAdded, .rowChanged: .put
        case .fullSync: nil
        }
    }

    /// The dataset that the type itself names; nil if the message names it, or if the type is not about a dataset.
    package var dataset: String? {
        switch self {
        case .notificationRead, .notificationDeleted: "notifications"
        case .bucketCreated, .bucketUpdated, .bucketDeleted: "buckets"
        case .rowAdded, .rowChanged, .rowDeleted, .rowPatched, .fullSync: nil
        }
    }

    /// Whether a message of this type deletes its entity.
    package var isDeletion: Bool { operation == .delete }
    /// Whether a message of this type adds a row that its sender's version does not have.
    package var isAddition: Bool { self == .bucketCreated || self == .rowAdded }
}

extension EntityKey {
    /// The key as a text; nil if it is not the key of one text column.
    public var text: String? {
        guard case .text(let bytes) = self else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
