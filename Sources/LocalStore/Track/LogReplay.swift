import GRDB
import LocalTables
import Platform
import SnapshotModel
import StrictText

/// Reads the log entries of one dataset in order and computes the instant of each row as consolidation does, but in memory, without writing
/// `snapsync_changes`.
struct LogReplay {
    /// How many rows one pass over the log covers.
    private static let passSize = 1_100_000

    private let transaction: LocalTransaction
    private let schema: DatasetSchema
    private let id: Int64
    /// The sequence numbers of the log's parts.
    private let parts: [ClosedRange<Int64>]
    private let reader: LogReader
    private let entries: KeyedStatement
    private let ahead: ReadSession?
    private let groups: ColumnGroups
    private let columnSets = ColumnSets()
    /// The most rows that may be exceptions.
    private let limit: Int
    /// The query of the instant that the applied version records for the key of an entry; nil if it records none.
    private let published: KeyedStatement?
    /// The latest of those recorded instants.
    private let latestPublished: Int64
    /// The time of the applied version in microseconds; nil if no version has had the dataset yet.
    private let version: Int64?

    /// - Parameters:
    ///   - parts: the sequence numbers of the log's parts, in order.
    ///   - limit: the most rows that may be exceptions.
    ///   - ahead: a connection on which another thread decodes parts ahead; nil to do without.
    init(
        _ transaction: LocalTransaction, _ schema: DatasetSchema, id: Int64, in parts: [ClosedRange<Int64>], limit: Int, ahead: ReadSession?
    ) throws {
        self.transaction = transaction
        self.schema = schema
        self.id = id
        self.limit = limit
        self.ahead = ahead
        self.parts = parts
        groups = try ColumnGroups(transaction.db, schema)
        reader = LogReader(schema, id: id)
        entries = try reader.statement(transaction.db)
        let tables = [LocalTable.instants.name, LocalTable.tombstones.name]
        let latest = try tables.compactMap {
            try KeyedStatement(transaction.db, "SELECT max(at) FROM \($0) WHERE dataset = ?").bind(.integer(id)).integer()
        }.max()
        latestPublished = latest ?? .min
        let key = "(SELECT \(schema.keySQL.unlogged("key")) FROM snapsync_log WHERE seq = ?2)"
        published =
            latest == nil
            ? nil
            : try KeyedStatement(
                transaction.db, "SELECT coalesce(\(tables.map { "(SELECT at FROM \($0) WHERE dataset = ?1 AND key = \(key))" }.joined(separator: ", ")))")
        version = try transaction.datasetStates.versionTime(of: schema)?.microseconds
    }

    /// The ranges of the sequence numbers up to `last`; entries before `first` are in the first one.
    static func parts(from first: Int64, upTo last: Int64, size: Int64) -> [ClosedRange<Int64>] {
        let size = max(size, (last - first) >> 12)
        let ends = stride(from: first + size - 1, to: last, by: Int(size)) + [last]
        return zip([.min] + ends.map { $0 + 1 }, ends).map { $0...$1 }
    }

