package import SnapshotModel
package import StrictText

/// What decides which of two rows keeps a UNIQUE value: the later instant, of equal ones the greater key.
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
    /// This instant, or the first one that a tombstone can name: a row may have none at all.
    package var forTombstone: Instant { max(self, Instant(microseconds: -62_135_596_800_000_000)) }
}

extension LocalTransaction {
    /// Takes a row out of its table that had to give way, and tracks its deletion with the row's own instant: any later edit of the same
    /// row, by whomever, wins over that.
    package func displaceRow(_ key: EntityKey, of schema: DatasetSchema, at instant: Instant) throws {
        _ = try rows.deleteEntity(key, of: schema)
        try trackChange(of: key, in: schema, at: instant.forTombstone, isKept: true)
    }
}
