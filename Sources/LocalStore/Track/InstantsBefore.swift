import GRDB
import SnapshotModel
import StrictText

/// Looks up, for each log entry, the instants that its change must be later than.
///
/// Used within one transaction, while the log entries of one dataset are consolidated.
struct InstantsBefore {
    /// What an entry's change replaces, in microseconds.
    struct Known {
        /// Whether the key has a tracked change already.
        var isTracked = false
        /// Whether that change was made by a rule, and not by a program.
        var isOfRule = false
        /// The published instant.
        var seen: Int64?
        /// The instant of an unpublished change, if it must be taken into account.
        var own: Int64?
        /// The instant of a message about the key that no version has answered, if that instant is later than the clock.
        var sent: Int64?
    }

    private let id: Int64
    private let known: KeyedStatement
    /// Nil if this database has no mailbox tables.
    private let sent: KeyedStatement?
    /// The time of the applied version in microseconds; nil if no version has had the dataset yet.
    private let version: Int64?

    init(_ transaction: LocalTransaction, _ schema: DatasetSchema, id: Int64) throws {
        self.id = id
        known = try KeyedStatement(
            transaction.db,
            """
            SELECT c.at, c.base, coalesce((SELECT at FROM snapsync_instants WHERE dataset = ?1 AND key = ?2), (SELECT at FROM snapsync_tombstones WHERE dataset = ?1 AND key = ?2)), c.seq
            FROM (SELECT 1) LEFT JOIN snapsync_changes c ON c.dataset = ?1 AND c.key = ?2
            """)
        sent =
            try transaction.mailbox.exist()
            ? KeyedStatement(
                transaction.db,
                """
                SELECT max(snapsync_instant(json_extract(body, '$.timestamp'))) FROM snapsync_outbox
                WHERE dataset = ? AND key = ? AND seq <= ? AND id IS NOT NULL AND filed = 1 AND state IN ('stored', 'sent', 'doubtful')
                """) : nil
        version = try transaction.datasetStates.versionTime(of: schema)?.microseconds
    }

    /// Looks up what an entry's change replaces.
    ///
    /// - Parameters:
    ///   - note: a statement whose current row is the entry, with the key in column 1.
    ///   - old: the timestamp of the row that the statement found, in microseconds.
    ///   - clock: when the statement ran: whole milliseconds, in microseconds.
    func look(_ note: KeyedStatement, replacing old: Int64?, clock: Int64) throws -> Known {
        guard try known.bind(.integer(id), .column(1, of: note)).step() else { return Known() }
        defer { known.end() }
        let published = known.isNull(2) ? nil : known.integer(2)
        guard !known.isNull(0) else { return Known(seen: published ?? readable(old, clock)) }
        let own = known.integer(0)
        // A change that a rule made has its own instant as its base: that one is not published.
        let isOfRule = !known.isNull(1) && known.integer(1) == own
        let seen = [known.isNull(1) || isOfRule ? nil : known.integer(1), published].compactMap { $0 }.max()
        // The log's clocks are whole milliseconds; of several statements within a millisecond, each is 1 us later than the one before.
        if own < clock + 1000 { return Known(isTracked: true, isOfRule: isOfRule, seen: seen, own: own) }
        // Here the tracked change is later than the clock. What was sent may be published by now, whichever clock its instant came from, unless
        // publishers refuse it. Later changes of the key that were not sent may follow it.
        let told = try latestSent(note, clock)
        return Known(isTracked: true, isOfRule: isOfRule, seen: seen, own: told, sent: told)
    }

    /// The latest instant of a sent message about the entry's key, if publishers accept it: at most a day after the clock.
    private func latestSent(_ note: KeyedStatement, _ clock: Int64) throws -> Int64? {
        guard let latest = try sent?.bind(.integer(id), .column(1, of: note), .column(3, of: known)).integer() else { return nil }
        return latest <= clock + 86_400_000_000 ? latest : nil
    }

    /// The published instant of a row without a recorded one: its own timestamp, limited to the version's time, because a version limits later
    /// ones.
    private func readable(_ old: Int64?, _ clock: Int64) -> Int64? {
        guard let version, let old else { return nil }
        return min(old, max(version, clock))
    }
}
