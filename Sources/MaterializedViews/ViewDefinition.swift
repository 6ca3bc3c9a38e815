import GRDB
import GRDBSQLite
import LocalTables
import StrictText

/// A query whose rows fill a table.
package struct ViewQuery: Sendable {
    /// The name of the table that is filled.
    package let table: String
    /// A `SELECT` on the source.
    package let query: String
    /// The columns of the key; nil for the primary key of the table that the query selects from.
    package let key: [String]?

    package init(table: String, query: String, key: [String]? = nil) { (self.table, self.query, self.key) = (table, query, key) }
}

/// What SQLite says about a query on the source: its columns, its key, and whether edits of its rows can be made in the source.
struct ViewDefinition {
    struct Column {
        let name: String
        /// What follows the name in `CREATE TABLE`.
        let declaration: String
        /// The column of ``ViewDefinition/base`` that it shows.
        let origin: String
    }

    let table: String
    let query: String
    let columns: [Column]
    let key: [Column]
    /// The table that the rows are edited in: the query is `SELECT columns FROM base WHERE …` with the key, and each column is one of the table's.
    let base: String?

    /// The name of the table with the rows of the last refresh, if readers may edit the rows.
    var filled: String { "snapsync_filled_\(table)" }
    /// What follows the name of a table with these columns in `CREATE TABLE`.
    var body: String {
        "(\(columns.map { "\($0.name.sqlIdentifier)\($0.declaration)" }.joined(separator: ", ")), PRIMARY KEY(\(key.map(\.name.sqlIdentifier).joined(separator: ", "))))"
    }

    /// Compiles a query and checks that it can fill a table. No row is read.
    ///
    /// - Parameter db: a connection whose `main` is the source.
    /// - Throws: ``SyncError`` with `.refused`, which gives the reason.
    init(_ view: ViewQuery, in db: Database, of source: String) throws {
        table = view.table
        // A semicolon that ends the statement.
        var bytes = view.query.utf8[...]
        while let last = bytes.last, " \n\r\t;".utf8.contains(last) { bytes = bytes.dropLast() }
        let sql = String(decoding: bytes, as: UTF8.self)
        query = sql
        func refusal(_ reason: String, hint: String) -> SyncError {
            SyncError(.refused, step: .open, at: "\(source), the query of \(view.table)", reason, hint: hint)
        }
        let reserved = ["snapsync_", "sqlite_"].contains { view.table.folded.hasPrefix($0) }
        guard !view.table.isEmpty, !reserved else { throw refusal("\(view.table.debugDescription) cannot be the name of a table", hint: "choose another name") }

        let authorizer = QueryAuthorizer(), statement: Statement
        do {
            (statement, _) = try authorizer.watching(db) {
                // Alone it must be one statement, and in parentheses one that has rows.
                (try db.makeStatement(sql: sql), try db.makeStatement(sql: "SELECT * FROM (\(sql)\n)"))
            }
        } catch let error as DatabaseError {
            guard !authorizer.isRefused, error.resultCode != .SQLITE_MISUSE else {
                throw refusal("it does more than read rows, or is several statements", hint: "write one SELECT")
            }
            throw refusal(
                "SQLite refuses it: \(error.message ?? "\(error.resultCode)")", hint: "correct the SELECT, which sqlite3 \(source.shellWord) runs alone")
        }
        guard sqlite3_bind_parameter_count(statement.sqliteStatement) == 0 else { throw refusal("it has parameters", hint: "write the values in the SELECT") }
        if let function = try authorizer.undetermined(in: sql, db) {
            throw refusal(
                "it calls \(function), which may give other rows each time",
                hint: "compare with a value that is stored in the rows, or mark the rows in the source")
        }

        let found = try (0..<statement.columnCount).map { try ResultColumn(statement, Int32($0), in: db) }
        let twice = Dictionary(grouping: found, by: \.name.folded).values.first { $0.count > 1 }
        if let name = twice?.first?.name { throw refusal("two columns are named \(name)", hint: "name each column with AS") }
        // The first table whose whole primary key is in the result.
        let keys = found.compactMap(\.origin?.table).lazy.map { table in
            Self.primaryKey(of: table, db).map { name in
                found.first { $0.origin.map { $0.table.exact == table.exact && $0.column.folded == name.folded } == true }
            }
        }
        let names = view.key ?? (keys.first { !$0.isEmpty && !$0.contains { $0 == nil } } ?? []).compactMap { $0?.name }
        let option = "--key \("\(view.table)=\(found.first?.name ?? "id")".shellWord)"
        guard !names.isEmpty else {
            throw refusal("its rows have no key: the primary key of no table is among the columns", hint: "add the key's columns, or name them: \(option)")
        }
        let key = try names.map { name in
            guard let column = found.first(where: { $0.name.folded == name.folded }) else {
                throw refusal("it has no column \(name) for the key", hint: "the columns are \(found.map(\.name).joined(separator: ", "))")
            }
            return column.name
        }
        let isKey = Set(key.map(\.folded))
        let base = found.first?.origin?.table
        let isPlain = base.map { base in
            found.allSatisfy { $0.isStored && $0.origin?.table.exact == base.exact } && Set(found.map { $0.origin?.column.folded }).count == found.count
                && Self.selectsPlainly(from: base, SQLToken.all(of: Array(sql.unicodeScalars)))
                && Set(key.compactMap { name in found.first { $0.name.exact == name.exact }?.origin?.column.folded })
                    == Set(Self.primaryKey(of: base, db).map(\.folded))
        }
        self.base = isPlain == true ? base : nil
        let columns = found.map {
            Column(name: $0.name, declaration: $0.declaration + (isKey.contains($0.name.folded) ? " NOT NULL" : ""), origin: $0.origin?.column ?? "")
        }
        self.columns = columns
        self.key = key.compactMap { name in columns.first { $0.name.exact == name.exact } }
    }

