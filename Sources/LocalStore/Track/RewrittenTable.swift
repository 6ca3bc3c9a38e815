import GRDB
package import SnapshotModel
package import StrictText

/// What the change log says of a table of which every row was written since the applied version: `DELETE` and `INSERT` of all rows, or an `UPDATE`
/// of every row.
///
///     if let rewritten = try transaction.changeLog.rewrittenTable(of: schema, atLeast: 20_000) { … }
///
/// The instants of such a change follow from the rows' own timestamps, except for a few rows. So the log need not become a tracked change for each
/// row: an export reads all rows, publishes these exceptions beside them, and clears the log. The log itself stays as it is until then, and
/// any other run consolidates it as usual.
package struct RewrittenTable: Sendable {
    /// The most rows whose instants may differ from their timestamps.
    static let exceptionLimit = 20_000

    /// The number of the last log entry that it includes.
    package let sequence: Int64
    /// The latest instant of a change.
    package let latest: Instant
    /// The instants of the rows that have another timestamp, in key order.
    package let instants: [(key: EntityKey, at: Instant)]
    /// The instants of the deletions of the rows that are gone, in key order.
    package let deletions: [(key: EntityKey, at: Instant)]
}

extension ChangeLog {
    /// Finds out whether every row of a dataset's table was written since the applied version, so that an export can do without a tracked change for
    /// each row.
    ///
    /// Computes the same instants as ``consolidate(of:)``, in one pass over the log for each 690,000 rows. Memory: 21 bytes for each row of a pass, at most 22 MB.
    ///
    /// - Parameter count: the number of rows of which fewer are not worth it.
    /// - Returns: nil if a row was not written, if more than a few rows need an instant of their own, or if the log has an entry that only the rows explain.
    package func rewrittenTable(of schema: DatasetSchema, atLeast count: Int) throws -> RewrittenTable? {
        guard let id = try trackingID(schema), schema.timestampIndex != nil, try !hasChanges(of: schema) else { return nil }
        let first = try KeyedStatement(db, "SELECT min(seq) FROM snapsync_log WHERE seq > 0").integer() ?? 0
        let last = try lastEntry()
        guard last - first + 1 >= Int64(count) else { return nil }
        // Triggers of the application may change a row before ours see it: the log then does not have what happened in its order.
        guard try ApplicationTriggers(db).of(schema).isEmpty, try UniqueKey.others(db, schema) != nil else { return nil }
        let rowCount = try transaction.rows.rowCount(of: schema)
        guard rowCount >= count, last - first + 1 >= Int64(rowCount) else { return nil }
        return try LogReplay(transaction, schema, id: id).run(rowCount: rowCount, last: last)
    }

    /// Whether the log is still what ``rewrittenTable(of:atLeast:)`` read: then the rows are as well.
    func isCurrent(_ rewritten: RewrittenTable, of schema: DatasetSchema) throws -> Bool {
        try lastEntry() == rewritten.sequence && hasEntries([schema]) && !hasChanges(of: schema)
    }

    /// Makes a rewritten table part of the applied version, which now has it. What was changed later stays in the log.
    package func acknowledge(_ rewritten: RewrittenTable, of schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        // Another run may have consolidated the log since.
        let keys = """
            SELECT \(schema.keySQL.unlogged("key")) FROM snapsync_log WHERE dataset = :id AND seq <= :seq
            UNION ALL SELECT key FROM snapsync_changes WHERE dataset = :id AND seq <= :seq
            """
        for table in [LocalTable.tombstones.name, LocalTable.instants.name] {
            guard try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM \(table) WHERE dataset = ?)").bind(.integer(id)).integer() == 1 else { continue }
            try db.execute(sql: "DELETE FROM \(table) WHERE dataset = :id AND key IN (\(keys))", arguments: ["id": id, "seq": rewritten.sequence])
        }
        for (key, at) in rewritten.deletions { try transaction.tombstonesAndInstants.setDeleted(key, at: at, in: schema) }
        for (key, at) in rewritten.instants { try transaction.tombstonesAndInstants.setPresent(key, at: at, in: schema) }
        try removeEntries(of: [id], upTo: rewritten.sequence)
        try drop(of: schema, upTo: rewritten.sequence)
    }
}

/// Goes through the log entries of one dataset in their order and computes the instant of each row, as the consolidation does, without a table.
private struct LogReplay {
    /// How many rows one pass over the log is for.
    private static let passSize = 690_000

    private let transaction: LocalTransaction
    private let schema: DatasetSchema
    private let id: Int64
    private let entries: KeyedStatement
    private let unit: TimestampUnit?
    /// The instant that the applied version gives a key; nil where no key has one but by its timestamp.
    private let published: KeyedStatement?
    /// The time of the applied version in microseconds; nil where the dataset was never in one.
    private let version: Int64?

