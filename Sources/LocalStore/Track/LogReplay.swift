import GRDB
import SnapshotModel
import StrictText

/// Reads the log entries of one dataset in order and computes the instant of each row as consolidation does, but in memory, without writing
/// `snapsync_changes`.
struct LogReplay {
    /// How many rows one pass over the log covers.
    private static let passSize = 690_000

    private let transaction: LocalTransaction
    private let schema: DatasetSchema
    private let id: Int64
    private let entries: KeyedStatement
    private let unit: TimestampUnit?
    /// The most rows that may be exceptions.
    private let limit: Int
    /// The query of the instant that the applied version records for a key; nil if it records none.
    private let published: KeyedStatement?
    /// The latest of those recorded instants.
    private let latestPublished: Int64
    /// The time of the applied version in microseconds; nil if no version has had the dataset yet.
    private let version: Int64?

    init(_ transaction: LocalTransaction, _ schema: DatasetSchema, id: Int64, limit: Int) throws {
        self.transaction = transaction
        self.schema = schema
        self.id = id
        self.limit = limit
        unit = schema.timestampUnit
        let key = schema.keySQL.unlogged("key")
        entries = try KeyedStatement(
            transaction.db,
            "SELECT seq, \(key), clock, stamp, seen, kind FROM snapsync_log WHERE dataset = ? AND key IS NOT NULL\(schema.hasSimpleKey ? "" : " AND \(key) IS NOT NULL") ORDER BY seq"
        )
        let tables = [LocalTable.instants.name, LocalTable.tombstones.name]
        let latest = try tables.compactMap {
            try KeyedStatement(transaction.db, "SELECT max(at) FROM \($0) WHERE dataset = ?").bind(.integer(id)).integer()
        }.max()
        latestPublished = latest ?? .min
        published =
            latest == nil
            ? nil
            : try KeyedStatement(
                transaction.db, "SELECT coalesce(\(tables.map { "(SELECT at FROM \($0) WHERE dataset = ?1 AND key = ?2)" }.joined(separator: ", ")))")
        version = try transaction.datasetStates.versionTime(of: schema)?.microseconds
    }

    /// - Returns: nil if the log does not say enough to compute the instants.
    func run(rowCount: Int, last: Int64) throws -> RewrittenTable? {
        let passCount = (rowCount + Self.passSize - 1) / Self.passSize
        let table = InstantTable(slotCount: Self.slotCount(for: rowCount / passCount))
        var latest = Int64.min
        var plainCount = 0
        var exceptions: [InstantTable.Hash: Int64] = [:]
        var common: CommonInstant?
        for pass in 0..<passCount {
            table.clear()
            guard try replay(pass, of: passCount, into: table) else { return nil }
            latest = max(latest, table.latest)
            // Keys fall into passes at random, so the first pass shows whether the rows were written by a statement that left their timestamps
            // alone.
            if pass == 0, table.count - table.plainCount > limit { common = CommonInstant(at: table.mostCommonException()) }
            if common != nil {
                guard try compare(pass, of: passCount, with: table, &common!) else { return nil }
                continue
            }
            plainCount += table.plainCount
            guard table.count - table.plainCount + exceptions.count <= limit else { return nil }
            table.forEachException { exceptions[$0] = $1 }
        }
        let at = Instant(microseconds: latest)
        if let common {
            guard common.count + common.instants.count == rowCount, let gone = try resolve(common.gone, table), gone.presentCount == 0 else { return nil }
            return RewrittenTable(
                sequence: last, latest: at, rowCount: rowCount, common: Instant(microseconds: common.at),
                instants: common.instants.sorted { $0.key < $1.key }, deletions: gone.deletions)
        }
        guard plainCount <= rowCount, plainCount + exceptions.count >= rowCount else { return nil }
        guard let found = try resolve(exceptions, table), plainCount + found.presentCount == rowCount else { return nil }
        return RewrittenTable(sequence: last, latest: at, rowCount: rowCount, common: nil, instants: found.instants, deletions: found.deletions)
    }

    /// The instant of nearly all rows, and the exceptions.
    private struct CommonInstant {
        let at: Int64
        /// How many rows have it.
        var count = 0
        /// The rows with another instant; nil stands for the row's own timestamp.
        var instants: [(key: EntityKey, at: Instant?)] = []
        /// The instants of deletions.
        var gone: [InstantTable.Hash: Int64] = [:]