    private static func primaryKey(of table: String, _ db: Database) -> [String] {
        (try? String.fetchAll(db, sql: "SELECT name FROM pragma_table_info(?, 'main') WHERE pk > 0 ORDER BY pk", arguments: [table])) ?? []
    }

    /// Whether a statement is `SELECT … FROM table [[AS] alias] [WHERE …]`, so that each of its rows is one of the table.
    private static func selectsPlainly(from table: String, _ tokens: [SQLToken]) -> Bool {
        var depth = 0
        let outer = tokens.filter { token in
            depth += token.nesting
            return depth == 0 && token.symbol != ")"
        }
        guard outer.first?.isWord("select") == true, !outer.contains(where: { $0.isWord("distinct") }),
            let from = outer.firstIndex(where: { $0.isWord("from") }),
            from + 1 < outer.count, let name = outer[from + 1].name ?? outer[from + 1].text, [table.folded, "main.\(table)".folded].contains(name.folded)
        else { return false }
        var rest = outer[(from + 2)...]
        if rest.first?.isWord("as") == true { rest = rest.dropFirst() }
        if let alias = rest.first, !alias.isWord("where"), alias.name != nil { rest = rest.dropFirst() }
        guard let first = rest.first else { return true }
        let others: [ExactText] = ["group", "having", "window", "union", "intersect", "except", "order", "limit"]
        return first.isWord("where") && !rest.contains { token in others.contains { token.isWord($0) } }
    }
}

/// A column of a query's result.
private struct ResultColumn {
    let name: String
    /// The table of the source and its column, if the result has the column as it is.
    let origin: (table: String, column: String)?
    /// Whether a statement can set the column.
    let isStored: Bool
    /// The type and the collation, each after a blank.
    let declaration: String

