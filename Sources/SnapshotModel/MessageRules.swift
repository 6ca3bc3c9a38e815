import StrictText

/// The edits that readers may hand over for a dataset: its ``MessagePolicy`` with the columns' positions.
package struct MessageRules: Sendable, Hashable {
    /// Whether readers add, change and delete whole rows.
    package let rows: Bool
    /// The positions of the columns that readers may change.
    package let patched: [Int]
    /// Whether readers delete rows.
    package let deletes: Bool
}

extension DatasetSchema {
    /// The edits that readers may hand over; nil if none.
    package var messageRules: MessageRules? {
        guard !messages.isEmpty else { return nil }
        let patched = messages.patch.compactMap { name in columns.firstIndex { $0.name.exact == name.exact } }
        return MessageRules(rows: messages.rows, patched: patched, deletes: messages.delete)
    }

    /// Whether ``SyncUpdateMessage`` can be about the dataset: it has a built-in dataset's name and the columns that the messages need.
    package var takesBuiltInMessages: Bool { !MessagePolicy.standard(of: name, columns, keyShape, timestampUnit).isEmpty }

    /// The columns in which only a marked row has a value. If two devices mark one row at different times, neither loses anything.
    package var markColumns: [Int] {
        guard name == "notifications", messages == .standard(of: name, columns, keyShape, timestampUnit) else { return [] }
        return messageRules?.patched ?? []
    }
}

extension EntityKey {
    /// The key as a text; nil if it is not the key of one text column.
    public var text: String? {
        guard case .text(let bytes) = self else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
