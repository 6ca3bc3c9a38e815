package import GRDB
import SnapshotModel
import StrictText

/// One of the toolkit's tables in the user's database.
///
/// Every table that exists beyond a run is listed here and described in docs/local-tables.md. The names begin with `snapsync_`.
package struct LocalTable: Sendable {
    package let name: String
    /// What follows the name in `CREATE TABLE`.
    package let definition: String
    /// The table's indexes: each name with what follows it in `CREATE INDEX`.
    var indexes: [(name: String, definition: String)] = []

    /// Creates the table and its indexes if they are missing.
    package func create(in db: Database) throws {
        try db.execute(sql: "CREATE TABLE IF NOT EXISTS \(name)\(definition)")
        for index in indexes { try db.execute(sql: "CREATE INDEX IF NOT EXISTS \(index.name) ON \(name)\(index.definition)") }
    }

    /// Drops the table if it exists.
    package func drop(in db: Database) throws { try db.execute(sql: "DROP TABLE IF EXISTS \(name)") }
}

extension LocalTable {
    static let settings = LocalTable(name: "snapsync_settings", definition: "(key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID")
    package static let state = LocalTable(name: "snapsync_state", definition: "(key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID")
    static let datasets = LocalTable(
        name: "snapsync_datasets",
        definition: """
            (
                name TEXT PRIMARY KEY NOT NULL, syncTimestamp TEXT NOT NULL, recordCount INTEGER NOT NULL,
                unknownFields TEXT NOT NULL DEFAULT '[]') WITHOUT ROWID
            """)
    static let beginning = LocalTable(name: "snapsync_beginning", definition: "(cloud TEXT NOT NULL, zone TEXT NOT NULL, device TEXT NOT NULL)")

    static let tracking = LocalTable(
        name: "snapsync_tracking",
        definition: """
            (
                id INTEGER PRIMARY KEY, dataset TEXT NOT NULL UNIQUE, isComplete INTEGER NOT NULL)
            """)
    package static let log = LocalTable(
        name: "snapsync_log",
        definition: """
            (
                seq INTEGER PRIMARY KEY, dataset INTEGER NOT NULL, key, clock INTEGER NOT NULL, stamp, seen, changed NOT NULL DEFAULT 0)
            """)
    package static let changes = LocalTable(
        name: "snapsync_changes",
        definition: """
            (
                dataset INTEGER NOT NULL, key, at INTEGER NOT NULL, seq INTEGER NOT NULL, state INTEGER NOT NULL,
                isNew INTEGER NOT NULL DEFAULT 1, cause INTEGER NOT NULL DEFAULT 0, changed TEXT, base INTEGER, born INTEGER,
                PRIMARY KEY(dataset, key)) WITHOUT ROWID
            """)
    package static let tombstones = LocalTable(
        name: "snapsync_tombstones", definition: "(dataset INTEGER NOT NULL, key, at INTEGER NOT NULL, PRIMARY KEY(dataset, key)) WITHOUT ROWID")
    package static let instants = LocalTable(
        name: "snapsync_instants",
        definition: """
            (
                dataset INTEGER NOT NULL, key, at INTEGER NOT NULL, rest INTEGER, born INTEGER, columns TEXT, PRIMARY KEY(dataset, key)) WITHOUT ROWID
            """)
    package static let held = LocalTable(
        name: "snapsync_held",
        definition: "(dataset INTEGER NOT NULL, key, entity TEXT NOT NULL, reason TEXT NOT NULL, PRIMARY KEY(dataset, key)) WITHOUT ROWID")
    package static let rowids = LocalTable(name: "snapsync_rowids", definition: "(dataset TEXT)")
    package static let detached = LocalTable(
        name: "snapsync_detached",
        definition: """
            (
                cloud TEXT NOT NULL, zone TEXT NOT NULL, dataset TEXT NOT NULL, key, at INTEGER NOT NULL, base INTEGER,
                isNew INTEGER NOT NULL, born INTEGER, changed TEXT, names TEXT NOT NULL, PRIMARY KEY(dataset, key)) WITHOUT ROWID
            """)

