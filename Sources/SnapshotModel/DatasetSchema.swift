package import StrictText

/// How the values of a column look in a container's JSON, where its dataset declares it: the presentation that a type of an application reads.
///
/// A value that does not fit is refused when the dataset is published. A column without a shape carries every value as it is.
package enum ColumnShape: String, NameInFile, Sendable {
    /// UTF-8 text; a JSON string.
    case text
    /// A 64-bit integer; a JSON number without fraction or exponent.
    case integer
    /// A 64-bit floating-point number, or an integer where SQLite stores one; a JSON number.
    case real
    /// 0 or 1; `false` or `true`.
    case boolean
    /// JSON text; the same JSON, passed through as it is.
    case json
    /// Bytes; a JSON string in base64 (RFC 4648 section 4, with padding).
    case blob
}

/// One column of a dataset: its name in JSON, its name in the table, and how its values look in JSON.
package struct DatasetColumn: Hashable, Sendable {
    /// The name in JSON.
    @ExactText package var name: String
    /// The name of the table's column; by default the same as `name`.
    @ExactText package var column: String
    /// How its values look in JSON; nil for the form that carries every value of SQLite (docs/format.md, "Values").
    package let shape: ColumnShape?
    /// Whether the column may be NULL (in JSON: left out). Only a column with a shape can forbid it.
    package let isOptional: Bool
    /// How the table compares the column's texts. It matters only for key columns.
    package let collation: KeyCollation

    package init(_ name: String, _ shape: ColumnShape? = nil, column: String? = nil, isOptional: Bool = false, collation: KeyCollation = .binary) {
        _name = ExactText(name)
        _column = ExactText(column ?? name)
        self.shape = shape
        self.isOptional = isOptional || shape == nil
        self.collation = collation
    }
}

