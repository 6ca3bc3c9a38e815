package import GRDB
package import SnapshotModel
import StrictText

/// A UNIQUE constraint of a table other than the dataset's key: columns, or expressions of an index, for all rows or those that meet a condition.
///
/// `INSERT OR REPLACE` removes a row with the same values without running a delete trigger.
package struct UniqueKey {
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
    package let columns: [String]
    private let parts: [Part]
    /// The condition of a partial index, as the index has it.
    private let condition: String?
    /// What follows FROM for the row of the columns that expressions and the condition mention.
    private let row: String
    /// The literal defaults of NOT NULL columns: REPLACE puts them in place of NULL, after the triggers.
    private let defaults: [ExactText: String]

    private init(_ parts: [Part], where condition: String? = nil, in table: TableColumns, _ generated: GeneratedColumns) {
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
    package static func others(_ db: Database, _ schema: DatasetSchema) throws -> [UniqueKey]? {
        guard let table = try TableColumns(db, schema.table) else { return [] }
        let generated = try GeneratedColumns(db, table)
        var found: [UniqueKey] = []
        let key = Set(schema.keyColumns.map { $0.column.folded })
        for index in try UniqueIndex.all(db, of: table.name).sorted(by: { $0.name.exact < $1.name.exact }) {
            var text: IndexText?
            if !index.isPlain {
                text = try IndexText(db, index: index.name)
                guard let text, text.parts.count == index.parts.count, index.isPartial == (text.condition != nil) else { return nil }
            }
            let parts = index.parts.enumerated().map { place, part in
                Part(
                    name: part.name, expression: part.name?.sqlIdentifier ?? text?.parts[place] ?? "", isExpression: part.name.map(generated.contains) ?? true,
                    collation: part.collation)
            }
            if index.isPartial || parts.count != key.count || Set(parts.map { $0.name?.folded ?? "" }) != key {
                found.append(UniqueKey(parts, where: text?.condition, in: table, generated))
            }
        }
        // The rowid has no index of its own.
        if let name = table.rowidAlias?.name, key != [name.folded] {
            found.append(UniqueKey([Part(name: name, expression: name.sqlIdentifier, isExpression: false, collation: "BINARY")], in: table, generated))
        }
        return found
    }

    /// The condition that row `t` has the values of the new row. Names without a table are those of `t`, so no other table may be beside it.
    package var isTakenFrom: String {
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
        guard let text = try CreateText(db, of: "index", index) else { return nil }
        parts = text.parts.map { part in text.text(of: part.last?.isWord("asc") == true || part.last?.isWord("desc") == true ? part.dropLast() : part) }
        condition = text.rest.first?.isWord("where") == true && text.rest.count > 1 ? text.text(of: text.rest.dropFirst()) : nil
    }
}
