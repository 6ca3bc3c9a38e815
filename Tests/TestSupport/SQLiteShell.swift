import Foundation

/// A database as the `sqlite3` program sees it: a reader of the bytes that shares no code settings with the toolkit.
///
///     let rows = try SQLiteShell("phone.db", in: scratch.path).run("SELECT count(*) FROM buckets")
package struct SQLiteShell {
    private let database: String
    private let directory: String

    /// A database, by its path relative to `directory`.
    package init(_ database: String, in directory: String) {
        self.database = database
        self.directory = directory
    }

    /// Runs SQL, waiting while another program writes, given on standard input so that it may be long, and returns what is printed: one line a row, `|` between columns.
    @discardableResult
    package func run(_ sql: String) throws -> String {
        try ToolFailure.check(ProgramRun("sqlite3", ["-batch", "-bail", "-cmd", ".timeout 60000", database], in: directory, input: Data(sql.utf8)), "sqlite3")
            .text
    }

    /// SQL that changes rows so that the change tracking knows nothing of it.
    package static func untracked(_ sql: String) -> String {
        "CREATE TEMP TABLE untracked AS SELECT coalesce(max(seq), 0) AS last FROM snapsync_log; \(sql); "
            + "DELETE FROM snapsync_log WHERE seq > (SELECT last FROM untracked); DROP TABLE untracked;"
    }

    /// The whole database as SQL: tables, rows, indexes, triggers, the toolkit's own among them.
    ///
    /// What tracks the touched rows is left out: every run may tidy or mend it, whether it succeeds or not. So is the note of what
    /// went wrong last, which a run that fails leaves for `status`, and of when the mailbox and the tables' schema were looked at last.
    package func dump() throws -> String {
        let tracking = [
            "INSERT INTO snapsync_log ", "INSERT INTO snapsync_changes ", "INSERT INTO snapsync_tracking ", "CREATE TRIGGER snapsync_",
            "INSERT INTO snapsync_state VALUES('lastFailure',", "INSERT INTO snapsync_state VALUES('mailboxLook',",
            "INSERT INTO snapsync_state VALUES('tablesSeen',", "INSERT INTO snapsync_state VALUES('descriptions',",
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
