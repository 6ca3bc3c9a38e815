package import GRDB
import SnapshotModel
import StrictText

/// The generated columns of a table, with what they are computed from.
package struct GeneratedColumns {
    /// The definition between the parentheses of `AS (…)`, and the columns that it mentions.
    private struct Column {
        let name: String
        let declared: String
        let expression: String
        let mentioned: [String]
    }

    /// In an order in which each mentions earlier ones only.
    private var columns: [Column] = []

    package init(_ db: Database, _ table: TableColumns) throws {
        var waiting = table.columns.filter(\.isGenerated)
        guard !waiting.isEmpty else { return }
        let definitions = try table.definitions(db)
        var known = Set(table.columns.filter { !$0.isGenerated }.map(\.name.folded))
        var isMoving = true
        while isMoving {
            isMoving = false
            for column in waiting {
                guard let expression = definitions[column.name.folded], case let mentioned = table.columns(in: expression),
                    known.isSuperset(of: mentioned.map(\.folded))
                else { continue }
                columns.append(Column(name: column.name, declared: column.declared, expression: expression, mentioned: mentioned))
                known.insert(column.name.folded)
                waiting.removeAll { $0.name.folded == column.name.folded }
                isMoving = true
            }
        }
    }

    var names: [String] { columns.map(\.name) }

    func contains(_ name: String) -> Bool { columns.contains { $0.name.folded == name.folded } }

    /// These columns with what the generated ones among them are computed from in place of them, each once.
    package func sources(of names: [String]) -> [String] {
        var seen: Set<ExactText> = []
        func sources(_ name: String) -> [String] {
            columns.first { $0.name.folded == name.folded }.map { $0.mentioned.flatMap(sources) } ?? [name]
        }
        return names.flatMap(sources).filter { seen.insert($0.folded).inserted }
    }

    /// The columns as the definitions of a table that has no constraints.
    package var definitions: [String] { columns.map { "\($0.name.sqlIdentifier) \($0.declared.sqlIdentifier) AS (\($0.expression))" } }

    /// What follows FROM for the rows of `rows`, which have the other columns, with the generated ones.
    package func computed(from rows: String) -> String {
        columns.reduce(rows) { "(SELECT *, (\($1.expression)) AS \($1.name.sqlIdentifier) FROM \($0))" }
    }
}

extension TableColumns {
    /// The columns that an expression mentions, in the table's order.
    func columns(in expression: String) -> [String] {
        let names = Set(
            SQLToken.all(of: Array(expression.unicodeScalars)).compactMap { token in
                // A name without quotes may have its table before it.
                token.quote == nil ? token.name?.exact.split(separator: ".").last?.folded : token.name?.folded
            })
        return columns.map(\.name).filter { names.contains($0.folded) }
    }

    /// What stands in the parentheses of `AS (…)`, by the folded names of the generated columns.
    fileprivate func definitions(_ db: Database) throws -> [ExactText: String] {
        guard let text = try CreateText(db, of: "table", name) else { return [:] }
        let pairs = text.parts.compactMap { part in
            (part.first?.name ?? part.first?.text).flatMap { name in text.groups(after: "as", in: part).first.map { (name.folded, $0) } }
        }
        return Dictionary(pairs) { first, _ in first }
    }

    /// The CHECK constraints as they were written, without the parentheses around them. No pragma tells them.
    package func checks(_ db: Database) throws -> [String] {
        guard let text = try CreateText(db, of: "table", name) else { return [] }
        return text.parts.flatMap { text.groups(after: "check", in: $0) }
    }
}
