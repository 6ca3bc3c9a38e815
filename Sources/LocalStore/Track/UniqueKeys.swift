import GRDB
import SnapshotModel
import StrictText

/// A UNIQUE constraint of a table other than the dataset's key: columns, or expressions of an index, for all rows or those that meet a condition.
///
/// `INSERT OR REPLACE` removes a row with the same values without running a delete trigger.
struct UniqueKey {
    /// A column or an expression, with the collation that the index uses.
    private struct Part {
        /// The column's name; nil for an expression.
        let name: String?
        /// The expression as the index has it, with the table's column names.
        let expression: String
        /// Whether the value of a new row has to be computed. In triggers, SQLite does not compute each generated column.
        let isExpression: Bool
        let collation: String
    }

    /// The table's columns, other than generated ones, that the values are computed from.
    let valueColumns: [String]
    /// Those and the columns of the condition.
    let columns: [String]
    private let parts: [Part]
    /// The condition of a partial index, as the index has it.
    private let condition: String?
    /// What follows FROM for the row of the columns that expressions and the condition mention.
    private let row: String
    /// The literal defaults of NOT NULL columns: REPLACE puts them in place of NULL, after the triggers.
    private let defaults: [ExactText: String]

    private init(_ parts: [Part], where condition: String? = nil, _ table: TableColumns, _ generated: GeneratedColumns) {
        (self.parts, self.condition) = (parts, condition)
        let ofValues = parts.flatMap { part in part.name.map { [$0] } ?? table.columns(in: part.expression) }
        let ofCondition = condition.map { table.columns(in: $0) } ?? []
        valueColumns = generated.sources(of: ofValues)
        columns = generated.sources(of: ofValues + ofCondition)
        let required = table.columns.filter { $0.isNotNull && $0.defaultText?.utf8.contains(UInt8(ascii: "(")) == false }
        let defaults = Dictionary(required.map { ($0.name.folded, $0.defaultText ?? "NULL") }) { first, _ in first }
        self.defaults = defaults
        let mentioned = generated.sources(of: parts.filter(\.isExpression).flatMap { table.columns(in: $0.expression) } + ofCondition + generated.names)
        let values = mentioned.map { "\(Self.new($0, defaults)) AS \($0.sqlIdentifier)" }
        row = generated.computed(from: "(SELECT \(values.isEmpty ? "NULL" : values.joined(separator: ", ")))")
    }

    private static func new(_ column: String, _ defaults: [ExactText: String]) -> String {
        defaults[column.folded].map { "coalesce(NEW.\(column.sqlIdentifier), \($0))" } ?? "NEW.\(column.sqlIdentifier)"
    }

    /// The UNIQUE constraints of a dataset's table other than its key.
    ///
    /// - Returns: nil if one is an index on expressions that cannot be parsed. A trigger cannot follow such an index.
    static func others(_ db: Database, _ schema: DatasetSchema) throws -> [UniqueKey]? {
        guard let table = try TableColumns(db, schema.table) else { return [] }
        let generated = try GeneratedColumns(db, table)
        var found: [UniqueKey] = []
        let key = Set(schema.keyColumns.map { $0.column.folded })
        for index in try Row.fetchAll(
            db.keptStatement(sql: "SELECT name, partial FROM pragma_index_list(?) WHERE \"unique\" = 1 ORDER BY name"), arguments: [schema.table])
        {
            let columns = try Row.fetchAll(
                db.keptStatement(sql: "SELECT name, coll FROM pragma_index_xinfo(?) WHERE key = 1 ORDER BY seqno"), arguments: [index[0] as String])
            let isPartial: Bool = index[1]
            var text: IndexText?
            if try isPartial || columns.contains(where: { try $0[0] as String? == nil }) {
                text = try IndexText(db, index: index[0])
                guard let text, text.parts.count == columns.count, isPartial == (text.condition != nil) else { return nil }
            }
            let parts = columns.enumerated().map { place, column in
                let name: String? = column[0]
                return Part(
                    name: name, expression: name?.sqlIdentifier ?? text?.parts[place] ?? "", isExpression: name.map(generated.contains) ?? true,
                    collation: column[1])
            }
            if isPartial || parts.count != key.count || Set(parts.map { $0.name?.folded ?? "" }) != key {
                found.append(UniqueKey(parts, where: text?.condition, table, generated))
            }
        }
        // INTEGER PRIMARY KEY is the rowid and has no index of its own.
        let primary = table.primaryKey
        if primary.count == 1, primary[0].declared.folded == "integer", key != [primary[0].name.folded] {
            let name = primary[0].name
            found.append(UniqueKey([Part(name: name, expression: name.sqlIdentifier, isExpression: false, collation: "BINARY")], table, generated))
        }
        return found
    }

    /// The condition that row `t` has the values of the new row. Names without a table are those of `t`, so no other table may be beside it.
    var isTakenFrom: String {
        // Names in an expression refer to the row that the inner SELECT returns.
        func new(_ expression: String) -> String { "(SELECT (\(expression)) FROM \(row))" }
        let equal = parts.map { part in
            let own = part.name.map { "t.\($0.sqlIdentifier)" } ?? "(\(part.expression))"
            let other = part.name.flatMap { part.isExpression ? nil : Self.new($0, defaults) } ?? new(part.expression)
            return "\(own) = \(other) COLLATE \(part.collation.sqlIdentifier)"
        }
        return (equal + (condition.map { ["(\($0))", new($0)] } ?? [])).joined(separator: " AND ")
    }
}

/// The text of an index in its CREATE INDEX statement, because no pragma returns expressions.
struct IndexText {
    /// The indexed columns and expressions in order, as the statement has them, without `ASC` and `DESC`.
    let parts: [String]
    /// The condition of a partial index.
    let condition: String?

    /// - Returns: nil if the statement cannot be parsed.
    init?(_ db: Database, index: String) throws {
        guard let sql = try String.fetchOne(db, sql: "SELECT sql FROM main.sqlite_schema WHERE type = 'index' AND name = ?", arguments: [index]) else {
            return nil
        }
        let text = Array(sql.unicodeScalars)
        var tokens = SQLToken.all(of: text)[...]
        guard let on = tokens.firstIndex(where: { $0.isWord("on") }) else { return nil }
        tokens = tokens[(on + 1)...]
        guard let open = tokens.firstIndex(where: { $0.symbol == "(" }) else { return nil }
        var parts: [[SQLToken]] = [[]]
        var depth = 1, end = open
        for (place, token) in zip(tokens.indices, tokens).dropFirst(open + 1 - tokens.startIndex) {
            end = place
            if token.symbol == "(" { depth += 1 }
            if token.symbol == ")" { depth -= 1 }
            if depth == 0 { break }
            if depth == 1, token.symbol == "," { parts.append([]) } else { parts[parts.count - 1].append(token) }
        }
        guard depth == 0 else { return nil }
        self.parts = parts.map { part in
            var part = part
            if part.last?.isWord("asc") == true || part.last?.isWord("desc") == true { part.removeLast() }
            return SQLToken.text(of: part[...], in: text)
        }
        let rest = tokens[(end + 1)...]
        condition = rest.first?.isWord("where") == true && rest.count > 1 ? SQLToken.text(of: rest.dropFirst(), in: text) : nil
    }
}
