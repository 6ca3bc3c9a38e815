import GRDB
import SnapshotModel
import StrictText

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
