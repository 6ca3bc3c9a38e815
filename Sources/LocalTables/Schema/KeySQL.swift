import SnapshotModel
import StrictText

/// The SQL of a dataset's key: conditions that find rows by key, and expressions for the key of a row.
///
///     "SELECT 1 FROM \(table) t WHERE \(key.matches("t", "c.key"))"     // uses the index of the table's key
///     "SELECT 1 FROM snapsync_changes c WHERE c.key = \(key.value(of: "t"))"
///
/// The toolkit's tables store the key of one column as its value, with folded text and 1 for 1.0, but for a blob; they store that, and a key of several
/// columns, as the bytes of an encoded key. So each key has one form, and SQLite sorts stored keys as the table sorts its rows. The functions that convert
/// between the two (``GRDB/Database/addKeyFunctions()``) exist only on the toolkit's own connections; triggers use ``logged(of:)`` instead.
package struct KeySQL {
    private let columns: [(name: String, part: KeyShape.Part)]
    private let isSingle: Bool
    /// A letter for each column: the collation of its texts.
    private let spec: String

    init(_ schema: DatasetSchema) {
        columns = schema.keyShape.parts.map { (schema.columns[$0.index].column.sqlIdentifier, $0) }
        isSingle = schema.keyShape.isSingle
        spec = "'" + schema.keyShape.parts.map { String($0.collation.rawValue.prefix(1)) }.joined() + "'"
    }

    /// The key's columns of a row, separated by commas.
    ///
    /// - Parameter row: the alias of the row in the statement; nil if the statement needs none.
    package func list(_ row: String? = nil) -> String { names(row).joined(separator: ", ") }

    /// The key's columns in descending order, for ORDER BY.
    package var descending: String { names(nil).map { $0 + " DESC" }.joined(separator: ", ") }

    /// The columns of a unique index of the key, with their collations: for a table made by `CREATE TABLE … AS SELECT`, which drops the
    /// collations.
    package var indexed: String { columns.map { $0.name + Self.collate($0.part) }.joined(separator: ", ") }

    /// The key of a row as the toolkit's tables store it; NULL if one of its columns is NULL.
    package func value(of row: String? = nil) -> String { value(of: names(row)) }

    /// The key whose columns have the values of these expressions, as the toolkit's tables store it; NULL if one of them is NULL.
    func value(of expressions: [String]) -> String {
        let key = "snapsync_key(\(spec), \(expressions.joined(separator: ", ")))"
        guard isSingle else { return key }
        // Most keys need no function.
        let value = expressions[0], changed = columns[0].part.collation == .binary ? "'real', 'blob'" : "'real', 'text', 'blob'"
        return "CASE WHEN typeof(\(value)) IN (\(changed)) THEN \(key) ELSE \(value) END"
    }

    /// The condition that a row has a given key.
    ///
    /// - Parameter key: an expression for a key as the toolkit's tables store it.
    package func matches(_ row: String? = nil, _ key: String) -> String {
        let parts = zip(names(row), columns).enumerated().map { "\($1.0)\(Self.collate($1.1.part)) = snapsync_key_value(\(key), \($0))" }
        return parts.count == 1 ? parts[0] : "(" + parts.joined(separator: " AND ") + ")"
    }

    /// The condition that two rows have the same key by the table's collations. NULL equals nothing.
    package func isSame(_ row: String, _ other: String) -> String {
        let pairs = zip(zip(names(row), names(other)), columns).map { "\($0.0)\(Self.collate($1.part)) = \($0.1)" }
        return pairs.count == 1 ? pairs[0] : "(" + pairs.joined(separator: " AND ") + ")"
    }

    /// The condition, in a trigger, that the keys of two rows differ. NULL counts as a value.
    package func differs(_ row: String, _ other: String) -> String {
        let pairs = zip(names(row), names(other)).map { "\($0) IS NOT \($1)" }
        return pairs.count == 1 ? pairs[0] : "(" + pairs.joined(separator: " OR ") + ")"
    }

    /// The condition that the key of a row is among those of a table with the same column names.
    package func isIn(_ row: String? = nil, table: String) -> String {
        columns.count == 1 ? "\(names(row)[0]) IN (SELECT \(list()) FROM \(table))" : "(\(list(row))) IN (SELECT \(list()) FROM \(table))"
    }

    /// The condition that a row has one of the keys that a table stores.
    ///
    /// - Parameter column: the column with the keys, as the toolkit's tables store them.
    package func isIn(keys column: String, of table: String) -> String {
        let values = columns.indices.map { "snapsync_key_value(\(column), \($0))" }.joined(separator: ", ")
        return columns.count == 1 ? "\(list()) IN (SELECT \(values) FROM \(table))" : "(\(list())) IN (SELECT \(values) FROM \(table))"
    }

    /// The condition that a column of the key is NULL.
    package func isNull(_ row: String? = nil) -> String {
        let parts = names(row).map { "\($0) IS NULL" }
        return parts.count == 1 ? parts[0] : "(" + parts.joined(separator: " OR ") + ")"
    }

    /// The condition that no column of the key is NULL.
    package func isNotNull(_ row: String? = nil) -> String { names(row).map { "\($0) IS NOT NULL" }.joined(separator: " AND ") }

    /// `WHERE` with the condition for a range of keys, whose bounds are the parameters 1 and 2; empty for all rows.
    package func condition(_ range: KeyRange) -> String {
        let bounds = [range.first == nil ? nil : compared(">=", "?1"), range.next == nil ? nil : compared("<", "?2")].compactMap { $0 }
        return bounds.isEmpty ? "" : "WHERE " + bounds.joined(separator: " AND ")
    }

    /// Compares by the table's own collations, so that SQLite can use the index of the key.
    private func compared(_ comparison: String, _ key: String) -> String {
        let values = columns.indices.map { "snapsync_key_value(\(key), \($0))" }
        return columns.count == 1 ? "\(list()) \(comparison) \(values[0])" : "(\(list())) \(comparison) (\(values.joined(separator: ", ")))"
    }

    /// The key of a row as a trigger logs it, in SQL that the SQLite of every program understands.
    ///
    /// The key of one column is logged as its value, and a key of several columns as a text: for each value a letter, its digits (hexadecimal for
    /// texts and blobs) and a comma. The text is exact for every value. Source: docs/local-tables.md, "snapsync_log".
    package func logged(of row: String) -> String {
        guard !isSingle else { return names(row)[0] }
        return names(row).map { name in
            "CASE typeof(\(name)) WHEN 'integer' THEN 'i' || \(name) WHEN 'real' THEN 'r' || printf('%!.20e', \(name)) WHEN 'text' THEN 't' || hex(\(name)) WHEN 'blob' THEN 'b' || hex(\(name)) END || ','"
        }.joined(separator: " || ")
    }

    /// A stored key as an entry of the log has it that no trigger wrote.
    package func logged(key: String) -> String { isSingle ? "snapsync_key_value(\(key), 0)" : key }

    /// The key of a log entry as the toolkit's other tables store it.
    package func unlogged(_ key: String) -> String { isSingle ? value(of: [key]) : "snapsync_logged_key(\(spec), \(key))" }

    private func names(_ row: String?) -> [String] { columns.map { (row.map { $0 + "." } ?? "") + $0.name } }

    private static func collate(_ part: KeyShape.Part) -> String { part.collation == .binary ? "" : " COLLATE \(part.collation.rawValue.uppercased())" }
}

extension DatasetSchema {
    package var keySQL: KeySQL { KeySQL(self) }
}

extension DatasetSchema {
    /// SQL for the instant of row `t`'s own timestamp; `NULL` for a dataset without a timestamp.
    package var ownInstantSQL: String { timestampIndex.map { instantSQL("t.\(columns[$0].column.sqlIdentifier)") } ?? "NULL" }

    /// SQL that converts a value of the timestamp column to an instant; `NULL` if it is not an instant.
    package func instantSQL(_ value: String) -> String { "snapsync_instant(\(value)\(timestampUnit.map { ", '\($0.rawValue)'" } ?? ""))" }
}
