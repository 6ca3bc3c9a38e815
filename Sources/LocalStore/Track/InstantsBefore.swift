import GRDB
import SnapshotModel
import StrictText

/// Finds, for one log entry after another, the instants that its change must be later than.
///
/// Used while the log entries of one dataset are consolidated, in one transaction.
struct InstantsBefore {
    /// What an entry's change replaces, in microseconds.
    struct Known {
        /// Whether the key has a tracked change already.
        var isTracked = false
        /// The published instant.
        var seen: Int64?
        /// The instant of an unpublished change, if it counts.
        var own: Int64?
        /// The instant of a message about the key that was sent, if it lies in the future.
        var sent: Int64?
    }

    private let id: Int64
    private let known: KeyedStatement
    /// Nil where nothing was ever sent.
    private let sent: KeyedStatement?
    /// The time of the applied version in microseconds; nil where the dataset was never in one.
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
                WHERE dataset = ? AND key = ? AND seq <= ? AND id IS NOT NULL AND (filed = 1 OR state = 'applied')
                """) : nil
        version = try transaction.datasetStates.versionTime(of: schema)?.microseconds
    }

    /// Looks up what an entry's change replaces.
    ///
    /// - Parameters:
    ///   - note: a statement whose present row is the entry, with the key in column 1.
    ///   - old: the timestamp of the row that the statement found, in microseconds.
    ///   - clock: when the statement ran: whole milliseconds, given in microseconds.
    func look(_ note: KeyedStatement, replacing old: Int64?, clock: Int64) throws -> Known {
        guard try known.bind(.integer(id), .column(1, of: note)).step() else { return Known() }
        defer { known.end() }
        let published = known.isNull(2) ? nil : known.integer(2)
        guard !known.isNull(0) else { return Known(seen: published ?? readable(old, clock)) }
        let own = known.integer(0)
        let seen = [known.isNull(1) ? nil : known.integer(1), published].compactMap { $0 }.max()
        // The log has clocks in whole milliseconds; of several statements in the same millisecond the later one is 1 us later.
        if own < clock + 1000 { return Known(isTracked: true, seen: seen, own: own) }
        // What was sent may be published by now, whatever clock it came from, but for what no publisher takes. Later changes of the key,
        // which were not sent, may lie between.
        let told = try latestSent(note, clock)
        return Known(isTracked: true, seen: seen, own: told, sent: told)
    }

    /// The latest instant that a message about the entry's key was sent with, if a publisher takes it: no more than a day after the clock.
    private func latestSent(_ note: KeyedStatement, _ clock: Int64) throws -> Int64? {
        guard let latest = try sent?.bind(.integer(id), .column(1, of: note), .column(3, of: known)).integer() else { return nil }
        return latest <= clock + 86_400_000_000 ? latest : nil
    }

    /// A row's own timestamp is its published instant unless the version says otherwise, and no version says a later one than its own time.
    private func readable(_ old: Int64?, _ clock: Int64) -> Int64? {
        guard let version, let old else { return nil }
        return min(old, max(version, clock))
    }
}