/// How a dataset's entities are stored in one table and in one JSON container.
///
/// The order of `columns` is the order of the keys in canonical JSON. Sources: `DatasetFile` for the file that describes a dataset;
/// docs/format.md for the formats.
package struct DatasetSchema: Hashable, Sendable {
    /// The dataset's name, and the name of the container's array: `notifications`.
    package let name: String
    /// The type of the record that carries the dataset: `NotificationsData`.
    package let recordType: String
    /// The name of that record: `notifications_data`.
    package let recordName: String
    /// The table's name.
    @ExactText package var table: String
    /// All columns that are synced, including the key, in canonical order.
    package private(set) var columns: [DatasetColumn]
    /// The positions in `columns` of the primary key's columns, in the key's order; never NULL.
    package let keyIndices: [Int]
    /// The position in `columns` of the instant of the last change, if the table has one.
    package let timestampIndex: Int?
    /// The unit of numbers in the timestamp column; nil if only RFC 3339 text counts there.
    package let timestampUnit: TimestampUnit?
    /// What happens to a device's own entities at its first import.
    package let merge: MergePolicy
    /// Whether the application's own triggers of the table run when an import changes it.
    package let triggers: TriggerPolicy
    /// Which edits of the rows a reader may send to the publisher.
    package let messages: MessagePolicy
    /// How the columns merge.
    package let merging: ColumnMerging

    /// The columns of the key and how they are compared.
    package private(set) var keyShape: KeyShape

    /// Describes a dataset. What `change` does not set is as in a dataset file that does not state it.
    ///
    /// - Parameter keys: the JSON names of the key's columns, in the key's order.
    ///
    /// - Throws: ``SchemaError`` as ``init(_:)`` does.
    package init(
        name: String, table: String, keys: [String], timestamp: String?, columns: [DatasetColumn], _ change: (inout DatasetFile.Dataset) -> Void = { _ in }
    ) throws {
        var draft = DatasetFile.Dataset(name: name, table: table, key: DatasetFile.KeyNames(keys), timestamp: timestamp, columns: [])
        draft.described = columns
        change(&draft)
        try self.init(draft)
    }

    /// Checks a description. By default, the table has the dataset's name, and the record's type and name are derived from it.
    ///
    /// - Throws: ``SchemaError`` if a name is not allowed or is repeated, or if the key is not usable.
    package init(_ draft: DatasetFile.Dataset) throws {
        let name = draft.name, table = draft.table ?? name, columns = draft.described, keys = draft.key.names, timestamp = draft.timestamp
        let merging = ColumnMerging(together: draft.together ?? .groups([]), quiet: draft.quiet)
        try SchemaError.require(Self.isName(name), "the dataset name must be 1 to 64 of A-Z a-z 0-9 _ and begin with a letter", of: name)
        try SchemaError.require(!Self.reservedNames.contains(name.exact), "that dataset name is taken by the format", of: name)
        try SchemaError.require(!columns.isEmpty && columns.count <= Self.columnLimit, "a dataset has 1 to \(Self.columnLimit) columns", of: name)
        try SchemaError.require(Set(columns.map(\.name.exact)).count == columns.count, "two columns have one JSON name", of: name)
        try SchemaError.require(Set(columns.map { $0.column.folded }).count == columns.count, "one column of the table is named twice", of: name)
        for text in [table] + columns.flatMap({ [$0.name, $0.column] }) {
            try SchemaError.require(Self.isIdentifier(text), "a table or column name is empty, longer than 128 bytes or holds control characters", of: name)
        }
        try SchemaError.require(!keys.isEmpty, "the key has no column", of: name)
        try SchemaError.require(Set(keys.map(\.exact)).count == keys.count, "a column stands twice in the key", of: name)
        let keyIndices = try keys.map { key in
            guard let index = columns.firstIndex(where: { $0.name.exact == key.exact }) else {
                throw SchemaError(dataset: name, reason: "the key is not among the columns")
            }
            try SchemaError.require(columns[index].shape != .json, "a key column cannot be of type json", of: name)
            try SchemaError.require(columns[index].shape == nil || !columns[index].isOptional, "the key cannot be optional", of: name)
            return index
        }
        for (index, column) in columns.enumerated() where column.collation != .binary {
            try SchemaError.require(
                keyIndices.contains(index) && column.shape ?? .text == .text, "only a column of the key that may hold text has a collation", of: name)
        }
        let timestampIndex = timestamp.flatMap { wanted in columns.firstIndex { $0.name.exact == wanted.exact } }
        try SchemaError.require(timestamp == nil || timestampIndex != nil, "the timestamp is not among the columns", of: name)
        try SchemaError.require(timestamp != nil || draft.timestampUnit == nil, "a timestampUnit is given, and no timestamp", of: name)
        try draft.messages?.verify(columns, keys: keys, timestamp: timestamp, name)
        try merging.verify(columns, keys: keys, name)

        self.name = name
        _table = ExactText(table)
        self.columns = columns
        self.keyIndices = keyIndices
        keyShape = KeyShape(columns, keyIndices)
        self.timestampIndex = timestampIndex
        timestampUnit = draft.timestampUnit
        merge = draft.merge ?? .replace
        triggers = draft.triggers ?? .fire
        self.merging = merging
        messages = draft.messages ?? .standard(of: name, columns, keyShape, unit: timestampUnit)
        recordType = draft.recordType ?? name.prefix(1).uppercased() + String(name.dropFirst()) + "Data"
        recordName = draft.recordName ?? name + "_data"
        // The zone's own records are its members, keys, pins and settings: snapshot_keys, pin_7, of the type SnapshotKeys.
        let isRecord = recordName.exact.hasPrefix("snapshot_") || recordName.exact.hasPrefix("pin_")
        let isReserved =
            isRecord && !recordName.exact.hasSuffix("_data") || recordType.exact.hasPrefix("Snapshot") && !recordType.exact.hasSuffix("Data")
        try SchemaError.require(
            Self.isName(recordType) && Self.isName(recordName) && !isReserved, "a record's type or name is not allowed, or reserved", of: name)
    }

    /// What a dataset file says about messages; nil if the default applies.
    package var statedMessages: MessagePolicy? { messages == .standard(of: name, columns, keyShape, unit: timestampUnit) ? nil : messages }

    /// The same dataset with a changed description.
    ///
    /// - Throws: ``SchemaError`` if the change breaks a rule.
    package func with(_ change: (inout DatasetFile.Dataset) -> Void) throws -> DatasetSchema {
        var draft = DatasetFile.Dataset(self)
        change(&draft)
        return try DatasetSchema(draft)
    }

    /// The same dataset with other columns. What the description says of columns that are not among them goes.
    ///
    /// - Throws: ``SchemaError`` if a column of the key is not among the columns.
    package func with(columns: [DatasetColumn]) throws -> DatasetSchema {
        let merging = merging.limited(to: columns)
        return try with { draft in
            draft.described = columns
            draft.messages = statedMessages?.limited(to: columns)
            draft.setMerging(merging)
            if let timestamp, !columns.contains(where: { $0.name.exact == timestamp.exact }) { (draft.timestamp, draft.timestampUnit) = (nil, nil) }
        }
    }

    /// This description with the JSON names that another one of the dataset has for columns of the table: what one device adds as `N` and another
    /// one as `n` is one column.
    package func named(as other: DatasetSchema) throws -> DatasetSchema {
        let names = Set(columns.map(\.name.exact)), others = Set(other.columns.map(\.name.exact))
        return try with(
            columns: columns.map { own in
                guard !others.contains(own.name.exact), let there = other.columns.first(where: { $0.column.folded == own.column.folded }),
                    !names.contains(there.name.exact)
                else { return own }
                return DatasetColumn(there.name, own.shape, column: own.column, isOptional: own.isOptional, collation: own.collation)
            })
    }

    /// The JSON name of the timestamp column, if there is one.
    package var timestamp: String? { timestampIndex.map { columns[$0].name } }

    /// The same dataset without shapes: its entities carry every value as it is. The database keeps entities in this form.
    package var withoutShapes: DatasetSchema {
        guard columns.contains(where: { $0.shape != nil }) else { return self }
        return reshaped(columns.map { DatasetColumn($0.name, column: $0.column, collation: $0.collation) })
    }

    /// The same dataset for entities that have their key and any of the other columns.
    package var partial: DatasetSchema {
        reshaped(
            columns.enumerated().map { index, column in
                let isOptional = column.isOptional || !keyIndices.contains(index)
                return DatasetColumn(column.name, column.shape, column: column.column, isOptional: isOptional, collation: column.collation)
            })
    }

    /// A schema that differs only in what the columns say beside their names, which needs no check.
    private func reshaped(_ columns: [DatasetColumn]) -> DatasetSchema {
        var copy = self
        (copy.columns, copy.keyShape) = (columns, KeyShape(columns, keyIndices))
        return copy
    }

    /// The names that a container's other members have.
    package static let reservedNames: Set<ExactText> = ["syncTimestamp", "after", "held", "deletions", "instants", "born", "columns"]

    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { $0 == UInt8(ascii: "_") || isLetter($0) || isDigit($0) }
            && isLetter(text.utf8.first!)
    }

    /// The most columns of a dataset.
    package static let columnLimit = 1000

    /// Whether a description may contain a table or column with that name.
    package static func isIdentifier(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}

/// A description of a dataset that cannot be used.
package struct SchemaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The dataset's name as it was given.
    package let dataset: String
    /// What is wrong with its description.
    package let reason: String

    package var description: String { dataset.isEmpty ? reason : "dataset \(dataset.debugDescription): \(reason)" }

    static func require(_ condition: Bool, _ reason: String, of dataset: String) throws {
        guard condition else { throw SchemaError(dataset: dataset, reason: reason) }
    }
}

extension Sequence<DatasetSchema> {
    /// The dataset of a name, else that of a table's name.
    package func named(_ name: String) -> DatasetSchema? {
        first { $0.name.exact == name.exact } ?? first { $0.table.folded == name.folded }
    }
}
