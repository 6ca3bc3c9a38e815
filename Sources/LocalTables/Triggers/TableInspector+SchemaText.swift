import CSQLiteConfig
import GRDB
import GRDBSQLite
package import SnapshotModel
import StrictText

/// What became of a zone's SQL text in a database.
package struct SchemaTextResult: Sendable {
    /// What the statements made: `table books`, `index titles`.
    package internal(set) var made: [String] = []
    /// The statements that were not run, each with the reason.
    package internal(set) var leftOut: [String] = []

    package init() {}
}

// The SQL text of tables, indexes, views and triggers: read here for the zone, and run here if the user asks for it.
extension TableInspector {
    /// The SQL text of the datasets' tables, of their indexes and triggers, and of the views, as `sqlite_schema` has it.
    ///
    /// The built-in tables are left out if they are as this program makes them.
    package func schemaText(of datasets: [DatasetSchema]) throws -> SchemaText {
        let rows = try Row.fetchAll(
            db,
            sql: "SELECT type, name, tbl_name, sql FROM main.sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'snapsync\\_%' ESCAPE '\\' ORDER BY rowid")
        let tables = Set(datasets.map { $0.table.folded })
        let views = Set(rows.filter { $0[0] as String == "view" }.map { ($0[1] as String).folded })
        let found = rows.compactMap { row -> SchemaText.Statement? in
            guard let type = SchemaText.Kind(rawValue: row[0]) else { return nil }
            let name: String = row[1], table: String = row[2], sql: String = row[3]
            guard type == .view || tables.contains(table.folded) || type == .trigger && views.contains(table.folded),
                type != .table || !Self.isBuiltIn(sql)
            else { return nil }
            return SchemaText.Statement(type: type, name: name, sql: sql)
        }
        guard !found.isEmpty else { return SchemaText([]) }
        return try SchemaRehearsal.proper(SchemaText(found), builtIn: datasets.map(\.table))
    }

    /// Creates the tables of descriptions that are missing here as a zone's SQL text says, and what else the text makes.
    ///
    /// Only statements run that ``SchemaRehearsal`` found to need nothing but one another, each alone and under SQLite's authorizer. Tables whose
    /// statements do not run are created from their descriptions.
    ///
    /// - Throws: ``SchemaRehearsal/Refusal`` if a statement is more than it should be, or if an object of that name is here and differs.
    package func create(_ descriptions: [DatasetDescription], builtIn: [String], as text: SchemaText) throws -> (tables: [String], result: SchemaTextResult) {
        let outcomes = try SchemaRehearsal.run(text, tables: descriptions.map(\.schema.table), builtIn: builtIn)
        var result = SchemaTextResult()
        let wanted = descriptions.map(\.schema.table) + builtIn
        let before = Set(try wanted.filter(db.hasTable).map(\.folded))
        try run(outcomes.filter { $0.statement.type == .table && !before.contains($0.statement.name.folded) }, &result)
        let made = try wanted.filter { try !before.contains($0.folded) && db.hasTable($0) }
        let tables = try made + createBuiltIn(builtIn) + create(descriptions)
        try run(outcomes.filter { $0.statement.type != .table }, &result)
        return (tables, result)
    }

    private func run(_ outcomes: [SchemaRehearsal.Outcome], _ result: inout SchemaTextResult) throws {
        guard let connection = db.sqliteConnection else { return }
        let authorizer = SchemaAuthorizer(connection)
        // The statement has made an object elsewhere as it is.
        var wasQuoted: Int32 = 0
        csqlite_quoted_text(connection, -1, &wasQuoted)
        csqlite_quoted_text(connection, 1, nil)
        defer {
            csqlite_quoted_text(connection, wasQuoted, nil)
            authorizer.end()
            db.clearSchemaCache()
        }
        for outcome in outcomes {
            let statement = outcome.statement
            if let lack = outcome.lack {
                result.leftOut.append("\(statement.title): \(lack)")
                continue
            }
            let namespace = statement.type == .trigger ? "type = 'trigger'" : "type != 'trigger'"
            let present = try Row.fetchOne(
                db, sql: "SELECT type, sql FROM main.sqlite_schema WHERE \(namespace) AND name = ? COLLATE NOCASE", arguments: [statement.name])
            if let present {
                guard present[0] as String == statement.type.rawValue, (present[1] as String?)?.utf8.elementsEqual(statement.sql.utf8) == true else {
                    throw SchemaRehearsal.Refusal(description: "the database has another \(present[0] as String) \(statement.name)")
                }
                continue
            }
            var handle: OpaquePointer?
            let code = authorizer.with(.creating(statement)) {
                var code = sqlite3_prepare_v2(connection, statement.sql, -1, &handle, nil)
                while code == SQLITE_OK || code == SQLITE_ROW { code = sqlite3_step(handle) }
                sqlite3_finalize(handle)
                return code
            }
            guard code == SQLITE_DONE else {
                let message = String(cString: sqlite3_errmsg(connection))
                if authorizer.refusal == nil, code == SQLITE_ERROR, message.utf8.starts(with: "no such ".utf8) {
                    result.leftOut.append("\(statement.title): \(message)")
                    continue
                }
                throw SchemaRehearsal.Refusal(description: "the \(statement.title) cannot be made: \(authorizer.refusal ?? message)")
            }
            result.made.append(statement.title)
        }
    }
}