    /// - Returns: nil if the log does not say enough to compute the instants.
    func run(rowCount: Int) throws -> RewrittenTable? {
        guard let first = parts.first?.lowerBound, let last = parts.last?.upperBound else { return nil }
        let passCount = (rowCount + Self.passSize - 1) / Self.passSize
        var latest = Int64.min
        var plainCount = 0
        var exceptions: [InstantTable.Hash: Int64] = [:]
        var common: CommonInstant?
        // The columns that every row changed; 0 before the first, and those of all if they differ.
        var columns: ColumnSets.Number = 0
        for pass in 0..<passCount {
            let table = InstantTable(for: rowCount / passCount)
            guard try replay(pass, of: passCount, into: table) else { return nil }
            latest = max(latest, table.latest)
            let set = table.commonColumns()
            columns = columns == 0 || columns == set ? set : ColumnSets.all
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
            guard common.count + common.instants.count == rowCount else { return nil }
            guard let gone = try resolve(common.gone, first...last), gone.presentCount == 0 else { return nil }
            return RewrittenTable(
                sequence: last, latest: at, rowCount: rowCount, columns: columnSets[columns], common: Instant(microseconds: common.at),
                instants: common.instants.sorted { $0.key < $1.key }, deletions: gone.deletions)
        }
        guard plainCount <= rowCount, plainCount + exceptions.count >= rowCount else { return nil }
        guard let found = try resolve(exceptions, first...last), plainCount + found.presentCount == rowCount else { return nil }
        return RewrittenTable(
            sequence: last, latest: at, rowCount: rowCount, columns: columnSets[columns], common: nil, instants: found.instants, deletions: found.deletions)
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
            guard let hash = reader.hasher.hash(keys, 0) else { return false }
            guard Self.covers(hash, in: pass, of: passCount) else { continue }
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

    private static func covers(_ hash: KeyHasher.Hash, in pass: Int, of passCount: Int) -> Bool {
        passCount == 1 || Int(hash.high % UInt64(passCount)) == pass
    }

    /// Replays the entries of the keys of one pass. Returns false at an entry that cannot be replayed.
    ///
    /// Decoding takes three times as long as what follows, so the other thread decodes two parts of three.
    private func replay(_ pass: Int, of passCount: Int, into table: InstantTable) throws -> Bool {
        var progress = Progress()
        let isWanted: @Sendable (KeyHasher.Hash) -> Bool = { Self.covers($0, in: pass, of: passCount) }
        guard let ahead else {
            return try parts.allSatisfy { sequences in
                try reader.part(entries, sequences, where: isWanted).map { try apply($0, &progress, to: table) } ?? false
            }
        }
        let queue = OrderedQueue<[LogReader.Entry]?>(window: 4)
        let others = parts.indices.filter { $0 % 3 > 0 }.map { parts[$0] }
        return try BlockingThreads.run(
            1,
            { [reader] _ in
                do {
                    try ahead.withReader(0) { other in
                        let statement = try reader.statement(other.transaction.db)
                        for (number, sequences) in others.enumerated() {
                            guard queue.put(try reader.part(statement, sequences, where: isWanted), at: number) else { return }
                        }
                    }
                } catch {
                    queue.fail(error)
                }
            }
        ) {
            // Where this thread ends early, the other one must not wait for it.
            defer { queue.fail(CancellationError()) }
            return try parts.indices.allSatisfy { number in
                let part = try number % 3 == 0 ? reader.part(entries, parts[number], where: isWanted) : queue.take() ?? nil
                return try part.map { try apply($0, &progress, to: table) } ?? false
            }
        }
    }

    /// What the next entry of a key must know: of the entry before it, and of the row that an insertion finds under its key.
    private struct Progress {
        var last: LogReader.Entry?
        var found: (hash: KeyHasher.Hash, columns: [Int], seen: Int64?)?
    }

    /// Replays the entries of a part. Returns false at an entry that cannot be replayed.
    private func apply(_ part: [LogReader.Entry], _ progress: inout Progress, to table: InstantTable) throws -> Bool {
        for one in part {
            let (hash, entry) = (one.hash, one.entry)
            var changed: [Int]?, stamp = entry.own, old = entry.seen
            let found = progress.found.flatMap { $0.hash == hash ? $0 : nil }
            switch entry.change {
            case .replaced, .compared: return false
            case .found(let columns):
                progress.found = (hash, columns, entry.seen)
                continue
            case .updated(let columns): changed = columns
            case .touched: if found != nil { progress.found = nil }
            case .inserted:
                if let found {
                    changed = found.columns
                    if schema.timestampIndex.map(found.columns.contains) == false { stamp = nil }
                    (old, progress.found) = (found.seen, nil)
                }
            }
            if changed?.isEmpty == true { continue }
            guard let slot = table.slot(of: hash), let set = columnSets.number(of: changed.map(groups.closed)) else { return false }
            let clock = entry.clock, wanted = min(stamp ?? clock, clock)
            var at = wanted, columns = set
            if table.isUsed(slot) {
                let before = table.at(slot)
                guard let union = columnSets.union(table.columns(slot), set) else { return false }
                columns = union
                if let last = progress.last, last.hash == hash, last.entry.isContinued(by: entry) {
                    at = before
                } else {
                    // The earlier change is later than the clock. Only the messages that were sent decide its instant.
                    guard before < clock + 1000 else { return false }
                    at = max(at, ChangeLog.next(before))
                }
            } else {
                let old = replacedInstant(old, clock: clock)
                // If the wanted instant is later than everything that was published, the lookup for this key is unnecessary.
                if wanted <= max(latestPublished, old ?? .min), let seen = try publishedInstant(of: entry) ?? old { at = max(at, ChangeLog.next(seen)) }
            }
            // An entry without a timestamp does not say whether the row still exists, nor which timestamp it has.
            table.set(slot, hash, at: at, columns: columns, isPlain: entry.own == at)
            progress.last = one
        }
        return true
    }

    /// The instant that the applied version records for the key of an entry; nil if the version relies on the row's own timestamp.
    private func publishedInstant(of entry: LogEntry) throws -> Int64? {
        try published?.bind(.integer(id), .integer(entry.sequence)).integer()
    }

    /// The timestamp of the row that the first change of a key replaces, in microseconds, limited to what a version can have said.
    private func replacedInstant(_ seen: Int64?, clock: Int64) -> Int64? {
        guard let version, let seen else { return nil }
        return min(seen, max(version, clock))
    }

    /// Finds the keys of the exceptions, and whether their rows still exist.
    private func resolve(_ exceptions: [InstantTable.Hash: Int64], _ sequences: ClosedRange<Int64>) throws -> (
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
        try reader.bind(entries, to: sequences)
        defer { entries.end() }
        while !waiting.isEmpty, try entries.step() {
            guard let hash = reader.hasher.hash(entries, 1), let at = waiting.removeValue(forKey: hash) else { continue }
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

/// The sets of columns that rows of a table have changed, by number. Not thread-safe.
final class ColumnSets {
    typealias Number = UInt16

    /// The number of the set of all columns. No set has the number 0.
    static let all: Number = 1

    /// Each set in order; nil for all columns.
    private var sets: [[Int]?] = [[], nil]
    private var numbers: [[Int]: Number] = [:]
    private var unions: [UInt32: Number] = [:]
    private var last: (positions: [Int], number: Number) = ([], 0)

    subscript(_ number: Number) -> [Int]? { sets[Int(number)] }

    /// The number of a set of positions in order, nil standing for all columns; nil if there are too many sets.
    func number(of positions: [Int]?) -> Number? {
        guard let positions else { return Self.all }
        if positions == last.positions { return last.number }
        if numbers[positions] == nil {
            guard sets.count <= Number.max else { return nil }
            numbers[positions] = Number(sets.count)
            sets.append(positions)
        }
        guard let number = numbers[positions] else { return nil }
        last = (positions, number)
        return number
    }

    /// The number of the union of two sets; nil if there are too many sets.
    func union(_ one: Number, _ other: Number) -> Number? {
        guard one != other else { return one }
        guard let first = sets[Int(one)], let second = sets[Int(other)] else { return Self.all }
        let pair = UInt32(one) << 16 | UInt32(other)
        if unions[pair] == nil { unions[pair] = number(of: Set(first).union(second).sorted()) }
        return unions[pair]
    }
}

/// Decodes the log entries of one dataset, a part of the log at a time, on any connection and thread.
struct LogReader: Sendable {
    /// What a replay needs of an entry.
    struct Entry {
        let hash: KeyHasher.Hash
        let entry: LogEntry
    }

    let hasher = KeyHasher()
    private let id: Int64
    private let unit: TimestampUnit?
    private let sql: String

    init(_ schema: DatasetSchema, id: Int64) {
        self.id = id
        unit = schema.timestampUnit
        let key = schema.keySQL.unlogged("key"), isKey = schema.keyShape.isSingle ? "" : " AND \(key) IS NOT NULL"
        sql = """
            SELECT seq, \(key), clock, stamp, seen, changed, 1 FROM snapsync_log WHERE dataset = ? AND seq BETWEEN ? AND ? AND key IS NOT NULL\(isKey) ORDER BY seq
            """
    }

    /// Prepares reading on a connection. The column after the sequence number is the key.
    func statement(_ db: Database) throws -> KeyedStatement { try KeyedStatement(db, sql) }

    /// Restarts the statement for the entries with these sequence numbers.
    func bind(_ statement: KeyedStatement, to sequences: ClosedRange<Int64>) throws {
        try statement.bind(.integer(id), .integer(sequences.lowerBound), .integer(sequences.upperBound))
    }

    /// Decodes the entries with these sequence numbers whose keys satisfy a condition.
    ///
    /// - Returns: nil if an entry has no key.
    func part(_ statement: KeyedStatement, _ sequences: ClosedRange<Int64>, where isWanted: (KeyHasher.Hash) -> Bool) throws -> [Entry]? {
        try bind(statement, to: sequences)
        defer { statement.end() }
        var entries: [Entry] = []
        entries.reserveCapacity(1 << 12)
        while try statement.step() {
            guard let hash = hasher.hash(statement, 1) else { return nil }
            if isWanted(hash) { entries.append(Entry(hash: hash, entry: LogEntry(statement, unit))) }
        }
        return entries
    }
}
