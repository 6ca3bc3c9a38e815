import GRDB
import SnapshotModel
import StrictText

/// A UNIQUE constraint of a table other than the dataset's key: columns, or expressions of an index.
///
/// `INSERT OR REPLACE` removes a row with the same values without running a delete trigger.
struct UniqueKey {
    /// A column or an expression, with the collation that the index uses.
    struct Part {
        /// The column's name; nil for an expression.
        let name: String?
        /// The expression as the index has it, with the table's column names.
        let expression: String
        /// The table's columns that the expression mentions; for a column, the column itself.
        let columns: [String]
        let collation: String
    }

    let parts: [Part]

    /// The table's columns that the constraint depends on.
    var columns: [String] {
        var seen: Set<ExactText> = []
        return parts.flatMap(\.columns).filter { seen.insert($0.folded).inserted }
    }

    /// The UNIQUE constraints of a dataset's table other than its key.
    ///
    /// - Returns: nil if one is an index on expressions that cannot be parsed. A trigger cannot follow such an index.
    static func others(_ db: Database, _ schema: DatasetSchema) throws -> [UniqueKey]? {
        var found: [UniqueKey] = []
        let key = Set(schema.keyColumns.map { $0.column.folded })
        for index in try Row.fetchAll(
            db.keptStatement(sql: "SELECT name FROM pragma_index_list(?) WHERE \"unique\" = 1 ORDER BY name"), arguments: [schema.table])
        {
            let parts = try Row.fetchAll(
                db.keptStatement(sql: "SELECT name, coll FROM pragma_index_xinfo(?) WHERE key = 1 ORDER BY seqno"), arguments: [index[0] as String])
            var columns: [Part] = []
            for (place, part) in parts.enumerated() {
                if let name = part[0] as String? {
                    columns.append(Part(name: name, expression: name.sqlIdentifier, columns: [name], collation: part[1]))
                } else {
                    guard let text = try IndexText.expressions(db, index: index[0]), text.count == parts.count else { return nil }
                    let names = try IndexText.columns(in: text[place], of: schema.table, db)
                    columns.append(Part(name: nil, expression: text[place], columns: names, collation: part[1]))
                }
            }
            if columns.count != key.count || Set(columns.map { $0.name?.folded ?? "" }) != key { found.append(UniqueKey(parts: columns)) }
        }
        // INTEGER PRIMARY KEY is the rowid and has no index of its own.
        let primary = try Row.fetchAll(db.keptStatement(sql: "SELECT name, type FROM pragma_table_info(?) WHERE pk > 0"), arguments: [schema.table])
        if primary.count == 1, (primary[0][1] as String).folded == "integer",
            !(key.count == 1 && key.contains((primary[0][0] as String).folded))
        {
            let name: String = primary[0][0]
            found.append(UniqueKey(parts: [Part(name: name, expression: name.sqlIdentifier, columns: [name], collation: "BINARY")]))
        }
        return found
    }

    /// The condition that row `t` has the values of the new row.
    var isTakenFrom: String {
        parts.map { part in
            if let name = part.name { return "t.\(name.sqlIdentifier) = NEW.\(name.sqlIdentifier) COLLATE \(part.collation.sqlIdentifier)" }
            // Names in the expression refer to the row that the inner SELECT returns.
            let row = part.columns.map { "NEW.\($0.sqlIdentifier) AS \($0.sqlIdentifier)" }.joined(separator: ", ")
            return "(\(part.expression)) = (SELECT (\(part.expression)) FROM (SELECT \(row))) COLLATE \(part.collation.sqlIdentifier)"
        }
        .joined(separator: " AND ")
    }
}
