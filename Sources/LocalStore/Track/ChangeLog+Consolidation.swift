import GRDB
package import SnapshotModel
import StrictText

// Consolidation: runs turn log entries into tracked changes.
extension ChangeLog {
    /// Whether the log has entries of these datasets that ``consolidate(of:)`` has not processed.
    package func hasEntries(_ schemas: [DatasetSchema]) throws -> Bool {
        try schemas.contains { schema in try trackingID(schema).map { try hasEntries(of: $0) } ?? false }
    }

    /// Whether log entries of a dataset wait. The log has no index but its numbers, so that may read all of it.
    private func hasEntries(of id: Int64) throws -> Bool {
        try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM snapsync_log WHERE dataset = ?)").bind(.integer(id)).integer() == 1
    }

    /// Whether an entry has a clock later than `now`. Reads the whole log.
    func hasEntry(after now: Instant) throws -> Bool {
        let late = "SELECT EXISTS (SELECT 1 FROM snapsync_log WHERE dataset > 0 AND clock > ? AND kind <> \(LogEntryKind.overwritten))"
        return try KeyedStatement(db, late).bind(.integer(now.microseconds / 1000)).integer() == 1
    }

    /// Turns log entries into tracked changes and fixes each change's instant. Later runs do not compute it again.
    ///
    /// The instant is max(min(u, clock), seen + 1 us, own + 1 us):
    ///
    /// - u is the row's timestamp if the statement changed it, else the clock;
    /// - *seen* is the published instant of the entity or tombstone that the change replaced on this device;
    /// - *own* is the instant of an unpublished change that it replaced, unless that instant is later than the clock.
    ///
    /// Source: docs/sync.md, "Instants and clocks".
    package func consolidate(of schemas: [DatasetSchema]) throws {
        let last = try lastEntry()
        var consolidated: [Int64] = []
        for schema in schemas {
            guard let id = try trackingID(schema) else { continue }
            let hasEntries = try hasEntries(of: id)
            if hasEntries { try track(schema, id: id, upTo: last) }
            try review(schema, id: id)
            if hasEntries { consolidated.append(id) }
        }
        // Where only other datasets have entries, nothing but the last entry of no dataset is there to be removed.
        let second = try KeyedStatement(db, "SELECT dataset FROM snapsync_log WHERE seq > 0 ORDER BY seq LIMIT 1 OFFSET 1").integer()
        if consolidated.isEmpty, second == nil || second != ReservedDataset.none.rawValue { return }
        try removeEntries(of: consolidated, upTo: last)
    }

    /// Turns the log entries of a dataset up to a sequence number into tracked changes. Later entries stay in the log.
    package func consolidate(of schema: DatasetSchema, upTo sequence: Int64) throws {
        guard let id = try trackingID(schema), try hasEntries(of: id) else { return }
        try track(schema, id: id, upTo: sequence)
        try review(schema, id: id)
        try removeEntries(of: [id], upTo: sequence)
    }

    /// Deletes the log entries of datasets up to a sequence number.
    func removeEntries(of ids: [Int64], upTo sequence: Int64) throws {
        let those = "dataset IN (\((ids + [ReservedDataset.none.rawValue]).map(String.init).joined(separator: ", ")))"
        let last = try lastEntry()
        if try last == sequence && hasNoOthers(than: ids) {
            // Without a condition, SQLite frees the pages without reading the rows.
            try db.execute(sql: "DELETE FROM snapsync_log")
        } else {
            try db.execute(sql: "DELETE FROM snapsync_log WHERE \(those) AND seq <= ?", arguments: [sequence])
        }
        // Sequence numbers are never reused. The last one stays in the table, as an entry of no dataset.
        if last > 0 { try db.execute(sql: "INSERT OR IGNORE INTO snapsync_log(seq, dataset, kind, clock) VALUES(?, 0, 0, 0)", arguments: [last]) }
    }

    /// Whether the log has entries of these datasets, of none, and of those that are tracked no longer alone.
    private func hasNoOthers(than ids: [Int64]) throws -> Bool {
        let tracked = try Int64.fetchAll(db, sql: "SELECT id FROM snapsync_tracking")
        guard try tracked.allSatisfy({ try ids.contains($0) || !hasEntries(of: $0) }) else { return false }
        return try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM snapsync_log WHERE seq = 0)").integer() == 0
    }

    private func track(_ schema: DatasetSchema, id: Int64, upTo last: Int64) throws {
        let table = schema.table.sqlIdentifier, key = schema.keySQL
        // With rows in key order, SQLite fills the pages of `snapsync_changes` one after another. Entries of kind 3 need the log's order instead:
        // each belongs to the next entry of the log.
        let isOrdered =
            try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM snapsync_log WHERE dataset = ? AND kind = \(LogEntryKind.overwritten))")
            .bind(.integer(id)).integer() == 1
        // An entry of kind 1 counts only if REPLACE did remove the row, and if the row is there again only for what it says of the version. An entry
        // of kind 3 says what the next entry of the same key replaced.
        let notes = try KeyedStatement(
            db,
            """
            SELECT seq, \(key.unlogged("key")), clock, stamp, seen, kind,
                kind = \(LogEntryKind.mayBeReplaced) AND EXISTS (SELECT 1 FROM \(table) t WHERE \(key.matches("t", key.unlogged("l.key"))))
            FROM snapsync_log l WHERE dataset = ? AND seq <= ? AND key IS NOT NULL\(schema.hasSimpleKey ? "" : " AND \(key.unlogged("key")) IS NOT NULL")
            ORDER BY \(isOrdered ? "seq" : "2, seq")
            """)
        let before = try InstantsBefore(transaction, schema, id: id)
        // The first entry of a key says whether the version has the entity. If an insert follows an entry of an update, either the row was
        // deleted before, or a trigger of the application changed the row before our trigger ran. The log does not distinguish the two.
        let save = try KeyedStatement(
            db,
            """
            INSERT INTO snapsync_changes(dataset, key, at, seq, state, isNew, isMark, base) VALUES(?1, ?2, ?3, ?4, 0, ?5, ?6, ?7)
            ON CONFLICT(dataset, key) DO UPDATE SET at = excluded.at, seq = excluded.seq, state = \(TrackedState.plain), wins = \(MergeDecision.undecided), isNew = max(isNew, min(excluded.isNew, 1)),
                isMark = min(isMark, excluded.isMark), base = CASE WHEN ?8 THEN excluded.base ELSE ifnull(max(base, excluded.base), base) END
            """)
        try notes.bind(.integer(id), .integer(last))
        let unit = schema.timestampUnit
        var replaced: (key: EntityKey?, stamp: LoggedStamp)?
        // Of rows that are there: what the rows had that REPLACE may have removed before. An ignored insert leaves such entries, too.
        var removed: [EntityKey: Int64?] = [:]
        var overwritten = InsertOriginClassifier(isNoted: ChangeTriggers.notesOverwritten(schema))
        while try notes.step() {
            let key = notes.key(1), kind = notes.integer(5)
            if notes.integer(6) == 1 {
                if let key, removed.count < Self.removedLimit { removed.updateValue(Self.seen(notes.timestamp(4), unit)?.microseconds, forKey: key) }
                continue
            }
            if kind == 3 {
                overwritten.add(key)
                replaced = LoggedStamp(notes.timestamp(4)).map { (key, $0) }
                continue
            }
            var origin = overwritten.origin(of: key, kind: kind)
            let gone = kind == 2 ? key.flatMap { removed.removeValue(forKey: $0) } : nil
            if gone != nil { origin = .inVersion }
            var under: LoggedStamp?
            if let one = replaced, one.key == key { (under, replaced) = (one.stamp, nil) }
            let clock = notes.integer(2) * 1000
            // If REPLACE repeats the timestamp of the row that it replaces, the statement did not change the timestamp.
            let repeats = kind == 2 && under != nil && LoggedStamp(notes.timestamp(3)) == under
            let stamp = repeats ? clock : RowInstant.instant(of: notes.timestamp(3), unit)?.microseconds ?? clock
            // An insert, or an update that changes the key, replaces the row that was stored under the new key, not the row that had another key
            // before.
            // If REPLACE removed a row of the version under this key, the insert replaces that one.
            let found = kind == 2 ? gone.flatMap(\.self) : Self.seen(notes.timestamp(4), unit)?.microseconds
            let old = [found, under?.instant(unit)?.microseconds].compactMap(\.self).max()
            let known = try before.look(notes, replacing: old, clock: clock)
            let at = max(min(stamp, clock), known.seen.map(Self.next) ?? .min, known.own.map(Self.next) ?? .min)
            // The base comes from the key's first entry: it is the instant of the row that was stored before. A change that a rule made was nobody's:
            // what replaces it has what is published as its base.
            let base = known.isOfRule ? known.seen : known.isTracked ? known.sent : known.seen ?? (origin == .inVersion ? .min : nil)
            try save.bind(
                .integer(id), .column(1, of: notes), .integer(at), .column(0, of: notes), .integer(origin.rawValue), .integer(kind == 5 ? 1 : 0),
                base.map { .integer($0) } ?? .null, .integer(known.isOfRule ? 1 : 0)
            ).run()
        }
    }

    /// How many rows that REPLACE may have removed are remembered.
    private static let removedLimit = 65_536

    /// The published instant that an entry says its change replaced. Triggers write the row's own timestamp, the toolkit writes RFC 3339 text.
    static func seen(_ value: ColumnValue, _ unit: TimestampUnit?) -> Instant? {
        RowInstant.instant(of: value, unit) ?? RowInstant.instant(of: value, nil)
    }

    static func next(_ microseconds: Int64) -> Int64 { Instant(microseconds: microseconds).advanced(byMicroseconds: 1).microseconds }

    /// Compares the tracked changes with the rows as they are now.
    private func review(_ schema: DatasetSchema, id: Int64) throws {
        guard try KeyedStatement(db, "SELECT 1 FROM snapsync_changes WHERE dataset = ? LIMIT 1").bind(.integer(id)).integer() != nil else { return }
        try classify(schema, id: id)
        try forgetMisfits(schema, id: id)
    }

    /// Deletes tracked deletions whose keys no version can contain, because the key is of another type or too long: a tombstone could not name
    /// such a key. While such a row exists its change stays tracked, and the export reports the row.
    private func forgetMisfits(_ schema: DatasetSchema, id: Int64) throws {
        let deleted = "dataset = ? AND state = \(TrackedState.deleted)"
        guard !schema.hasSimpleKey else {
            let fits = schema.keyShape.isText ? "typeof(key) = 'text' AND length(CAST(key AS BLOB)) <= \(KeyShape.byteLimit)" : "typeof(key) = 'integer'"
            return try db.execute(sql: "DELETE FROM snapsync_changes WHERE \(deleted) AND NOT (\(fits))", arguments: [id])
        }
        let rows = try KeyedStatement(db, "SELECT key FROM snapsync_changes WHERE \(deleted)").bind(.integer(id))
        var misfits: [[UInt8]] = []
        while try rows.step() {
            guard let bytes = rows.encodedKey(0), !schema.keyShape.holds(.encoded(bytes)) else { continue }
            misfits.append(bytes)
        }
        for bytes in misfits {
            try KeyedStatement(db, "DELETE FROM snapsync_changes WHERE dataset = ? AND key = ?").bind(.integer(id), .key(.encoded(bytes))).run()
        }
    }

    /// Marks each change as a deletion if its row is gone, else as an edit.
    private func classify(_ schema: DatasetSchema, id: Int64) throws {
        let table = schema.table.sqlIdentifier, key = schema.keySQL
        let stamp = schema.ownInstantSQL
        try db.execute(
            sql: """
                UPDATE snapsync_changes AS c SET state = coalesce(
                    (SELECT CASE WHEN \(stamp) IS c.at OR c.at = \(Int64.min) THEN 0 ELSE 1 END FROM \(table) t WHERE \(key.matches("t", "c.key"))), 2) WHERE dataset = ?
                """, arguments: [id])
    }
}

/// A row's timestamp as a log entry stores it.
enum LoggedStamp: Hashable {
    case text([UInt8])
    case integer(Int64)
    case real(Double)

    /// Nil for NULL.
    init?(_ value: ColumnValue) {
        switch value {
        case .text(let bytes): self = .text(Array(bytes))
        case .integer(let integer): self = .integer(integer)
        case .real(let real): self = .real(real)
        default: return nil
        }
    }

    func instant(_ unit: TimestampUnit?) -> Instant? {
        switch self {
        case .text(let bytes): bytes.withUnsafeBytes { RowInstant.instant(of: .text($0), unit) }
        case .integer(let integer): RowInstant.instant(of: .integer(integer), unit)
        case .real(let real): RowInstant.instant(of: .real(real), unit)
        }
    }
}
