import GRDB
import LocalTables
import SnapshotModel
import StrictText

/// Turns the log entries of one dataset into tracked changes, one key after another.
///
/// Used within one transaction.
struct LogConsolidation {
    private let transaction: LocalTransaction
    private let schema: DatasetSchema
    private let id: Int64
    private let groups: ColumnGroups
    private let before: InstantsBefore
    private let save: KeyedStatement

    init(_ transaction: LocalTransaction, _ schema: DatasetSchema, id: Int64) throws {
        self.transaction = transaction
        self.schema = schema
        self.id = id
        groups = try ColumnGroups(transaction.db, schema)
        before = try InstantsBefore(transaction, schema, id: id)
        save = try KeyedStatement(
            transaction.db,
            """
            INSERT OR REPLACE INTO snapsync_changes(dataset, key, at, seq, state, isNew, changed, base, born)
            VALUES(?1, ?2, ?3, ?4, ?9, ?5, ?6, ?7, ?8)
            """)
    }

    func run() throws {
        let table = schema.table.sqlIdentifier, key = schema.keySQL
        // In the order of keys, so that SQLite fills the pages of `snapsync_changes` one after another. An entry about a row that REPLACE may have
        // removed counts only if the row is not there.
        let entries = try KeyedStatement(
            transaction.db,
            """
            SELECT seq, \(key.unlogged("key")), clock, stamp, seen, changed,
                changed IS \(LogEntryKind.mayBeReplaced) AND EXISTS (SELECT 1 FROM \(table) t WHERE \(key.matches("t", key.unlogged("l.key"))))
            FROM snapsync_log l WHERE dataset = ? ORDER BY 2, 1
            """
        ).bind(.integer(id))
        defer { entries.end() }
        var current: (key: OwnedValue, change: PendingChange)?
        var hasKeyless = false
        while try entries.step() {
            let key = entries.value(1)
            guard key != .null else {
                hasKeyless = true
                continue
            }
            if current?.key != key {
                try current.map(end)
                current = (key, PendingChange(try before.look(key)))
            }
            try current?.change.take(LogEntry(entries, schema.timestampUnit), schema.timestampIndex, in: groups) { try before.latestSent(key, upTo: $0) }
        }
        try current.map(end)
        // No version can have a row whose key is NULL. The next export reads all rows, and refuses this one.
        if hasKeyless, try transaction.rows.hasNullKeys(schema) { try transaction.tracking.setIncomplete(of: schema) }
    }

    private func end(_ key: OwnedValue, _ change: PendingChange) throws {
        guard let last = change.last else { return }
        try save.bind(
            .integer(id), .value(key), .integer(change.at), .integer(last.sequence), .integer(change.origin.rawValue), .optional(change.encodedColumns()),
            change.base.map { .integer($0) } ?? .null, change.born.map { .integer($0) } ?? .null,
            // Whether the row is there is looked up later. If it is not, although it was not deleted, something is wrong.
            .integer((change.mayBeGone ? TrackedState.deleted : .plain).rawValue)
        ).run()
    }
}

/// An entry of the log, decoded.
struct LogEntry {
    enum Change: Equatable {
        /// The row was deleted, lost the key, or was removed by REPLACE; or all of it may have changed.
        case touched
        case inserted
        case compared
        /// An update changed these columns.
        case updated([Int])
        /// Before an insertion, there was a row, which differs from the inserted one in these columns.
        case found([Int])
        /// REPLACE has removed the row, but there is one again.
        case replaced
    }

    let sequence: Int64
    let change: Change
    /// When the statement ran, in microseconds.
    let clock: Int64
    /// The instant of the row's own timestamp, in microseconds; nil if the statement did not change it.
    let own: Int64?
    /// The instant of the row's timestamp before, in microseconds.
    let seen: Int64?

    /// Reads the columns seq, key, clock, stamp, seen, changed, and whether the row of a possible REPLACE is there.
    init(_ row: KeyedStatement, _ unit: TimestampUnit?) {
        sequence = row.integer(0)
        clock = row.integer(2) * 1000
        own = RowInstant.instant(of: row.timestamp(3), unit)?.microseconds
        seen = ChangeLog.seen(row.timestamp(4), unit)?.microseconds
        if let mask = row.text(5) {
            change = .found(ChangeTriggers.positions(ofMask: mask))
        } else {
            let changed = row.integer(5)
            change =
                switch LogEntryKind(rawValue: changed) {
                case .inserted: .inserted
                case .compared: .compared
                case .touched: .touched
                case .mayBeReplaced: row.integer(6) == 1 ? .replaced : .touched
                case nil: .updated(ChangeTriggers.positions(of: changed))
                }
        }
    }
}

