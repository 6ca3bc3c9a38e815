import GRDB
import GRDBSQLite
package import LocalTables
package import SnapshotModel
package import StrictText

/// A summary of the changes of one dataset since the applied version.
package struct TrackedChanges: Sendable, Hashable {
    /// Whether every change since the applied version is tracked: local data = the applied version + the tracked changes.
    package let isComplete: Bool
    /// How many entities were changed.
    package let count: Int
    /// The last change's sequence number, of any dataset; 0 if there is none.
    package let lastSequence: Int64
}

/// What was known, when the rows of a dataset were read, of whether every change is tracked.
package struct TrackingDoubt: Hashable, Sendable {
    /// As in `snapsync_tracking`.
    let isComplete: Int64

    init(_ isComplete: Int64) { self.isComplete = isComplete }
}

/// A change that was made here and is not in the applied version.
package struct TrackedChange: Sendable, Hashable {
    package let key: EntityKey
    package let instant: Instant
    package let isDeletion: Bool
    /// Whether the row exists and its own timestamp differs from the change's instant.
    package let isStamped: Bool
    let origin: TrackedOrigin
    /// Whether the applied version has the key; nil if that is not known.
    package var isInVersion: Bool? { origin == .unknown ? nil : origin == .inVersion }
    /// Whether the applied version may lack the key.
    package var isNew: Bool { isInVersion != true }
    /// Whether the change is one of the version's row, also if the row was deleted and inserted again. Otherwise it is a row that was inserted here.
    package var isOfVersion: Bool { isInVersion == true || isInVersion == nil && born == nil }
    package let columns: ChangedColumns
    /// When the row was inserted here; nil if it came from a version, or if that is not known.
    package let born: Instant?
    /// Whether nothing was edited, but the row has values that the version does not have.
    package let isCarried: Bool
    /// Whether these values are only the defaults of this table.
    package let isDefaulted: Bool
    /// The instant of the version's entity or tombstone that the change was made on; nil if there was none or it is not known. If a version's
    /// edit is later than this, neither author had seen the other's change.
    package let base: Instant?

    /// Whether the change set the row's timestamp, or may have.
    func changesTimestamp(of schema: DatasetSchema) -> Bool {
        guard let index = schema.timestampIndex, case .some(let columns) = columns else { return true }
        return columns[index] != nil
    }

    /// The columns in which the row may differ from the applied version; nil for all, or if that version may not have the row.
    package func partialColumns(of schema: DatasetSchema) -> Set<Int>? {
        guard isInVersion == true, !isDeletion, case .some(let some) = columns else { return nil }
        let changed = Set(some.keys)
        let isAll = changed.union(schema.keyIndices).count >= schema.columns.count
        return changed.isEmpty || isAll || !changed.isSubset(of: schema.columns.indices) ? nil : changed
    }

    static let sqlColumns = "key, at, state, isNew, cause, changed, base, born"

    /// ``isOfVersion`` in SQL, of a row of `snapsync_changes`.
    static func isOfVersion(_ row: String) -> String {
        "(\(row).isNew = \(TrackedOrigin.inVersion) OR \(row).isNew = \(TrackedOrigin.unknown) AND \(row).born IS NULL)"
    }

    /// Reads ``sqlColumns``.
    init?(_ row: KeyedStatement, _ schema: DatasetSchema) {
        guard let key = row.key(0) else { return nil }
        self.key = key
        instant = row.instant(1)
        isDeletion = row.integer(2) == Int64(TrackedState.deleted.rawValue)
        isStamped = row.integer(2) == Int64(TrackedState.stamped.rawValue)
        origin = TrackedOrigin(rawValue: row.integer(3)) ?? .unknown
        columns = ChangedColumns(row.text(5), at: instant)
        isDefaulted = row.integer(4) == ChangeCause.defaulted.rawValue
        isCarried = row.integer(4) == ChangeCause.carried.rawValue || isDefaulted
        base = row.isNull(6) ? nil : row.instant(6)
        born = row.isNull(7) ? nil : row.instant(7)
    }
}
