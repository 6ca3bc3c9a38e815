/// A number that a column of the toolkit's tables uses as a code. In SQL text it stands as the number: `"kind <> \(LogEntryKind.overwritten)"`.
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
    /// `REPLACE` may remove the row because of another UNIQUE value. If the row is still there, the entry counts for nothing.
    case mayBeReplaced = 1
    /// A row was inserted, or an update gave it this key.
    case inserted = 2
    /// Before an insert, a row was already stored under the key. Belongs to the next entry of the key.
    case overwritten = 3
    /// A comparison of all rows found the difference. Whether the version has the entity is not known.
    case compared = 4
    /// The statement changed at most columns that a message changes by themselves, and the timestamp.
    case marked = 5
}

/// Numbers that stand for no dataset: the column `dataset` of `snapsync_log`.
enum ReservedDataset: Int64, TableCode {
    /// The flag of an import that is under way, in entry number 0.
    case importFlag = -1
    /// An entry that only keeps the last number used, so that no number is used twice.
    case none = 0
}

/// What became of a tracked entity: the column `state` of `snapsync_changes` and `snapsync_published`.
package enum TrackedState: Int64, TableCode {
    /// The row is there, and its own timestamp is the change's instant.
    case plain = 0
    /// The row is there, and the change's instant is another than its timestamp.
    case stamped = 1
    /// The row is gone.
    case deleted = 2
}

/// Whether the applied version has a tracked entity: the column `isNew` of `snapsync_changes`.
enum TrackedOrigin: Int64, TableCode {
    case inVersion = 0
    /// Not known. Earlier versions of the toolkit wrote this for every entity that the version may lack.
    case unknown = 1
    case new = 2
}

/// What the import that is under way decided about a tracked change: the column `wins` of `snapsync_changes`.
enum MergeDecision: Int64, TableCode {
    /// Nothing yet, or the version's state.
    case undecided = 0
    /// The change stays.
    case kept = 1
    /// The version's row comes in, and the part of the change that a message carries goes on top of it.
    case overlaid = 2
}

/// What a tracked change changed: the column `isMark` of `snapsync_changes`.
enum ChangeScope: Int64, TableCode {
    case anything = 0
    /// At most columns that a message changes by themselves, and the timestamp.
    case mark = 1
    /// Nothing: the row has values in columns that the version does not describe.
    case carried = 2
}
