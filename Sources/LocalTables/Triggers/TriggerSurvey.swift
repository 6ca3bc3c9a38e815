import CSQLiteConfig
import GRDB
import GRDBSQLite
package import SnapshotModel
import StrictText

/// What SQLite reports about an application's triggers before they run: what they need that is missing.
///
/// A separate read-only connection compiles statements that would write, and never runs them. A function or collation that is not registered is
/// recorded and replaced by a stub, so that the survey can continue.
package struct TriggerSurvey: Sendable {
    /// A trigger of a dataset's table.
    package struct Trigger: Sendable, Hashable {
        package let name: String
        package let dataset: String
        package let table: String
        /// What it needs that is missing; nil if it can run.
        package let failure: String?
    }

    /// The application's triggers on the datasets' tables, by dataset and name.
    package let triggers: [Trigger]
    /// Why a dataset's table itself cannot be written without the application, by dataset name.
    package let unwritable: [String: String]
    /// Like ``unwritable``, for tables with a unique index whose collation is missing.
    package let needsForKeys: [String: String]

    /// Surveys a database.
    ///
    /// - Throws: ``SyncError`` if it cannot be opened.
    package init(_ database: LocalDatabase, _ schemas: [DatasetSchema]) throws {
        let (path, setup) = (database.path, database.setup)
        let all = try SyncError.translating(at: path) { try StatementCompiler(path: path, setup).triggers() }
        var unwritable: [String: String] = [:]
        var keys: [String: String] = [:]
        var needs: [ExactText: String] = [:]
        // Opening a connection reads the whole schema. A stub stays registered on its connection, so the next table after one gets new ones.
        var table: StatementCompiler?, compiler: StatementCompiler?
        let checks = try database.read { one in try schemas.map { try TableColumns(one.db, $0.table)?.checks(one.db) ?? [] } }
        for (schema, checks) in zip(schemas, checks) {
            let name = schema.table.sqlIdentifier
            let columns = schema.columns.map { "\($0.column.sqlIdentifier) = \($0.column.sqlIdentifier)" }.joined(separator: ", ")
            let list = schema.columns.map(\.column.sqlIdentifier).joined(separator: ", ")
            let nulls = schema.columns.map { _ in "NULL" }.joined(separator: ", ")
            // As an import writes: every described column has a value, and OR ABORT takes the place of a column's own ON CONFLICT REPLACE. So SQLite
            // needs no default of theirs.
            let statements = [
                "INSERT OR ABORT INTO \(name)(\(list)) VALUES(\(nulls))", "DELETE FROM \(name)", "UPDATE OR ABORT \(name) SET \(columns)",
            ]
            let alone = try table ?? StatementCompiler(path: path, setup, triggers: false)
            // SQLite compiles an INSERT although a CHECK needs a function that is missing, and does not run it.
            let whatRuns = statements + checks.map { "SELECT 1 FROM \(name) WHERE \($0)" }
            for sql in whatRuns { unwritable[schema.name] = unwritable[schema.name] ?? alone.compile(sql).first?.reason }
            table = unwritable[schema.name] == nil ? alone : nil
            if unwritable[schema.name] != nil { keys[schema.name] = try StatementCompiler(path: path, setup).missingCollation(of: schema.table) }
            let whole = try compiler ?? StatementCompiler(path: path, setup)
            var isClean = true
            for sql in statements {
                for lack in whole.compile(sql) {
                    isClean = false
                    guard lack.reason.exact != unwritable[schema.name]?.exact else { continue }
                    for trigger in all where trigger.sql.folded.contains(lack.name.folded.text) {
                        needs[trigger.name.exact] = needs[trigger.name.exact] ?? lack.reason
                    }
                }
            }
            compiler = isClean ? whole : nil
        }
        triggers = schemas.flatMap { schema in
            all.filter { $0.table.folded == schema.table.folded }.map {
                Trigger(name: $0.name, dataset: schema.name, table: $0.table, failure: needs[$0.name.exact])
            }
        }
        self.unwritable = unwritable
        needsForKeys = keys
    }
}

/// A connection that compiles statements and never runs them. Not thread-safe.
private final class StatementCompiler {
    /// Something that a statement needs and that is missing.
    struct Lack {
        let name: String
        let reason: String
    }

    private let connection: RawConnection
    /// What was replaced by a stub, as SQLite's messages.
    private var substituted: Set<ExactText> = []

    init(path: String, _ setup: ConnectionSetup?, triggers: Bool = true) throws {
        connection = try SyncError.translating(at: path) { try RawConnection(path, SQLITE_OPEN_READONLY) }
        sqlite3_busy_timeout(connection.handle, 10_000)
        try setup?(connection.handle)
        if !triggers { csqlite_triggers(connection.handle, 0, nil) }
    }

