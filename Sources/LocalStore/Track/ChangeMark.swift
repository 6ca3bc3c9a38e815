import GRDB
import LocalTables

/// A fingerprint of what a sync depends on in the database. It changes when a tracked row, the schema or a setting changes.
///
/// What a run itself writes (state, applied rows) does not change ``sequence``.
package struct ChangeMark: Hashable, Sendable {
    /// The sequence number of the last log entry. Numbers are never reused.
    package let sequence: Int64
    /// What else a sync depends on: the schema's version and the settings.
    package let frame: String

    package init(sequence: Int64, frame: String) { (self.sequence, self.frame) = (sequence, frame) }
}

extension LocalDatabase {
    /// The current mark. Cheap: reads no row of the user's tables.
    package func changeMark() throws -> ChangeMark {
        try read { transaction in
            let db = transaction.db
            // A watch reads the mark several times around each change, so the connection caches the statements.
            let sequence = try db.hasTable("snapsync_log") ? KeyedStatement(db, "SELECT max(seq) FROM snapsync_log").integer() ?? 0 : 0
            let version = try transaction.tables.schemaVersion()
            var settings: String?
            if try transaction.settings.exists() {
                let all = try KeyedStatement(db, "SELECT group_concat(key || ' ' || value, char(10)) FROM snapsync_settings")
                defer { all.end() }
                if try all.step() { settings = all.string(0) }
            }
            return ChangeMark(sequence: sequence, frame: "\(version) \(settings ?? "")")
        }
    }
}
