import GRDB
import SnapshotModel
import StrictText

/// The foreign keys of a table that SQLite checks at the end of a transaction. No PRAGMA says which, only the table's SQL.
struct DeferredKeys {
    /// The columns and the parent of each, by their folded names.
    private var found: Set<[ExactText]> = []

    init(_ db: Database, of table: String) throws {
        guard let sql = try String.fetchOne(db, sql: "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?", arguments: [table]) else { return }
        let tokens = SQLToken.all(of: Array(sql.unicodeScalars))
        guard let open = tokens.firstIndex(where: { $0.symbol == "(" }) else { return }
        // The tokens of one column or constraint, without those in nested brackets but the columns of FOREIGN KEY.
        var part: [SQLToken] = [], columns: [String] = [], parent: String?, depth = 1
        for (index, token) in tokens.enumerated().dropFirst(open + 1) {
            if token.symbol == ")" { depth -= 1 }
            if depth == 0 { break }
            if depth == 1, token.symbol == "," {
                (part, columns, parent) = ([], [], nil)
                continue
            }
            if depth == 2, parent == nil, let name = token.name ?? token.text { columns.append(name) }
            if token.symbol == "(" { depth += 1 }
            guard depth == 1 else { continue }
            // Commas between the constraints of a table may be left out.
            if token.isWord("foreign") { (columns, parent) = ([], nil) }
            if index > 0, tokens[index - 1].isWord("references") {
                parent = token.name ?? token.text
                let isOfTable = part.contains { $0.isWord("foreign") }
                if !isOfTable { columns = [part.first?.name ?? part.first?.text].compactMap { $0 } }
            }
            part.append(token)
            guard let parent, part.suffix(3).map({ $0.name?.folded }) == ["deferrable", "initially", "deferred"],
                part.dropLast(3).last?.isWord("not") != true
            else { continue }
            found.insert((columns + [parent]).map(\.folded))
        }
    }

    func contains(_ columns: [String], parent: String) -> Bool { found.contains((columns + [parent]).map(\.folded)) }
}
