import GRDB
import SnapshotModel
import StrictText

/// Decodes the log entries of one dataset, a part of the log at a time, on any connection and thread.
struct LogReader: Sendable {
    /// What a replay needs of an entry.
    struct Entry {
        let sequence: Int64
        let kind: Int64
        let hash: KeyHasher.Hash
        /// When the statement ran, in microseconds.
        let clock: Int64
        /// The instant of the row's own timestamp after the statement, in microseconds; nil if the statement did not change it.
        let own: Int64?
        /// The instant of the row's timestamp before the statement, in microseconds; nil for an insertion.
        let seen: Int64?
    }

    /// The entries of a part of the log, in order.
    struct Part: Sendable {
        fileprivate(set) var entries: [Entry] = []
        /// The timestamps of rows that were overwritten, and of the rows that overwrote them, in the order of their entries.
        fileprivate(set) var stamps: [(position: Int, stamp: LoggedStamp)] = []
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
            SELECT seq, \(key), clock, stamp, seen, kind FROM snapsync_log WHERE dataset = ? AND seq BETWEEN ? AND ? AND key IS NOT NULL\(isKey) ORDER BY seq
            """
    }

    /// Prepares reading on a connection. The column after the sequence number is the key.
    func statement(_ db: Database) throws -> KeyedStatement { try KeyedStatement(db, sql) }

    /// Restarts the statement for the entries with these sequence numbers.
    func bind(_ statement: KeyedStatement, to sequences: ClosedRange<Int64>) throws {
        try statement.bind(.integer(id), .integer(sequences.lowerBound), .integer(sequences.upperBound))
    }

    /// Decodes the entries with these sequence numbers whose keys satisfy a condition, and every entry that names an overwritten row.
    ///
    /// - Returns: nil if an entry has no key.
    func part(_ statement: KeyedStatement, _ sequences: ClosedRange<Int64>, where isWanted: (KeyHasher.Hash) -> Bool) throws -> Part? {
        try bind(statement, to: sequences)
        defer { statement.end() }
        var part = Part()
        part.entries.reserveCapacity(1 << 12)
        var overwritten: KeyHasher.Hash?
        while try statement.step() {
            guard let hash = hasher.hash(statement, 1) else { return nil }
            let kind = statement.integer(5), isOverwritten = kind == LogEntryKind.overwritten.rawValue
            guard isOverwritten || isWanted(hash) else { continue }
            let isInsert = kind == LogEntryKind.inserted.rawValue
            if isOverwritten { overwritten = hash }
            if isOverwritten || isInsert && hash == overwritten, let stamp = LoggedStamp(statement.timestamp(isOverwritten ? 4 : 3)) {
                part.stamps.append((part.entries.count, stamp))
            }
            part.entries.append(
                Entry(
                    sequence: statement.integer(0), kind: kind, hash: hash, clock: statement.integer(2) * 1000,
                    own: isOverwritten ? nil : RowInstant.instant(of: statement.timestamp(3), unit)?.microseconds,
                    seen: isOverwritten || isInsert ? nil : ChangeLog.seen(statement.timestamp(4), unit)?.microseconds))
        }
        return part
    }
}
