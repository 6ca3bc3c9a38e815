import GRDB
import GRDBSQLite
package import SnapshotModel
package import StrictText

/// What is known of the changes of one dataset since the applied version.
package struct TrackedChanges: Sendable, Hashable {
    /// Whether every change since the applied version is tracked: local data = the applied version + the tracked changes.
    package let isComplete: Bool
    /// How many entities were touched.
    package let count: Int
    /// The last change's sequence number, of any dataset; 0 if there is none.
    package let lastSequence: Int64
}

/// A change that was made here and is not in the applied version.
package struct TrackedChange: Sendable, Hashable {
    package let key: EntityKey
    package let instant: Instant
    package let isDeletion: Bool
    /// Whether the row is there and its own timestamp is not the change's instant.
    package let isStamped: Bool
    /// Whether the applied version has the key; nil if that is not known.
    package let isInVersion: Bool?
    /// Whether the applied version may lack the key.
    package var isNew: Bool { isInVersion != true }
    /// Whether at most columns were changed that a message changes by themselves, as a read mark.
    package let isMark: Bool
    /// Whether nothing was edited, and the row has values in columns that the version does not describe.
    package let isCarried: Bool
    /// The instant of the version's entity or tombstone that the change was made on; nil where there was none, or where
    /// that is not known. A version's edit that is later than this was made by somebody who had not seen this change, nor this one that.
    package let base: Instant?

    /// What `isMark` says of a carried change. An edit on top of it says 0.
    static let carriedMark: Int64 = 2

    static let columns = "key, at, state, isNew, isMark, base"

    /// Reads ``columns``.
    init?(_ row: KeyedStatement) {
        guard let key = row.key(0) else { return nil }
        self.key = key
        instant = row.instant(1)
        isDeletion = row.integer(2) == Int64(TrackedState.deleted.rawValue)
        isStamped = row.integer(2) == Int64(TrackedState.stamped.rawValue)
        let origin = TrackedOrigin(rawValue: row.integer(3)) ?? .unknown
        isInVersion = origin == .unknown ? nil : origin == .inVersion
        isMark = row.integer(4) == 1
        isCarried = row.integer(4) == Self.carriedMark
        base = row.isNull(5) ? nil : row.instant(5)
    }
}