extension LogEntry {
    /// Whether another entry of the same key may be of the same statement, which changed columns of several groups. They have the same instant.
    func isContinued(by other: LogEntry) -> Bool {
        guard case .updated = change, case .updated = other.change else { return false }
        return sequence + 1 == other.sequence && clock == other.clock && own == other.own
    }
}

/// What the entries of one key make of its tracked change.
private struct PendingChange {
    private let before: InstantsBefore.Known
    private(set) var at: Int64
    private(set) var origin: TrackedOrigin
    private(set) var base: Int64?
    private(set) var born: Int64?
    /// The last entry that counts; nil if no value changed.
    private(set) var last: LogEntry?
    /// Whether an entry says that the row may be gone. An application's trigger that deletes a row as it is inserted is logged before the insertion.
    private(set) var mayBeGone = false
    private var columns: ChangedColumns
    private var isTracked: Bool
    private var sequence: Int64
    /// Whether the entries so far only updated a row of which no change was tracked.
    private var isUpdated = false
    /// The row that the next insertion finds under the key.
    private var found: (columns: [Int], seen: Int64?)?
    /// The timestamp of the row that REPLACE has removed, if there is one again.
    private var removed: Int64??

    init(_ before: InstantsBefore.Known) {
        self.before = before
        isTracked = before.tracked != nil
        at = before.tracked?.at ?? .min
        sequence = before.tracked?.sequence ?? 0
        origin = before.tracked?.origin ?? .unknown
        base = before.tracked?.base
        born = before.tracked?.born
        columns = before.tracked?.columns ?? .some([:])
    }

    func encodedColumns() -> String? { columns.encoded(at: Instant(microseconds: at)) }

    /// - Parameter latestSent: the instant of the latest edit of the key that was handed over, up to a sequence number.
    mutating func take(_ entry: LogEntry, _ timestamp: Int?, in groups: ColumnGroups, latestSent: (Int64) throws -> Int64?) throws {
        var changed: [Int]?, stamp = entry.own, old = entry.seen, origin = TrackedOrigin.inVersion, isNewRow = false
        mayBeGone = mayBeGone || entry.change == .touched || entry.change == .compared
        switch entry.change {
        case .found(let columns):
            found = (columns, entry.seen)
            return
        case .replaced:
            (removed, found) = (.some(entry.seen), nil)
            return
        case .inserted:
            if let found {
                // A row that replaces its like is no edit. If REPLACE repeats the timestamp of the row, the statement did not change it.
                changed = found.columns
                if timestamp.map(found.columns.contains) == false { stamp = nil }
            } else if removed == nil {
                origin = .new
                isNewRow = !isTracked || isUpdated
            }
            old = [removed ?? nil, found?.seen].compactMap(\.self).max()
            (found, removed) = (nil, nil)
        case .updated(let columns): changed = columns
        case .compared: origin = .unknown
        case .touched: (found, removed) = (nil, nil)
        }
        if changed?.isEmpty == true { return }
        if let last, last.isContinued(by: entry) {
            columns.add(changed.map(groups.closed), at: Instant(microseconds: at))
            self.last = entry
            return
        }
        let known = try before.look(isTracked ? (at, base, sequence) : nil, replacing: old, clock: entry.clock, latestSent)
        at = max(min(stamp ?? entry.clock, entry.clock), known.seen.map(ChangeLog.next) ?? .min, known.own.map(ChangeLog.next) ?? .min)
        // The base comes from the key's first entry: it is the instant of the row that was stored before. A change that a rule made was nobody's:
        // what replaces it has what is published as its base.
        if known.isOfRule {
            base = known.seen
        } else if !isTracked || isNewRow && isUpdated {
            base = isNewRow ? before.published : known.seen ?? (origin == .inVersion ? .min : nil)
        }
        // The first entry of a key says whether the version has the entity. If an insertion follows a deletion, a trigger of the application may have
        // deleted the row before our trigger ran. If it follows an update, such a trigger changed the new row.
        if isNewRow {
            (self.origin, born) = (.new, at)
        } else {
            // The clock was ahead at the insertion.
            born = born.map { min($0, at) }
            self.origin = !isTracked ? origin : self.origin == .inVersion && origin != .inVersion ? .unknown : self.origin
        }
        columns.add(changed.map(groups.closed), at: Instant(microseconds: at))
        isUpdated = (isUpdated || !isTracked) && { if case .updated = entry.change { true } else { false } }()
        (isTracked, sequence, last) = (true, entry.sequence, entry)
    }
}
