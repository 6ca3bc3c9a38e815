import GRDB
import SnapshotModel
import StrictText

/// The CHECK constraints of a table, which no pragma tells: the statement that made the table says them.
struct TableCheck {
    /// The constraint's name; nil if it has none.
    let name: String?
    /// The expression as it was written, without the parentheses around it.
    let text: String
    /// The expression as a description has it, or why none does.
    let expression: Result<CheckExpression, CheckParser.Fault>

    /// The constraint for a description; nil if none can say it.
    var described: TableStructure.Check? {
        (try? expression.get()).map { TableStructure.Check(name: name.flatMap { DatasetSchema.isIdentifier($0) ? $0 : nil }, expression: $0) }
    }

    /// Reads them, in the order in which they stand.
    ///
    /// - Parameter columns: the columns that a description may name; nil for all that are not generated.
    static func all(_ db: Database, of table: TableColumns, columns: [String]? = nil) throws -> [TableCheck] {
        guard let sql = try String.fetchOne(db, sql: "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?", arguments: [table.name]) else {
            return []
        }
        let source = Array(sql.unicodeScalars), tokens = SQLToken.all(of: source)
        guard let open = tokens.firstIndex(where: { $0.symbol == "(" }) else { return [] }
        let named = columns ?? table.columns.filter { !$0.isGenerated }.map(\.name), all = table.columns.map(\.name)
        var found: [TableCheck] = [], name: String?, start: Int?, depth = 1
        for index in tokens.indices[(open + 1)...] {
            let token = tokens[index]
            if token.symbol == "(" { depth += 1 }
            if token.symbol == ")" { depth -= 1 }
            if depth == 1, let first = start, token.symbol == ")" {
                let part = tokens[first..<index]
                start = nil
                guard let begin = part.first?.range.lowerBound, let end = part.last?.range.upperBound else { continue }
                let expression = Result { () throws(CheckParser.Fault) in try CheckParser.expression(part, of: source, columns: named, of: all) }
                found.append(TableCheck(name: name, text: SQLToken.text(source[begin..<end]), expression: expression))
                name = nil
            } else if depth == 1, token.isWord("check"), index + 1 < tokens.count, tokens[index + 1].symbol == "(" {
                if tokens[index - 2].isWord("constraint") { name = tokens[index - 1].name ?? tokens[index - 1].text }
                start = index + 2
            } else if depth == 0 {
                break
            }
        }
        return found
    }
}