    init(_ statement: Statement, _ index: Int32, in db: Database) throws {
        // SAFETY: SQLite's texts are valid until the statement ends, and are copied at once.
        func text(_ call: (OpaquePointer?, Int32) -> UnsafePointer<CChar>?) -> String? { call(statement.sqliteStatement, index).map { String(cString: $0) } }
        name = text(sqlite3_column_name) ?? ""
        guard let table = text(sqlite3_column_table_name), let column = text(sqlite3_column_origin_name) else {
            (origin, isStored, declaration) = (nil, false, "")
            return
        }
        origin = (table, column)
        let row = try Row.fetchOne(db, sql: "SELECT type, hidden FROM pragma_table_xinfo(?, 'main') WHERE name = ?", arguments: [table, column])
        isStored = row?["hidden"] == 0
        // ANY keeps each value only in a STRICT table. Without a type, every table does.
        let type: String = isStored ? row?["type"] ?? "" : ""
        let isWord = type.utf8.allSatisfy { ($0 | 0x20) &- UInt8(ascii: "a") < 26 || " (),0123456789_".utf8.contains($0) }
        let collation = try columnCollation(db, table: table, column: column)
        declaration =
            (type.isEmpty || !isWord || type.folded == "any" ? "" : " \(type)") + (["NOCASE", "RTRIM"].contains(collation) ? " COLLATE \(collation)" : "")
    }
}

/// Watches which functions a query calls, and refuses everything that does more than read.
///
/// Source: sqlite3_set_authorizer in SQLite's documentation.
private final class QueryAuthorizer {
    private(set) var isRefused = false
    /// The functions, each with the view that calls it.
    private var calls: [(function: ExactText, view: String?)] = []

    func watching<T>(_ db: Database, _ body: () throws -> T) throws -> T {
        // SAFETY: `self` outlives the calls, which SQLite makes only while it compiles a statement.
        sqlite3_set_authorizer(
            db.sqliteConnection,
            { context, action, _, name, _, view in
                guard let context else { return SQLITE_DENY }
                let watcher = Unmanaged<QueryAuthorizer>.fromOpaque(context).takeUnretainedValue()
                if action == SQLITE_FUNCTION, let name { watcher.calls.append((String(cString: name).folded, view.map { String(cString: $0) })) }
                if [SQLITE_SELECT, SQLITE_READ, SQLITE_FUNCTION, SQLITE_RECURSIVE].contains(action) { return SQLITE_OK }
                watcher.isRefused = true
                return SQLITE_DENY
            }, Unmanaged.passUnretained(self).toOpaque())
        defer { sqlite3_set_authorizer(db.sqliteConnection, nil, nil) }
        return try body()
    }

    /// A function whose result does not follow from the rows; nil if there is none.
    func undetermined(in query: String, _ db: Database) throws -> String? {
        // SQLITE_DETERMINISTIC. Aggregates and window functions do not have it.
        let pure = Set(try String.fetchAll(db, sql: "SELECT name FROM pragma_function_list WHERE type <> 's' OR flags & 0x800").map(\.folded))
        if let call = calls.first(where: { !pure.contains($0.function) }) { return "\(call.function)" }
        // SQLite counts these among the deterministic ones, unless they are called for the present time.
        let ofTime: [ExactText] = ["date", "time", "datetime", "julianday", "unixepoch", "strftime"]
        for call in calls where ofTime.contains(call.function) {
            let text = try call.view.flatMap { try String.fetchOne(db, sql: "SELECT sql FROM main.sqlite_schema WHERE name = ?", arguments: [$0]) } ?? query
            let tokens = SQLToken.all(of: Array(text.unicodeScalars))
            let isNow = tokens.indices.contains { index in
                if let word = tokens[index].text ?? (tokens[index].quote == nil ? nil : tokens[index].name) {
                    return ["now", "subsec", "subsecond"].contains(word.folded)
                }
                let next = tokens[index...].dropFirst()
                return tokens[index].isWord(call.function) && next.first?.symbol == "("
                    && next.dropFirst(call.function == "strftime" ? 2 : 1).first?.symbol == ")"
            }
            if isNow { return "\(call.function) for the present time" }
        }
        return nil
    }
}
