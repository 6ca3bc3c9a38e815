import GRDB
import SnapshotModel
import StrictText

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
