import GRDB
import SnapshotModel
import StrictText

/// The generated columns of a table, with what they are computed from.
struct GeneratedColumns {
    /// The definition between the parentheses of `AS (…)`, and the columns that it mentions.
    private struct Column {
        let name: String
        let declared: String
        let expression: String
        let mentioned: [String]
    }

    /// In an order in which each mentions earlier ones only.
    private var columns: [Column] = []

    init(_ db: Database, _ table: TableColumns) throws {
        var waiting = table.columns.filter(\.isGenerated)
        guard !waiting.isEmpty else { return }
        let definitions = try table.definitions(db)
        var known = Set(table.columns.filter { !$0.isGenerated }.map(\.name.folded))
        var isMoving = true
        while isMoving {
            isMoving = false
            for column in waiting {
                guard let expression = definitions[column.name.folded].flatMap(Self.expression), case let mentioned = table.columns(in: expression),
                    known.isSuperset(of: mentioned.map(\.folded))
                else { continue }
                columns.append(Column(name: column.name, declared: column.declared, expression: expression, mentioned: mentioned))
                known.insert(column.name.folded)
                waiting.removeAll { $0.name.folded == column.name.folded }
                isMoving = true
            }
        }
    }

    /// What stands in the parentheses of `AS (…)`.
    private static func expression(of definition: String) -> String? {
        let source = Array(definition.unicodeScalars), tokens = SQLToken.all(of: source)
        guard let place = tokens.indices.dropLast(2).first(where: { tokens[$0].isWord("as") && tokens[$0 + 1].symbol == "(" }) else { return nil }
        var depth = 0
        for index in tokens.indices[(place + 1)...] {
            if tokens[index].symbol == "(" { depth += 1 }
            if tokens[index].symbol == ")" { depth -= 1 }
            if depth == 0 { return SQLToken.text(of: tokens[(place + 2)..<index], in: source) }
        }
        return nil
    }

    var names: [String] { columns.map(\.name) }

    func contains(_ name: String) -> Bool { columns.contains { $0.name.folded == name.folded } }

    /// These columns with what the generated ones among them are computed from in place of them, each once.
    func sources(of names: [String]) -> [String] {
        var seen: Set<ExactText> = []
        func sources(_ name: String) -> [String] {
            columns.first { $0.name.folded == name.folded }.map { $0.mentioned.flatMap(sources) } ?? [name]
        }
        return names.flatMap(sources).filter { seen.insert($0.folded).inserted }
    }

    /// The columns as the definitions of a table that has no constraints.
    var definitions: [String] { columns.map { "\($0.name.sqlIdentifier) \($0.declared.sqlIdentifier) AS (\($0.expression))" } }

    /// What follows FROM for the rows of `rows`, which have the other columns, with the generated ones.
    func computed(from rows: String) -> String {
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

    fileprivate func definitions(_ db: Database) throws -> [ExactText: String] {
        guard let sql = try String.fetchOne(db, sql: "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?", arguments: [name]) else {
            return [:]
        }
        let source = Array(sql.unicodeScalars), tokens = SQLToken.all(of: source)
        guard let open = tokens.firstIndex(where: { $0.symbol == "(" }) else { return [:] }
        var found: [ExactText: String] = [:], start = open + 1, depth = 1
        for index in tokens.indices[(open + 1)...] where depth > 0 {
            if tokens[index].symbol == "(" { depth += 1 }
            if tokens[index].symbol == ")" { depth -= 1 }
            guard depth == 0 || depth == 1 && tokens[index].symbol == "," else { continue }
            if start < index, let name = tokens[start].name ?? tokens[start].text {
                found[name.folded] = SQLToken.text(of: tokens[start..<index], in: source)
            }
            start = index + 1
        }
        return found
    }
}
