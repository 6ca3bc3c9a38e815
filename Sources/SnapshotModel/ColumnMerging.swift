import StrictText

/// How the columns of a dataset merge: part of its description.
///
/// In a dataset file: `"together": [["latitude", "longitude"]]` or `"together": "row"`, and `"quiet": ["readAt"]`. Source: docs/datasets.md.
package struct ColumnMerging: Hashable, Sendable {
    /// Which columns change as one, besides those of one constraint.
    package enum Together: Hashable, Sendable {
        /// All columns: of two edits of a row, the later one wins whole.
        case row
        /// The columns of each group, by JSON name. Groups that share a column are one.
        case groups([[String]])
    }

    /// Which columns change as one.
    package let together: Together
    /// The JSON names of columns whose lost values are not recorded as conflicts, besides the timestamp. Nil: the read marks of the built-in
    /// notifications, else none.
    package let quiet: [String]?

    package init(together: Together = .groups([]), quiet: [String]? = nil) { (self.together, self.quiet) = (together, quiet) }

    /// The same without columns that are not among these.
    package func limited(to columns: [DatasetColumn]) -> ColumnMerging {
        func known(_ names: [String]) -> [String] { names.filter { name in columns.contains { $0.name.exact == name.exact } } }
        var together = together
        if case .groups(let groups) = together { together = .groups(groups.map(known).filter { $0.count > 1 }) }
        return ColumnMerging(together: together, quiet: quiet.map(known))
    }

    /// - Throws: ``SchemaError`` that names the column for which there is nothing to merge.
    func verify(_ columns: [DatasetColumn], keys: [String], _ dataset: String) throws {
        func verify(_ names: [String], _ what: String) throws {
            try SchemaError.require(Set(names.map(\.exact)).count == names.count, "\(what) names a column twice", of: dataset)
            for name in names {
                try SchemaError.require(
                    columns.contains { $0.name.exact == name.exact }, "\(what) names \(name.debugDescription), which is not among the columns", of: dataset)
                try SchemaError.require(
                    !keys.contains { $0.exact == name.exact }, "\(what) names \(name.debugDescription), which is of the key and does not merge", of: dataset)
            }
        }
        if case .groups(let groups) = together {
            try SchemaError.require(groups.count <= DatasetSchema.columnLimit, "together has more than \(DatasetSchema.columnLimit) groups", of: dataset)
            for group in groups {
                try SchemaError.require(group.count > 1, "a group in together has fewer than two columns", of: dataset)
                try verify(group, "together")
            }
        }
        try verify(quiet ?? [], "quiet")
    }
}

extension ColumnMerging.Together: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let groups = try? container.decode([[String]].self) {
            self = .groups(groups)
        } else if let text = try? container.decode(String.self), text == "row" {
            self = .row
        } else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "an array of arrays of strings, or \"row\", is expected")
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .row: try container.encode("row")
        case .groups(let groups): try container.encode(groups)
        }
    }
}

/// What a reader's edits may change: what it changes beyond that stays on the reader.
package struct ReaderPermissions: Hashable, Sendable {
    /// The positions of the columns that a reader may edit; nil for all.
    package let columns: Set<Int>?
    /// Whether a reader may insert rows.
    package let inserts: Bool
    /// Whether a reader may delete rows.
    package let deletes: Bool
}

extension DatasetSchema {
    /// The positions of the columns that the description groups.
    package var declaredGroups: [Set<Int>] {
        switch merging.together {
        case .row: [Set(columns.indices).subtracting(keyIndices)]
        case .groups(let groups): groups.map { group in Set(group.compactMap { name in columns.firstIndex { $0.name.exact == name.exact } }) }
        }
    }

    /// The positions of the columns whose lost values are not recorded as conflicts.
    package var quietColumns: Set<Int> {
        let named = merging.quiet.map { names in names.compactMap { name in columns.firstIndex { $0.name.exact == name.exact } } } ?? markColumns
        return Set(named + (timestampIndex.map { [$0] } ?? []))
    }

    /// What a reader may edit. The timestamp may change with any column.
    package var permissions: ReaderPermissions {
        guard !messages.rows else { return ReaderPermissions(columns: nil, inserts: true, deletes: true) }
        let patched = messages.patch.compactMap { name in columns.firstIndex { $0.name.exact == name.exact } }
        return ReaderPermissions(
            columns: patched.isEmpty ? [] : Set(patched + (timestampIndex.map { [$0] } ?? [])), inserts: false, deletes: messages.delete)
    }
}
