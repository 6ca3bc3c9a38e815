import StrictText

extension DatasetSchema {
    /// The positions of the columns that readers may change without the rest of the row.
    package var patchedColumns: [Int] { messages.patch.compactMap { name in columns.firstIndex { $0.name.exact == name.exact } } }

    /// Whether ``SyncUpdateMessage`` can be about the dataset: it has a built-in dataset's name and the columns that the messages need.
    package var takesBuiltInMessages: Bool { !MessagePolicy.standard(of: name, columns, keyShape, unit: timestampUnit).isEmpty }

    /// The columns in which only a marked row has a value. If two devices mark one row at different times, neither loses anything.
    package var markColumns: [Int] {
        guard name == "notifications", messages == .standard(of: name, columns, keyShape, unit: timestampUnit) else { return [] }
        return patchedColumns
    }
}

extension EntityKey {
    /// The key as a text; nil if it is not the key of one text column.
    public var text: String? {
        guard case .text(let bytes) = self else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