    init(_ transaction: LocalTransaction, _ schema: DatasetSchema, id: Int64) throws {
        self.transaction = transaction
        self.schema = schema
        self.id = id
        unit = schema.timestampUnit
        let key = schema.keySQL.unlogged("key")
        entries = try KeyedStatement(
            transaction.db,
            "SELECT seq, \(key), clock, stamp, seen, kind FROM snapsync_log WHERE dataset = ? AND key IS NOT NULL\(schema.hasSimpleKey ? "" : " AND \(key) IS NOT NULL") ORDER BY seq"
        )
        let tables = [LocalTable.instants.name, LocalTable.tombstones.name]
        let hasPublished = try tables.contains {
            try KeyedStatement(transaction.db, "SELECT EXISTS (SELECT 1 FROM \($0) WHERE dataset = ?)").bind(.integer(id)).integer() == 1
        }
        published =
            !hasPublished
            ? nil
            : try KeyedStatement(
                transaction.db, "SELECT coalesce(\(tables.map { "(SELECT at FROM \($0) WHERE dataset = ?1 AND key = ?2)" }.joined(separator: ", ")))")
        version = try transaction.datasetStates.versionTime(of: schema)?.microseconds
    }

    /// - Returns: nil where the log does not say it.
    func run(rowCount: Int, last: Int64) throws -> RewrittenTable? {
        let passCount = (rowCount + Self.passSize - 1) / Self.passSize
        let table = InstantTable(slotCount: Self.slotCount(for: rowCount / passCount))
        var latest = Int64.min
        var plainCount = 0
        var exceptions: [InstantTable.Hash: Int64] = [:]
        for pass in 0..<passCount {
            table.clear()
            guard try replay(pass, of: passCount, into: table) else { return nil }
            latest = max(latest, table.latest)
            plainCount += table.plainCount
            guard table.count - table.plainCount + exceptions.count <= RewrittenTable.exceptionLimit else { return nil }
            table.forEachException { exceptions[$0] = $1 }
        }
        guard plainCount <= rowCount, plainCount + exceptions.count >= rowCount else { return nil }
        guard let (instants, deletions, presentCount) = try resolve(exceptions, table), plainCount + presentCount == rowCount else { return nil }
        return RewrittenTable(sequence: last, latest: Instant(microseconds: latest), instants: instants, deletions: deletions)
    }

    /// Room for half as many again: keys fall into passes at random, and a third of the slots stays empty.
    private static func slotCount(for count: Int) -> Int {
        var slots = 1 << 10
        while slots < count + count / 2 { slots *= 2 }
        return slots
    }

    /// Replays the entries of the keys of one pass. Returns false for an entry that this cannot replay.
    private func replay(_ pass: Int, of passCount: Int, into table: InstantTable) throws -> Bool {
        try entries.bind(.integer(id))
        defer { entries.end() }
        var replaced: (hash: InstantTable.Hash, stamp: LoggedStamp)?
        while try entries.step() {
            guard let hash = table.hash(entries, 1) else { return false }
            let kind = entries.integer(5)
            if kind == LogEntryKind.overwritten.rawValue {
                replaced = LoggedStamp(entries.timestamp(4)).map { (hash, $0) }
                continue
            }
            guard passCount == 1 || Int(hash.high % UInt64(passCount)) == pass else { continue }
            guard kind != LogEntryKind.mayBeReplaced.rawValue, kind != LogEntryKind.compared.rawValue else { return false }
            var under: LoggedStamp?
            if let found = replaced, found.hash == hash { (under, replaced) = (found.stamp, nil) }
            let clock = entries.integer(2) * 1000, isInsert = kind == LogEntryKind.inserted.rawValue
            let stamp = entries.timestamp(3)
            let own = RowInstant.instant(of: stamp, unit)?.microseconds
            let repeats = isInsert && under != nil && LoggedStamp(stamp) == under
            let wanted = min(repeats ? clock : own ?? clock, clock)
            guard let slot = table.slot(of: hash) else { return false }
            var at = wanted
            if table.isUsed(slot) {
                let before = table.at(slot)
                // A change from the future: what becomes of it depends on messages.
                guard before < clock + 1000 else { return false }
                at = max(at, ChangeLog.next(before))
            } else if let seen = try seen(isInsert: isInsert, under: under, clock: clock) {
                at = max(at, ChangeLog.next(seen))
            }
            // Without a timestamp the entry says not whether the row is still there, nor with which one.
            table.set(slot, hash, at: at, isPlain: own == at)
        }
        return true
    }

    /// The published instant that the first change of a key replaces, in microseconds.
    private func seen(isInsert: Bool, under: LoggedStamp?, clock: Int64) throws -> Int64? {
        if let published, let known = try published.bind(.integer(id), .column(1, of: entries)).integer() { return known }
        guard let version else { return nil }
        let old = isInsert ? nil : ChangeLog.seen(entries.timestamp(4), unit)
        return [old, under?.instant(unit)].compactMap { $0?.microseconds }.max().map { min($0, max(version, clock)) }
    }

