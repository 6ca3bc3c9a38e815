import Foundation
import GRDBSQLite

/// A database as another program sees it, by SQLite alone and with nothing of the toolkit's: each call opens it, waits while others write, and closes it.
///
///     let rows = try SQLiteShell("phone.db", in: scratch.path).run("SELECT count(*) FROM buckets")
package struct SQLiteShell {
    private let database: String
    private let directory: String
    private let isProgram: Bool

    /// A database, by its path relative to `directory`.
    ///
    /// - Parameter isProgram: whether the `sqlite3` program runs the SQL, for tests in whose own process the toolkit has the database open.
    package init(_ database: String, in directory: String, isProgram: Bool = false) {
        self.database = database
        self.directory = directory
        self.isProgram = isProgram
    }

    /// Runs SQL and returns what `sqlite3` prints: one line a row, `|` between columns. What only that program knows, it runs: its commands, which begin with a
    /// dot, and texts with paths relative to its directory.
    @discardableResult
    package func run(_ sql: String) throws -> String {
        let isForProgram = isProgram || ["\n.", "ATTACH", "VACUUM INTO", "EXPLAIN"].contains { "\n\(sql)".contains($0) }
        guard isForProgram else { return try String(decoding: runHere(sql), as: UTF8.self) }
        return try ToolFailure.check(
            ProgramRun("sqlite3", ["-batch", "-bail", "-cmd", ".timeout 60000", database], in: directory, input: Data(sql.utf8)), "sqlite3"
        )
        .text
    }

    private func runHere(_ sql: String) throws -> [UInt8] {
        var connection: OpaquePointer?
        defer { sqlite3_close(connection) }
        func check(_ code: Int32) throws {
            if code != SQLITE_OK { throw ToolFailure("SQLite: \(database): \(String(cString: sqlite3_errmsg(connection)))") }
        }
        let path = database.hasPrefix("/") ? database : "\(directory)/\(database)"
        try check(sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil))
        sqlite3_busy_timeout(connection, 60_000)
        var printed: [UInt8] = []
        try sql.withCString { text in
            var rest: UnsafePointer<CChar>? = text
            while let next = rest, next.pointee != 0 {
                var statement: OpaquePointer?
                defer { sqlite3_finalize(statement) }
                try check(sqlite3_prepare_v2(connection, next, -1, &statement, &rest))
                while sqlite3_step(statement) == SQLITE_ROW {
                    for column in 0..<sqlite3_column_count(statement) {
                        if column > 0 { printed.append(UInt8(ascii: "|")) }
                        if let value = sqlite3_column_text(statement, column) {
                            printed.append(contentsOf: UnsafeBufferPointer(start: value, count: strlen(value)))
                        }
                    }
                    printed.append(UInt8(ascii: "\n"))
                }
                try check(sqlite3_reset(statement))
            }
        }
        return printed
    }

    /// SQL that changes rows so that the change tracking knows nothing of it.
    package static func untracked(_ sql: String) -> String {
        "CREATE TEMP TABLE untracked AS SELECT coalesce(max(seq), 0) AS last FROM snapsync_log; \(sql); "
            + "DELETE FROM snapsync_log WHERE seq > (SELECT last FROM untracked); DROP TABLE untracked;"
    }

    /// The whole database as SQL: tables, rows, indexes, triggers, the toolkit's own among them.
    ///
    /// What tracks the touched rows is left out: every run may tidy or mend it, whether it succeeds or not. So is the note of what
    /// went wrong last, which a run that fails leaves for `status`, and of when the tables' schema was looked at last.
    package func dump() throws -> String {
        let tracking = [
            "INSERT INTO snapsync_log ", "INSERT INTO snapsync_changes ", "INSERT INTO snapsync_tracking ", "CREATE TRIGGER snapsync_",
            "INSERT INTO snapsync_state VALUES('lastFailure',", "INSERT INTO snapsync_state VALUES('tablesSeen',",
            "INSERT INTO snapsync_state VALUES('descriptions',",
        ]
        return try run(".dump").split(separator: "\n", omittingEmptySubsequences: false)
            .filter { line in !tracking.contains { line.hasPrefix($0) } }.joined(separator: "\n")
    }

    /// The text of every table, index, view and trigger.
    package func schema() throws -> String { try run("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name") }

    /// Every value of a table, exactly: its storage class, its SQL literal and its bytes, one line a row, in the order of a key.
    package func values(of table: String, orderedBy key: String) throws -> String {
        let names = try run("SELECT name FROM pragma_table_info('\(table)')").split(separator: "\n")
        let values = names.map { "typeof(\"\($0)\"), quote(\"\($0)\"), hex(CAST(\"\($0)\" AS BLOB))" }.joined(separator: ", ")
        return try run("SELECT \(values) FROM \"\(table)\" ORDER BY \"\(key)\"")
    }
}
