import GRDB
import SnapshotModel
import StrictText

extension TableColumns {
    /// The CHECK constraints as they were written, without the parentheses around them. No pragma tells them, only the statement that made the table.
    func checks(_ db: Database) throws -> [String] {
        guard let sql = try String.fetchOne(db, sql: "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?", arguments: [name]) else {
            return []
        }
        let source = Array(sql.unicodeScalars), tokens = SQLToken.all(of: source)
        guard let open = tokens.firstIndex(where: { $0.symbol == "(" }) else { return [] }
        var found: [String] = [], start: Int?, depth = 1
        for index in tokens.indices[(open + 1)...] {
            let token = tokens[index]
            if token.symbol == "(" { depth += 1 }
            if token.symbol == ")" { depth -= 1 }
            if depth == 1, let first = start, token.symbol == ")" {
                found.append(SQLToken.text(of: tokens[first..<index], in: source))
                start = nil
            } else if depth == 1, token.isWord("check"), index + 1 < tokens.count, tokens[index + 1].symbol == "(" {
                start = index + 2
            } else if depth == 0 {
                break
            }
        }
        return found
    }
}