    /// Finds the keys of the exceptions, and what became of their rows.
    private func resolve(_ exceptions: [InstantTable.Hash: Int64], _ table: InstantTable) throws -> (
        instants: [(EntityKey, Instant)], deletions: [(EntityKey, Instant)], presentCount: Int
    )? {
        guard !exceptions.isEmpty else { return ([], [], 0) }
        var waiting = exceptions
        var instants: [(key: EntityKey, at: Instant)] = []
        var deletions = instants
        var presentCount = 0
        let row = try KeyedStatement(
            transaction.db,
            "SELECT \(schema.ownInstantSQL) FROM \(schema.table.sqlIdentifier) t WHERE \(schema.keySQL.matches("t", "?1"))")
        try entries.bind(.integer(id))
        defer { entries.end() }
        while !waiting.isEmpty, try entries.step() {
            guard let hash = table.hash(entries, 1), let at = waiting.removeValue(forKey: hash) else { continue }
            guard let key = entries.key(1), schema.keyShape.holds(key) else { return nil }
            let isThere = try row.bind(.key(key)).step()
            defer { row.end() }
            if !isThere {
                deletions.append((key, Instant(microseconds: at)))
            } else {
                presentCount += 1
                if row.isNull(0) || row.integer(0) != at { instants.append((key, Instant(microseconds: at))) }
            }
        }
        return (instants.sorted { $0.key < $1.key }, deletions.sorted { $0.key < $1.key }, presentCount)
    }
}

/// Instants by the hashes of keys: a table of 21 bytes a slot.
///
/// The hash has 96 bits under a seed of the process, so two keys that share one are not to be expected in any number of rows. Used on one thread.
private final class InstantTable {
    struct Hash: Hashable {
        let high: UInt64
        let low: UInt32
    }

    private(set) var count = 0
    private(set) var plainCount = 0
    private(set) var latest = Int64.min
    private let mask: Int
    private let limit: Int
    private let seed = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
    // SAFETY: all four have `mask + 1` elements, and every index is masked.
    private let highs: UnsafeMutablePointer<UInt64>
    private let lows: UnsafeMutablePointer<UInt32>
    private let instants: UnsafeMutablePointer<Int64>
    /// 0 an empty slot, 1 an instant that the row's own timestamp says, 2 another.
    private let states: UnsafeMutablePointer<UInt8>

    init(slotCount: Int) {
        mask = slotCount - 1
        limit = slotCount - slotCount / 8
        highs = .allocate(capacity: slotCount)
        lows = .allocate(capacity: slotCount)
        instants = .allocate(capacity: slotCount)
        states = .allocate(capacity: slotCount)
    }

    deinit {
        highs.deallocate()
        lows.deallocate()
        instants.deallocate()
        states.deallocate()
    }

    func clear() {
        states.initialize(repeating: 0, count: mask + 1)
        (count, plainCount, latest) = (0, 0, .min)
    }

    /// The hash of a key in a column of a statement's row; nil for what is none.
    func hash(_ row: KeyedStatement, _ column: Int32) -> Hash? {
        var (high, low) = seed
        func add(_ word: UInt64) {
            high = (high ^ word) &* 0x9E37_79B9_7F4A_7C15
            high ^= high >> 29
            low = (low &+ word) &* 0xC2B2_AE3D_27D4_EB4F
            low ^= low >> 31
        }
        let isKey = row.withKeyBytes(column) { type, bytes, number in
            add(UInt64(bitPattern: Int64(type)))
            if let number { return add(UInt64(bitPattern: number)) }
            var position = 0
            while position + 8 <= bytes.count {
                add(bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
                position += 8
            }
            var rest = UInt64(bytes.count) << 56
            for (number, byte) in bytes[position...].enumerated() { rest ^= UInt64(byte) << UInt64(8 * number) }
            add(rest)
        }
        guard isKey else { return nil }
        add(high >> 32)
        return Hash(high: high, low: UInt32(truncatingIfNeeded: low >> 32))
    }

    /// The slot of a key, or an empty one for it; nil where the table is full.
    func slot(of hash: Hash) -> Int? {
        var slot = Int(truncatingIfNeeded: hash.high >> 8) & mask
        while states[slot] != 0 {
            if highs[slot] == hash.high, lows[slot] == hash.low { return slot }
            slot = (slot + 1) & mask
        }
        return count < limit ? slot : nil
    }

    func isUsed(_ slot: Int) -> Bool { states[slot] != 0 }

    func at(_ slot: Int) -> Int64 { instants[slot] }

    func set(_ slot: Int, _ hash: Hash, at: Int64, isPlain: Bool) {
        switch states[slot] {
        case 0: count += 1
        case 1: plainCount -= 1
        default: break
        }
        if isPlain { plainCount += 1 }
        highs[slot] = hash.high
        lows[slot] = hash.low
        instants[slot] = at
        states[slot] = isPlain ? 1 : 2
        latest = max(latest, at)
    }

    func forEachException(_ body: (Hash, Int64) -> Void) {
        for slot in 0...mask where states[slot] == 2 { body(Hash(high: highs[slot], low: lows[slot]), instants[slot]) }
    }
}
