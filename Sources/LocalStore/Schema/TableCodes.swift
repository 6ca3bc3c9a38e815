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
enum Completeness: Int64, TableCode {
    /// The rows may be wrong: an import puts the version's in their place. A publisher compares them with the version.
    case doubtful = 0
    case complete = 1
    /// The triggers were missing for a while: every device compares the rows with the version, and what differs is an edit.
    case untracked = 2
}

/// Numbers that are not datasets: the column `dataset` of `snapsync_log`.
enum ReservedDataset: Int64, TableCode {
    /// The flag that an import is under way, in entry number 0.
    case importFlag = -1
    /// An entry that only keeps the last sequence number, so that no number is reused.
    case none = 0
}

/// What happened to a tracked entity: the column `state` of `snapsync_changes` and `snapsync_published`.
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
enum TrackedOrigin: Int64, TableCode {
    case inVersion = 0
    /// Not known.
    case unknown = 1
    case new = 2
}

/// Why an entity is tracked: the column `cause` of `snapsync_changes`.
enum ChangeCause: Int64, TableCode {
    case edit = 0
    /// Nobody edited it: the row has values in columns that the version does not describe.
    case carried = 1
    /// Nobody edited it: the row has this table's default in a column in which the version has NULL.
    case defaulted = 2
}
