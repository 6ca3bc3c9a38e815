import GRDB

/// A fingerprint of what a sync depends on in the database. It changes when a tracked row, the schema or a setting changes.
///
/// What a run itself writes (state, applied rows) does not change ``sequence``.
package struct ChangeMark: Hashable, Sendable {
    /// The sequence number of the last log entry. Numbers are never reused.
    package let sequence: Int64
    /// What else a sync depends on: the schema's version and the settings.
    package let frame: String

    package init(sequence: Int64, frame: String) {
        self.sequence = sequence
        self.frame = frame
    }
}

extension LocalDatabase {
    /// The current mark. Cheap: reads no row of the user's tables.
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
