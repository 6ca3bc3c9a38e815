import GRDB
import LocalTables
import SnapshotModel
import StrictText

/// Looks up what the instants of changes must be later than.
///
/// Used within one transaction, while the log entries of one dataset are consolidated.
struct InstantsBefore {
    /// A tracked change of a key.
    struct Tracked {
        let at: Int64
        let base: Int64?
        let sequence: Int64
        let origin: TrackedOrigin
        let columns: ChangedColumns
        let born: Int64?
    }

    /// What is known of a key before its entries are consolidated.
    struct Known {
        fileprivate(set) var tracked: Tracked?
        /// The published instant that the applied version records, in microseconds.
        fileprivate(set) var published: Int64?
        /// The time of the applied version in microseconds; nil if no version has had the dataset yet.
        fileprivate let version: Int64?
    }

    /// What an entry's change replaces, in microseconds.
    struct Replaced {
        /// Whether the change that it replaces was made by a rule, and not by a program.
        var isOfRule = false
        /// The published instant.
        var seen: Int64?
        /// The instant of an unpublished change, or of a held row that was sent and is not tracked, if it must be taken into account.
        var own: Int64?
    }

    private let id: Int64
    private let known: KeyedStatement
    /// Nil if this database never handed over an edit.
    private let sent: KeyedStatement?
    private let version: Int64?

    init(_ transaction: LocalTransaction, _ schema: DatasetSchema, id: Int64) throws {
        self.id = id
        known = try KeyedStatement(
            transaction.db,
            """
            SELECT c.at, c.base, coalesce((SELECT at FROM snapsync_instants WHERE dataset = ?1 AND key = ?2), (SELECT at FROM snapsync_tombstones WHERE dataset = ?1 AND key = ?2)),
                c.seq, c.isNew, c.changed, c.born
            FROM (SELECT 1) LEFT JOIN snapsync_changes c ON c.dataset = ?1 AND c.key = ?2
            """)
        sent =
            try transaction.db.hasTable(LocalTable.sent.name)
            ? KeyedStatement(transaction.db, "SELECT max(at) FROM snapsync_sent WHERE dataset = ? AND key = ? AND seq <= ?") : nil
        version = try transaction.datasetStates.versionTime(of: schema)?.microseconds
    }

    /// Looks up what is known of a key.
    func look(_ key: OwnedValue) throws -> Known {
        var found = Known(version: version)
        guard try known.bind(.integer(id), .value(key)).step() else { return found }
        defer { known.end() }
        func number(_ column: Int32) -> Int64? { known.isNull(column) ? nil : known.integer(column) }
        found.published = number(2)
        if let at = number(0) {
            found.tracked = Tracked(
                at: at, base: number(1), sequence: known.integer(3), origin: TrackedOrigin(rawValue: known.integer(4)) ?? .unknown,
                columns: ChangedColumns(known.text(5), at: Instant(microseconds: at)), born: number(6))
        }
        return found
    }

    /// The instant of the latest edit of a key that was handed over, up to a sequence number.
    func latestSent(_ key: OwnedValue, upTo sequence: Int64) throws -> Int64? {
        try sent?.bind(.integer(id), .value(key), .integer(sequence)).integer()
    }
}

extension InstantsBefore.Known {
    /// What an entry's change replaces.
    ///
    /// - Parameters:
    ///   - tracked: the tracked change, in which earlier entries are included: its instant, base and sequence number.
    ///   - old: the timestamp of the row that the statement found, in microseconds.
    ///   - clock: when the statement ran: whole milliseconds, in microseconds.
    func look(
        _ tracked: (at: Int64, base: Int64?, sequence: Int64)?, replacing old: Int64?, clock: Int64, _ latestSent: (Int64) throws -> Int64?
    ) throws -> InstantsBefore.Replaced {
        guard let (own, base, sequence) = tracked else { return .init(seen: published ?? readable(old, clock), own: try latestSent(.max)) }
        // A change that a rule made has its own instant as its base: that one is not published.
        let isOfRule = base == own
        let seen = [isOfRule ? nil : base, published].compactMap(\.self).max()
        // The log's clocks are whole milliseconds; of several statements within a millisecond, each is 1 us later than the one before.
        if own < max(clock, seen ?? clock) + 1000 { return InstantsBefore.Replaced(isOfRule: isOfRule, seen: seen, own: own) }
        // Here the clock was ahead when the tracked change was made. What was sent may be published by now, whichever clock its instant came from.
        // Later changes of the key that were not sent may follow it.
        let told = try latestSent(sequence)
        return InstantsBefore.Replaced(isOfRule: isOfRule, seen: seen, own: told)
    }

    /// The published instant of a row without a recorded one: its own timestamp, limited to the version's time, because a version limits later
    /// ones.
    private func readable(_ old: Int64?, _ clock: Int64) -> Int64? {
        guard let version, let old else { return nil }
        return min(old, max(version, clock))
    }
}
