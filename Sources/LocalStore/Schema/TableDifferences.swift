import Foundation
import GRDB
package import SnapshotModel

/// How a dataset's table differs from its description, after an application has changed the table.
package struct TableDifferences: Sendable {
    /// The dataset as it is described.
    package let schema: DatasetSchema
    /// The table's name now; nil if it is gone.
    package var table: String?
    /// Described columns that have another name now, each with that name.
    package var renamedColumns: [(column: DatasetColumn, name: String)] = []
    /// Described columns that are gone.
    package var lostColumns: [DatasetColumn] = []
    /// Columns that are not described and not generated.
    package var newColumns: [String] = []
    /// Those of them that no row can be inserted without: NOT NULL, without a default.
    package var unfillableColumns: Set<String> = []

    /// Whether the table has another name now.
    package var isRenamed: Bool { table.map { $0.asciiLowercased != schema.table.asciiLowercased } ?? false }

    /// Whether something that is described is not there any longer under its name.
    package var isBreaking: Bool { table == nil || isRenamed || !renamedColumns.isEmpty || !lostColumns.isEmpty }

    /// The description with the new names, and with the lost columns still in it.
    package func renamed() throws -> DatasetSchema {
        let names = Dictionary(uniqueKeysWithValues: renamedColumns.map { ($0.column.name, $0.name) })
        return try schema.with(
            columns: schema.columns.map {
                DatasetColumn($0.name, $0.kind, column: names[$0.name] ?? $0.column, isOptional: $0.isOptional, collation: $0.collation)
            }, table: table)
    }
}

extension TableInspector {
    /// Compares a dataset's table with its description.
    ///
    /// SQLite changes the names in triggers when it renames a table or a column. So the toolkit's triggers tell a column that was renamed from one that was
    /// dropped beside one that was added.
    package func differences(from schema: DatasetSchema) throws -> TableDifferences {
        var found = TableDifferences(schema: schema)
        let trigger = try Row.fetchOne(
            db, sql: "SELECT tbl_name, sql FROM main.sqlite_schema WHERE type = 'trigger' AND name = ?", arguments: ["snapsync_\(schema.name)_update"])
        let type = try String.fetchOne(
            db, sql: "SELECT type FROM main.sqlite_schema WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE", arguments: [schema.table])
        // A view in the table's place is refused by name when the table is checked.
        if type == "view" {
            found.table = schema.table
            return found
        }
        let name: String? = type == nil ? trigger?[0] : schema.table
        guard let name, let table = try TableColumns(db, name) else { return found }
        found.table = name
        let isHidden = try hiddenKey(of: schema.inTable(name)) != nil
        let described = Set(schema.columns.map { $0.column.asciiLowercased })
        found.newColumns = table.columns.filter { !$0.isGenerated && !described.contains($0.name.asciiLowercased) }.map(\.name)
        let lost = schema.columns.indices.filter { table.column(schema.columns[$0].column) == nil && !(isHidden && schema.keyIndices == [$0]) }
        var names = trigger.flatMap { ($0[0] as String).asciiLowercased == name.asciiLowercased ? Self.updatedColumns($0[1]) : nil } ?? []
        // The trigger names the rowid by all of its names.
        if isHidden, names.count == schema.columns.count + RowidName.all.count - 1, let key = schema.keyIndices.first {
            names.removeSubrange(key..<key + RowidName.all.count - 1)
        }
        for index in lost {
            if names.count == schema.columns.count, let name = found.newColumns.first(where: { $0.asciiLowercased == names[index].asciiLowercased }) {
                found.renamedColumns.append((schema.columns[index], name))
                found.newColumns.removeAll { $0 == name }
            } else {
                found.lostColumns.append(schema.columns[index])
            }
        }
        let required = try String.fetchAll(
            db, sql: "SELECT name FROM pragma_table_info(?) WHERE \"notnull\" = 1 AND dflt_value IS NULL AND pk = 0", arguments: [name])
        found.unfillableColumns = Set(found.newColumns).intersection(required)
        return found
    }

    /// The columns that `AFTER UPDATE OF` of a trigger names, in its order.
    private static func updatedColumns(_ sql: String) -> [String] {
        guard let start = sql.range(of: " UPDATE OF ") else { return [] }
        var names: [String] = [], name = "", isQuoted = false
        var rest = sql[start.upperBound...]
        while let character = rest.popFirst() {
            switch character {
            case "\"" where isQuoted && rest.first == "\"":
                name.append("\"")
                rest.removeFirst()
            case "\"": isQuoted.toggle()
            case "," where !isQuoted:
                names.append(name)
                name = ""
            case " " where !isQuoted:
                if name.isEmpty { continue }
                return names + [name]
            default: name.append(character)
            }
        }
        return []
    }

    /// Adds columns of a description that a table lacks. A column is added without NOT NULL, for the rows that are there have no values.
    ///
    /// The statements are built from names, which are quoted, and from the words of ``TableStructure``; no SQL text comes from elsewhere.
    package func addColumns(_ names: [String], of description: DatasetDescription, to table: String) throws {
        for name in names {
            guard let column = description.structure.column(name) else { continue }
            var words = [column.column.sqlIdentifier, column.declared.sql]
            if column.collation != .binary { words.append("COLLATE \(column.collation.rawValue.uppercased())") }
            try db.execute(sql: "ALTER TABLE \(table.sqlIdentifier) ADD COLUMN \(words.filter { !$0.isEmpty }.joined(separator: " "))")
        }
    }
}