    /// The application's triggers of the main database.
    func triggers() throws -> [(name: String, table: String, sql: String)] {
        let sql = "SELECT name, tbl_name, sql FROM main.sqlite_schema WHERE type = 'trigger' AND name NOT LIKE 'snapsync\\_%' ESCAPE '\\' ORDER BY name"
        return try connection.rows(sql).map { ($0[0], $0[1], $0[2]) }
    }

    /// SQLite's message about the missing collation of a table's unique index; nil if none is missing.
    func missingCollation(of table: String) -> String? {
        let sql = "SELECT DISTINCT x.coll FROM pragma_index_list(?1) l, pragma_index_xinfo(l.name) x WHERE l.\"unique\" = 1 AND x.key = 1 ORDER BY 1"
        for row in (try? connection.rows(sql, [table])) ?? [] where !row[0].isEmpty {
            guard let lack = compile("SELECT 1 ORDER BY 'a' COLLATE \(row[0].sqlIdentifier)").first else { continue }
            return "\(lack.reason), by which a unique index compares"
        }
        return nil
    }

    /// Compiles a statement. Returns what it needs that is missing.
    func compile(_ sql: String) -> [Lack] {
        var found: [Lack] = []
        // Each attempt finds one more missing thing. The limit ends the loop for a schema that lacks a hundred.
        for _ in 0..<100 {
            guard let message = connection.compile(sql) else { break }
            var name = message.exact.split(separator: " ").last.map { String($0.exact.split(separator: ".").last ?? $0) } ?? message
            if name.exact.hasSuffix("()") { name.removeLast(2) }
            found.append(Lack(name: name, reason: message))
            guard substitute(message) else { break }
        }
        return found
    }

    private func substitute(_ message: String) -> Bool {
        substituted.insert(message.exact).inserted && SQLiteStub.add(for: message, to: connection.handle)
    }
}

/// A connection without GRDB's functions, to compile and run statements apart from an application's. Not thread-safe.
final class RawConnection {
    let handle: OpaquePointer

    init(_ path: String, _ flags: Int32) throws(DatabaseError) {
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, flags, nil)
        guard code == SQLITE_OK, let opened else {
            let message = opened.map { String(cString: sqlite3_errmsg($0)) }
            sqlite3_close(opened)
            throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
        }
        handle = opened
    }

    deinit { sqlite3_close(handle) }

    private var message: String { String(cString: sqlite3_errmsg(handle)) }

    /// Compiles a statement. Returns SQLite's message if that fails.
    func compile(_ sql: String) -> String? {
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
        sqlite3_finalize(statement)
        return code == SQLITE_OK ? nil : message
    }

    /// Runs the first statement of a text. Returns its rows, as texts.
    @discardableResult
    func rows(_ sql: String, _ arguments: [String] = []) throws(DatabaseError) -> [[String]] {
        var statement: OpaquePointer?
        var code = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
        defer { sqlite3_finalize(statement) }
        if code == SQLITE_OK, statement == nil { throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "it is empty") }
        for (index, argument) in arguments.enumerated() {
            sqlite3_bind_text(statement, Int32(index + 1), argument, -1, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
        }
        var found: [[String]] = []
        while code == SQLITE_OK || code == SQLITE_ROW {
            code = sqlite3_step(statement)
            guard code == SQLITE_ROW else { continue }
            found.append((0..<sqlite3_column_count(statement)).map { sqlite3_column_text(statement, $0).map { String(cString: $0) } ?? "" })
        }
        guard code == SQLITE_DONE else { throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message) }
        return found
    }
}

/// Functions and collations in place of those that only an application registers, so that SQLite can compile what uses them.
enum SQLiteStub {
    /// Registers the one that SQLite's message calls missing; returns whether the message says so.
    static func add(for message: String, to connection: OpaquePointer) -> Bool {
        func name(after beginning: String) -> String? {
            guard message.utf8.starts(with: beginning.utf8) else { return nil }
            let rest = message.utf8.dropFirst(beginning.utf8.count)
            return String(decoding: rest.suffix(2).elementsEqual("()".utf8) ? rest.dropLast(2) : rest, as: UTF8.self)
        }
        // SQLite uses the second message for a function in the schema, of a generated column or an index.
        if let function = name(after: "no such function: ") ?? name(after: "unknown function: ") {
            return sqlite3_create_function_v2(
                connection, function, -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nil, { context, _, _ in sqlite3_result_null(context) }, nil,
                nil, nil) == SQLITE_OK
        }
        guard let collation = name(after: "no such collation sequence: ") else { return false }
        return sqlite3_create_collation_v2(connection, collation, SQLITE_UTF8, nil, { _, _, _, _, _ in 0 }, nil) == SQLITE_OK
    }
}
