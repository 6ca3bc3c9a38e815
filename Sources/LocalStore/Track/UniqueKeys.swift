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

/// Reads the expressions of an index from its CREATE INDEX statement, because no pragma returns them.
enum IndexText {
    /// The indexed columns and expressions of an index in order, as the statement has them, without `ASC` and `DESC`.
    ///
    /// - Returns: nil if the statement cannot be parsed.
    static func expressions(_ db: Database, index: String) throws -> [String]? {
        guard let sql = try String.fetchOne(db, sql: "SELECT sql FROM main.sqlite_schema WHERE type = 'index' AND name = ?", arguments: [index]) else {
            return nil
        }
        let text = Array(sql.unicodeScalars)
        var tokens = SQLToken.all(of: text)[...]
        guard let on = tokens.firstIndex(where: { $0.isWord("on") }) else { return nil }
        tokens = tokens[(on + 1)...]
        guard let open = tokens.firstIndex(where: { $0.symbol == "(" }) else { return nil }
        var parts: [[SQLToken]] = [[]]
        var depth = 1
        for token in tokens[(open + 1)...] {
            if token.symbol == "(" { depth += 1 }
            if token.symbol == ")" { depth -= 1 }
            if depth == 0 { break }
            if depth == 1, token.symbol == "," { parts.append([]) } else { parts[parts.count - 1].append(token) }
        }
        guard depth == 0 else { return nil }
        return parts.map { part in
            var part = part
            if part.last?.isWord("asc") == true || part.last?.isWord("desc") == true { part.removeLast() }
            return SQLToken.text(of: part[...], in: text)
        }
    }

    /// The columns of a table that an expression mentions, in the table's order.
    static func columns(in expression: String, of table: String, _ db: Database) throws -> [String] {
        let names = Set(
            SQLToken.all(of: Array(expression.unicodeScalars)).compactMap { token in
                // A name without quotes may have its table before it.
                token.quote == nil ? token.name?.exact.split(separator: ".").last?.folded : token.name?.folded
            })
        return try TableColumns(db, table)?.columns.map(\.name).filter { names.contains($0.folded) } ?? []
    }
}
