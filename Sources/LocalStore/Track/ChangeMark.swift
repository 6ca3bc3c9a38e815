import GRDB

/// A mark of what a database holds for a sync: it changes when a tracked row is touched, the schema is changed or a setting is.
///
/// What a run itself writes (state, applied rows) does not move ``sequence``.
package struct ChangeMark: Hashable, Sendable {
    /// The number of the last log entry. Never used twice.
    package let sequence: Int64
    /// What else concerns a sync: the schema's version and the settings.
    package let frame: String

    package init(sequence: Int64, frame: String) {
        self.sequence = sequence
        self.frame = frame
    }
}

extension LocalDatabase {
    /// The present mark. Cheap: no user's row is read.
    package func changeMark() throws -> ChangeMark {
        try read { transaction in
            let db = transaction.db
            let sequence = try db.hasTable("snapsync_log") ? Int64.fetchOne(db, sql: "SELECT max(seq) FROM snapsync_log") ?? 0 : 0
            let version = try Int.fetchOne(db, sql: "PRAGMA schema_version") ?? 0
            let settings =
                try transaction.settings.exists() ? String.fetchOne(db, sql: "SELECT group_concat(key || ' ' || value, char(10)) FROM snapsync_settings") : nil
            return ChangeMark(sequence: sequence, frame: "\(version) \(settings ?? "")")
        }
    }
}
