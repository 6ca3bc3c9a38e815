package import SnapshotModel
package import StrictText

/// The rank that decides which of two rows keeps a UNIQUE value: the later instant wins, then the greater key.
package struct RowRank: Comparable, Hashable, Sendable {
    package let instant: Instant
    package let key: EntityKey

    package init(_ instant: Instant, _ key: EntityKey) {
        self.instant = instant
        self.key = key
    }

    package static func < (one: RowRank, other: RowRank) -> Bool { (one.instant, one.key) < (other.instant, other.key) }
}

extension Instant {
    /// This instant, or the earliest instant that a tombstone can have; a row may have no instant at all.
    package var forTombstone: Instant { max(self, Instant(microseconds: -62_135_596_800_000_000)) }
}