    package static let waiting = LocalTable(
        name: "snapsync_waiting",
        definition: """
            (
                dataset TEXT NOT NULL, key, entity TEXT NOT NULL, at INTEGER NOT NULL, born INTEGER NOT NULL, columns TEXT, gone INTEGER,
                PRIMARY KEY(dataset, key)) WITHOUT ROWID
            """)
    package static let own = LocalTable(
        name: "snapsync_own",
        definition: """
            (
                dataset INTEGER NOT NULL, key, name TEXT NOT NULL, value, at INTEGER NOT NULL, PRIMARY KEY(dataset, key, name)) WITHOUT ROWID
            """)
    package static let conflicts = LocalTable(
        name: "snapsync_conflicts",
        definition: """
            (
                id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, key NOT NULL, reason TEXT NOT NULL, detail TEXT,
                loser TEXT, loserAt INTEGER NOT NULL, loserDevice TEXT, winner TEXT, winnerAt INTEGER NOT NULL, winnerDevice TEXT,
                recordedAt INTEGER NOT NULL, state TEXT NOT NULL, bytes INTEGER NOT NULL, columns TEXT)
            """)
    package static let sent = LocalTable(
        name: "snapsync_sent",
        definition: """
            (
                number INTEGER PRIMARY KEY, dataset INTEGER NOT NULL, key, seq INTEGER NOT NULL, at INTEGER, edit TEXT NOT NULL)
            """,
        indexes: [("snapsync_sent_key", "(dataset, key, seq)")])
    package static let decided = LocalTable(name: "snapsync_decided", definition: "(device TEXT PRIMARY KEY NOT NULL, number INTEGER NOT NULL) WITHOUT ROWID")

    /// The tables that `init` creates with the settings.
    package static let settingsTables = [settings, state, datasets]
    /// The tables of change tracking. Tracking works only with all of them.
    package static let trackingTables = [tracking, log, changes, tombstones, instants, held]
    /// The tables of the messages.
    package static let mailboxTables = [sent, decided]
    /// Every table.
    static let all = settingsTables + [beginning] + trackingTables + [rowids, detached, waiting, own, conflicts] + mailboxTables
}

/// A number that a column of the toolkit's tables uses as a code. In SQL text it becomes the number: `"state <> \(TrackedState.deleted)"`.
///
/// Source: docs/local-tables.md.
protocol TableCode: RawRepresentable<Int64>, CaseIterable, Sendable, CustomStringConvertible {}

extension TableCode {
    package var description: String { "\(rawValue)" }
}

/// What an entry of the log says: the column `changed` of `snapsync_log`. A greater number says which columns an update changed, and a text is the
/// note of a row that an insertion found under its key (``ChangeTriggers``).
package enum LogEntryKind: Int64, TableCode {
    /// The row was deleted, or it lost this key; or it is not known which of its columns changed.
    case touched = 0
    /// A row was inserted, or an update gave it this key.
    case inserted = -1
    /// `REPLACE` may remove the row because of another UNIQUE value. If the row still exists at consolidation, the entry is ignored.
    case mayBeReplaced = -2
    /// A comparison of all rows found the difference. It is not known whether the version has the entity.
    case compared = -3
}

/// Whether a dataset's table equals the applied version plus the tracked changes: the column `isComplete` of `snapsync_tracking`.
package enum Completeness: Int64, TableCode {
    /// The rows may be wrong: an import puts the version's in their place. A publisher compares them with the version.
    case doubtful = 0
    case complete = 1
    /// The triggers were missing for a while: every device compares the rows with the version, and what differs is an edit.
    case untracked = 2
}

/// Numbers that are not datasets: the column `dataset` of `snapsync_log`.
package enum ReservedDataset: Int64, TableCode {
    /// An entry that only keeps the last sequence number, so that no number is reused.
    case none = 0
}

/// What happened to a tracked entity: the column `state` of `snapsync_changes`.
package enum TrackedState: Int64, TableCode {
    /// The row exists, and its own timestamp is the change's instant.
    case plain = 0
    /// The row exists, and its own timestamp differs from the change's instant.
    case stamped = 1
    /// The row was deleted.
    case deleted = 2
    /// The row is not there, and no deletion was logged. Only within a consolidation.
    case vanished = 3
}

/// Whether the applied version has a tracked entity: the column `isNew` of `snapsync_changes`.
package enum TrackedOrigin: Int64, TableCode {
    case inVersion = 0
    /// Not known.
    case unknown = 1
    case new = 2
}

/// Why an entity is tracked: the column `cause` of `snapsync_changes`.
package enum ChangeCause: Int64, TableCode {
    /// Other devices know the instants, so they stay: a reader made the edit, or it was in a commit that lost its number.
    case known = -1
    case edit = 0
    /// Nobody edited it: the row has values in columns that the version does not describe, or the version holds it and a reader's edits let it fit.
    case carried = 1
    /// Nobody edited it: the row has this table's default in a column in which the version has NULL.
    case defaulted = 2
}

/// What triggers and statements that write the log have in common.
package enum LogSQL {
    /// How many columns one number of the text about a found row tells apart.
    package static let maskSize = 60
    /// Milliseconds since 1970 by SQLite's own clock, which is the same in every program that writes the table.
    ///
    /// `julianday` is exact to 40 us, so rounding gives the same millisecond as `strftime` in the same statement.
    package static let clock = "CAST((julianday('now') - 2440587.5) * 86400000 + 0.5 AS INTEGER)"
}
