import StrictText

/// Which edits of a dataset's rows a reader may send to the publisher: part of the dataset's description.
///
/// In a dataset file: `"messages": {"rows": true}`, or `"messages": {"patch": ["readAt"], "delete": true}`. Source: docs/readers.md.
package struct MessagePolicy: Hashable, Sendable {
    /// None: the dataset is synced in one direction only.
    package static let none = MessagePolicy()
    /// Readers may add rows, replace them as a whole, and delete them.
    package static let wholeRows = MessagePolicy(rows: true)

    /// Whether readers may add rows, replace them as a whole, and delete them.
    package let rows: Bool
    /// The JSON names of columns that readers may change by themselves, without the rest of the row.
    package let patch: [String]
    /// Whether readers may delete rows.
    package let delete: Bool

    /// - Parameter delete: matters only without `rows`, which includes it.
    package init(rows: Bool = false, patch: [String] = [], delete: Bool = false) {
        self.rows = rows
        self.patch = patch
        self.delete = rows || delete
    }

    /// Whether readers may send no edits.
    package var isEmpty: Bool { !rows && patch.isEmpty && !delete }

    /// The same policy without columns that are not among these.
    package func limited(to columns: [DatasetColumn]) -> MessagePolicy {
        MessagePolicy(rows: rows, patch: patch.filter { name in columns.contains { $0.name == name } }, delete: delete)
    }

    /// - Throws: ``SchemaError`` for columns that messages cannot change by themselves.
    func verify(_ columns: [DatasetColumn], keys: [String], timestamp: String?, _ dataset: String) throws {
        try SchemaError.require(!rows || patch.isEmpty, "messages have whole rows (rows) or columns (patch), not both", of: dataset)
        try SchemaError.require(
            patch.count <= 64 && Set(patch.map(\.exact)).count == patch.count, "messages name more than 64 columns, or one twice", of: dataset)
        for name in patch {
            try SchemaError.require(columns.contains { $0.name == name }, "messages name \(name.debugDescription), which is not among the columns", of: dataset)
            try SchemaError.require(
                !(keys + [timestamp]).contains { $0?.exact == name.exact }, "messages cannot change the key or the timestamp by itself", of: dataset)
        }
    }
}

extension MessagePolicy: Codable {
    private enum CodingKeys: String, CodingKey { case rows, patch, delete }

    package init(from decoder: any Decoder) throws {
        try AnyKey.refuseUnknown(in: decoder, known: ["rows", "patch", "delete"])
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            rows: try container.decodeIfPresent(Bool.self, forKey: .rows) ?? false, patch: try container.decodeIfPresent([String].self, forKey: .patch) ?? [],
            delete: try container.decodeIfPresent(Bool.self, forKey: .delete) ?? false)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        if rows { return try container.encode(true, forKey: .rows) }
        if !patch.isEmpty { try container.encode(patch, forKey: .patch) }
        if delete { try container.encode(true, forKey: .delete) }
    }
}
