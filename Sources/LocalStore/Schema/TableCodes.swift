/// A number that a column of the toolkit's tables uses as a code. In SQL text it becomes the number: `"kind <> \(LogEntryKind.overwritten)"`.
///
/// Source: docs/local-tables.md.
protocol TableCode: RawRepresentable<Int64>, CaseIterable, Sendable, CustomStringConvertible {}

extension TableCode {
    package var description: String { "\(rawValue)" }
}

/// What a trigger saw: the column `kind` of `snapsync_log`.
package enum LogEntryKind: Int64, TableCode {
    /// A row that existed was updated or deleted.
    case touched = 0
    /// `REPLACE` may remove the row because of another UNIQUE value. If the row still exists at consolidation, the entry is ignored.
    case mayBeReplaced = 1
    /// A row was inserted, or an update gave it this key.
    case inserted = 2
    /// Before an insert, a row was already stored under the key. Belongs to the next entry of the key.
    case overwritten = 3
    /// A comparison of all rows found the difference. It is not known whether the version has the entity.
    case compared = 4
    /// The statement changed at most columns that a message changes by themselves, and the timestamp.
    case marked = 5
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
}

/// Whether the applied version has a tracked entity: the column `isNew` of `snapsync_changes`.
enum TrackedOrigin: Int64, TableCode {
    case inVersion = 0
    /// Not known.
    case unknown = 1
    case new = 2
}

/// What the current import decided about a tracked change: the column `wins` of `snapsync_changes`.
enum MergeDecision: Int64, TableCode {
    /// No decision yet, or the version's state wins.
    case undecided = 0
    /// The change wins and stays.
    case kept = 1
    /// The import writes the version's row, and on top of it the part of the change that a message carries.
    case overlaid = 2
}

/// What a tracked change changed: the column `isMark` of `snapsync_changes`.
enum ChangeScope: Int64, TableCode {
    case anything = 0
    /// At most columns that a message changes by themselves, and the timestamp.
    case mark = 1
    /// Nothing: the row has values in columns that the version does not describe.
    case carried = 2
    /// Nothing: the row has this table's default in a column in which the version has NULL.
    case defaulted = 3
}
