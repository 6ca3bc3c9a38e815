import GRDB
import StrictText

/// The flag by which the triggers know that an import is under way, whose changes they do not log: log entry number 0, which belongs to no
/// dataset.
///
/// An import adds a row to `snapsync_importing` and removes it in one transaction; two triggers turn that row into the log entry. The triggers on
/// the application's tables check for the entry in the log, which they write anyway. Reading a page of another table, which they do not write,
/// made a bulk insert a third slower, and made SQLite move its statement journal to a file earlier.
enum ImportFlag {
    /// The condition under which a trigger logs: no import is under way.
    static let isAbsent = "NOT EXISTS (SELECT 1 FROM snapsync_log WHERE seq = 0)"

    /// The triggers of `snapsync_importing`, by name.
    static let triggers = [
        ("snapsync_importing_begin", "AFTER INSERT", "INSERT OR IGNORE INTO snapsync_log(seq, dataset, clock) VALUES (0, -1, 0);"),
        ("snapsync_importing_end", "AFTER DELETE", "DELETE FROM snapsync_log WHERE seq = 0;"),
    ].map { name, event, body in (name: name, sql: "CREATE TRIGGER \(name) \(event) ON snapsync_importing BEGIN \(body) END") }

    /// Whether the triggers of `snapsync_importing` are as they should be.
    static func isInstalled(_ db: Database) throws -> Bool {
        try installed(db).elementsEqual(triggers) { $0.name == $1.name && $0.sql.exact == $1.sql.exact }
    }

    /// Creates the triggers, after dropping any that exist on the table.
    static func install(_ db: Database) throws {
        for trigger in try installed(db) { try db.execute(sql: "DROP TRIGGER \(trigger.name.sqlIdentifier)") }
        for trigger in triggers { try db.execute(sql: trigger.sql) }
    }

    private static func installed(_ db: Database) throws -> [(name: String, sql: String)] {
        try Row.fetchAll(db, sql: "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'snapsync_importing' ORDER BY name").map {
            ($0[0], $0[1])
        }
    }
}
