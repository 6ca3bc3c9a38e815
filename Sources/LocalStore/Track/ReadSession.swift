import GRDB
package import LocalTables
package import SnapshotModel
import StrictText

/// Several connections that read one and the same state of the database.
///
///     let session = try ReadSession(database, readers: 2)
///     try session.withReader(0) { reader in try reader.read(range, of: schema, into: encoder) }
///
/// In WAL mode the connections begin to read while a write transaction locks out other writers for some microseconds; after that no program waits
/// for them. In the rollback-journal modes there is only one reader, because each further one would make an application's commit wait longer.
package final class ReadSession: Sendable {
    /// How many readers there are.
    package let readerCount: Int
    private let queues: [DatabaseQueue]
    private let path: String

    /// Opens up to `readers` connections on one state in which every log entry of these datasets is consolidated, and rows that were inserted and
    /// deleted again since the last version have left nothing.
    ///
    /// - Parameters:
    ///   - schemas: the datasets whose changes are tracked; if empty, nothing is consolidated.
    package init(_ database: LocalDatabase, readers: Int, consolidating schemas: [DatasetSchema] = []) throws {
        path = database.path
        readerCount = try readers > 1 && database.usesWAL() ? readers : 1
        let queues = try Self.open(readerCount, database)
        self.queues = queues
        let isAlone = readerCount == 1
        try Self.settle(database, consolidating: schemas) {
            // No other connection can commit while the lock is held, so all readers begin on the same state.
            guard isAlone else {
                return try database.holdingWriteLock { transaction in
                    guard try Self.isSettled(transaction, schemas) else { return false }
                    try Self.begin(queues)
                    return true
                }
            }
            return try SyncError.translating(at: database.path, .read) {
                try Self.begin(queues)
                let isSettled = try queues[0].inDatabase { try Self.isSettled(LocalTransaction($0, path: database.path), schemas) }
                if !isSettled { Self.end(queues) }
                return isSettled
            }
        }
    }

    /// Consolidates the log until `begin` finds that nothing is left to be consolidated.
    ///
    /// Consolidation is a commit of its own. If a program writes between it and the next look, there is more to consolidate.
    private static func settle(_ database: LocalDatabase, consolidating schemas: [DatasetSchema], _ begin: () throws -> Bool) throws {
        for _ in 0...100 {
            if try begin() { return }
            // An export records in another transaction what it is about to publish.
            try database.write { try $0.changeLog.consolidate(of: schemas) }
        }
        throw SyncError(database: .busy, at: database.path, "programs write without a pause", hint: "try again later")
    }

    /// Whether every entry of the log is consolidated, and no passing row is left.
    private static func isSettled(_ transaction: LocalTransaction, _ schemas: [DatasetSchema]) throws -> Bool {
        try !transaction.changeLog.hasEntries(schemas) && !transaction.changeLog.hasPassing(of: schemas)
    }

    /// Opens up to `readers` connections while the caller is inside a transaction of `database`: a write that has not changed anything yet, or a
    /// read, whose state these connections may be ahead of.
    package init(alongside database: LocalDatabase, readers: Int) throws {
        path = database.path
        readerCount = max(1, readers)
        queues = try Self.open(readerCount, database)
        try Self.begin(queues)
    }

    private static func open(_ count: Int, _ database: LocalDatabase) throws -> [DatabaseQueue] {
        try SyncError.translating(at: database.path, .read) {
            try (0..<count).map { try DatabaseQueue(path: database.path, configuration: database.configuration(label: "reader \($0)")) }
        }
    }

    // A connection's first read fixes the state that it sees until its transaction ends.
    private static func begin(_ queues: [DatabaseQueue]) throws {
        for queue in queues {
            try queue.inDatabase { db in
                try db.execute(sql: "BEGIN DEFERRED")
                _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema")
            }
        }
    }

    /// Calls `body` with reader `number`. Each reader may be used by one thread at a time.
    package func withReader<T>(_ number: Int, _ body: (DatasetReader) throws -> T) throws -> T {
        try SyncError.translating(at: path, .read) {
            try queues[number].inDatabase { db in try body(DatasetReader(db, path: path)) }
        }
    }

    /// Ends the readers' transactions.
    package func end() { Self.end(queues) }

    private static func end(_ queues: [DatabaseQueue]) {
        for queue in queues { try? queue.inDatabase { db in if db.isInsideTransaction { try db.execute(sql: "ROLLBACK") } } }
    }
}

/// Reads datasets' rows on one state of the database. Valid only inside the closure that receives it.
package final class DatasetReader {
    /// The state as a transaction: settings, applied version, schema.
    package let transaction: LocalTransaction

    init(_ db: Database, path: String) { transaction = LocalTransaction(db, path: path) }

    /// Iterates over the dataset's keys. Only for tables whose ``TableShape/hasRangeableKey`` is true.
    ///
    /// - Parameters:
    ///   - rowid: the name of the rowid, to know the rowids of the keys that begin a range.
    ///   - range: the keys to iterate over.
    package func keys(
        of schema: DatasetSchema, rowid: String? = nil, within range: KeyRange = KeyRange(number: 0, first: nil, next: nil)
    ) throws -> KeyCursor {
        try KeyCursor(transaction.db, schema, rowid: rowid, within: range, path: transaction.path)
    }

    /// Prepares reading rows by ranges of keys.
    package func ranges(of schema: DatasetSchema) -> RangeReader { RangeReader(transaction, schema) }

    /// Prepares reading all rows in key order.
    package func rows(of schema: DatasetSchema) throws -> RowReader { RowReader(try RowStatement(transaction.db, schema, where: "", path: transaction.path)) }
}

/// Passes the rows of one range after another to a sink.
package final class RangeReader {
    private let transaction: LocalTransaction
    private let schema: DatasetSchema
    // One statement for each kind of bounds: most ranges have both.
    private var statements: [ExactText: RowStatement] = [:]

    init(_ transaction: LocalTransaction, _ schema: DatasetSchema) { (self.transaction, self.schema) = (transaction, schema) }

    /// Prepares reading ranges with the same kinds of bounds. Call it on the thread that uses the reader; afterwards another thread may read.
    package func prepare(for range: KeyRange) throws { _ = try statement(for: range) }

    /// Passes every row of `range` to `sink`, in key order.
    package func read(_ range: KeyRange, into sink: any EntitySink) throws {
        let statement = try statement(for: range)
        try statement.bind(from: range.first, upTo: range.next)
        defer { statement.end() }
        while try statement.step() { try statement.send(to: sink) }
    }

    private func statement(for range: KeyRange) throws -> RowStatement {
        let condition = schema.keySQL.condition(range)
        if let statement = statements[condition.exact] { return statement }
        let statement = try RowStatement(transaction.db, schema, where: condition, path: transaction.path)
        statements[condition.exact] = statement
        return statement
    }
}

/// Passes the rows of a dataset to a sink, one for each call.
package final class RowReader {
    private let statement: RowStatement
    private var ended = false

    init(_ statement: RowStatement) { self.statement = statement }

    /// Passes the next row to `sink`. Returns false after the last.
    package func next(into sink: any EntitySink) throws -> Bool {
        guard !ended, try statement.step() else {
            ended = true
            return false
        }
        try statement.send(to: sink)
        return true
    }

    /// Ends reading early.
    package func end() {
        statement.end()
        ended = true
    }
}