        init(at: Int64) { self.at = at }
    }

    /// Goes through the table's rows, because an entry without a timestamp does not say whether its row still exists.
    ///
    /// - Returns: false if a row has no entry, or if there are too many exceptions.
    private func compare(_ pass: Int, of passCount: Int, with table: InstantTable, _ common: inout CommonInstant) throws -> Bool {
        let key = schema.keySQL, name = schema.table.sqlIdentifier
        let keys = try KeyedStatement(transaction.db, "SELECT \(key.value(of: "t")) FROM \(name) t WHERE \(key.isNotNull("t")) ORDER BY \(key.list())").bind()
        defer { keys.end() }
        while try keys.step() {
            guard let hash = table.hash(keys, 0) else { return false }
            guard passCount == 1 || Int(hash.high % UInt64(passCount)) == pass else { continue }
            guard let slot = table.slot(of: hash), table.isUsed(slot) else { return false }
            table.setPresent(slot)
            if !table.isPlain(slot), table.at(slot) == common.at {
                common.count += 1
                continue
            }
            guard common.instants.count < limit, let key = keys.key(0), schema.keyShape.holds(key) else { return false }
            let at = table.at(slot)
            common.instants.append((key, try table.isPlain(slot) || isOwn(at, of: key) ? nil : Instant(microseconds: at)))
        }
        table.forEachAbsent { common.gone[$0] = $1 }
        return common.gone.count + common.instants.count <= limit
    }

    /// Whether a row's own timestamp equals an instant.
    private func isOwn(_ at: Int64, of key: EntityKey) throws -> Bool {
        try KeyedStatement(transaction.db, "SELECT \(schema.ownInstantSQL) FROM \(schema.table.sqlIdentifier) t WHERE \(schema.keySQL.matches("t", "?1"))")
            .bind(.key(key)).integer() == at
    }

    /// The number of slots for `count` keys, at least half as many again: keys fall into passes at random, and a third of the slots should stay
    /// empty.
    private static func slotCount(for count: Int) -> Int {
        var slots = 1 << 10
        while slots < count + count / 2 { slots *= 2 }
        return slots
    }

    /// Replays the entries of the keys of one pass. Returns false at an entry that cannot be replayed.
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
                // The earlier change is later than the clock. Only the messages that were sent decide its instant.
                guard before < clock + 1000 else { return false }
                at = max(at, ChangeLog.next(before))
            } else {
                let old = replacedInstant(isInsert: isInsert, under: under, clock: clock)
                // If the wanted instant is later than everything that was published, the lookup for this key is unnecessary.
                if wanted <= max(latestPublished, old ?? .min), let seen = try publishedInstant() ?? old { at = max(at, ChangeLog.next(seen)) }
            }
            // An entry without a timestamp does not say whether the row still exists, nor which timestamp it has.
            table.set(slot, hash, at: at, isPlain: own == at)
        }
        return true
    }

    /// The instant that the applied version records for the key of the current entry; nil if the version relies on the row's own timestamp.
    private func publishedInstant() throws -> Int64? { try published?.bind(.integer(id), .column(1, of: entries)).integer() }

    /// The timestamp of the row that the first change of a key replaces, in microseconds, limited to what a version can have said.
    private func replacedInstant(isInsert: Bool, under: LoggedStamp?, clock: Int64) -> Int64? {
        guard let version else { return nil }
        let old = isInsert ? nil : ChangeLog.seen(entries.timestamp(4), unit)
        return [old, under?.instant(unit)].compactMap { $0?.microseconds }.max().map { min($0, max(version, clock)) }
    }

    /// Finds the keys of the exceptions, and whether their rows still exist.
    private func resolve(_ exceptions: [InstantTable.Hash: Int64], _ table: InstantTable) throws -> (
        instants: [(key: EntityKey, at: Instant?)], deletions: [(EntityKey, Instant)], presentCount: Int
    )? {
        guard !exceptions.isEmpty else { return ([], [], 0) }
        var waiting = exceptions
        var instants: [(key: EntityKey, at: Instant?)] = []
        var deletions: [(key: EntityKey, at: Instant)] = []
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
