import GRDB
import GRDBSQLite
import LocalTables
import SnapshotModel
import StrictText

/// Replays the changes of some tables with the triggers on, each row with a statement of its own.
final class ReplayRun {
    /// The temporary table in which each row permits one change of one row.
    static let permission = "snapsync_permission"

    /// A change that could not be made yet.
    struct Failed {
        let table: Int
        let change: TableImage.Change
        fileprivate var cause: Cause
    }

    fileprivate struct Cause: Hashable {
        let table: String
        let trigger: String?
        let message: String
        let isUnique: Bool
        /// Whether a constraint or RAISE refused the change. Otherwise the triggers cannot run here.
        let isRefusal: Bool

        /// What failed, in words.
        var what: String { trigger.map { "the trigger \($0) failed (\(message))" } ?? "triggers could not run (\(message))" }
    }

    private let transaction: LocalTransaction
    private let db: Database
    private let images: [TableImage]
    /// Whether the changes are edits that triggers may refuse.
    private let isRefusable: Bool
    private let trace: TriggerTrace
    private var statements: [Int: [TableImage.Change.Kind: Result<Statement, DatabaseError>]] = [:]
    private let texts: [(name: String, table: String, sql: String)]
    private lazy var begin = try? (
        db.makeStatement(sql: "SAVEPOINT snapsync_row"), db.makeStatement(sql: "RELEASE snapsync_row"),
        db.makeStatement(sql: "INSERT INTO temp.\(Self.permission) VALUES(1)")
    )

    init(_ transaction: LocalTransaction, _ images: [TableImage], isRefusable: Bool) {
        self.transaction = transaction
        db = transaction.db
        self.images = images
        self.isRefusable = isRefusable
        trace = TriggerTrace(transaction.db)
        texts = (try? ApplicationTriggers.texts(transaction.db)) ?? []
    }

    /// Makes all changes: children's deletions before parents', and parents' insertions and updates before children's.
    ///
    /// - Returns: the changes that cannot be made while triggers run.
    func run() throws -> [Failed] {
        var failed: [Failed] = []
        for index in images.indices.reversed() { try images[index].forEachDeletion { try make($0, in: index, &failed) } }
        for index in images.indices { try images[index].forEachArrival { try make($0, in: index, &failed) } }
        // UNIQUE values may move from row to row, and triggers may need other rows. Retry what failed, in reverse order first.
        try again(&failed, times: 3)
        // Rows that exchange UNIQUE values, or pass them on in a long chain, first get temporary values that no row has. Then one pass is enough.
        for one in failed where one.cause.isUnique { try stepAside(one) }
        try again(&failed, times: 16)
        return failed
    }

    private func again(_ failed: inout [Failed], times: Int) throws {
        for _ in 0..<times where !failed.isEmpty {
            var rest: [Failed] = []
            for one in failed.reversed() { try make(one.change, in: one.table, &rest) }
            let isDone = rest.count == failed.count
            failed = rest
            if isDone { return }
        }
    }

    private func make(_ change: TableImage.Change, in table: Int, _ failed: inout [Failed]) throws {
        if let cause = try attempt(change.row, in: table, statement(change.kind, table)) { failed.append(Failed(table: table, change: change, cause: cause)) }
    }

    /// Gives a row temporary values in its unique columns, if that is possible.
    private func stepAside(_ one: Failed) throws {
        guard case .update(let columns) = one.change.kind, let sql = images[one.table].stepAside(columns) else { return }
        _ = try attempt(one.change.row, in: one.table, prepare(sql))
    }

    /// Runs one statement, which must change one row. Returns the cause if it did not; then its effects are rolled back.
    private func attempt(_ row: Int64, in table: Int, _ statement: Result<Statement, DatabaseError>) throws -> Cause? {
        let name = images[table].schema.table
        guard let begin else { throw DatabaseError(resultCode: .SQLITE_ERROR, message: "no savepoint can be made") }
        do {
            let statement = try statement.get()
            try begin.0.execute()
            trace.begin()
            try begin.2.execute()
            try statement.execute(arguments: [row])
            guard db.changesCount == 1 else { throw DatabaseError(resultCode: .SQLITE_CONSTRAINT, message: "it left the row as it was") }
            try begin.1.execute()
            return nil
        } catch let error as DatabaseError where error.isOfTriggers {
            let message = error.message ?? "SQLite error \(error.extendedResultCode.rawValue)"
            guard case .success(let failed) = statement else {
                return Cause(table: name, trigger: culprit(message, name), message: message, isUnique: false, isRefusal: false)
            }
            // Otherwise GRDB throws this error again when it resets the statement for the next row.
            sqlite3_reset(failed.sqliteStatement)
            guard sqlite3_get_autocommit(db.sqliteConnection) == 0 else {
                if isRefusable { throw EditRollback(reason: "the trigger \(trace.last ?? speaker(of: message) ?? "?") failed (\(message))") }
                transaction.silenced.add(name.folded, "the trigger \(trace.last ?? "?") rolls the whole import back (\(message))")
                throw TriggerRollback()
            }
            // SQLite does not trace a statement that it had to compile again; the trigger is then found by its message.
            let last = trace.last ?? speaker(of: message)
            try db.execute(sql: "ROLLBACK TO snapsync_row; RELEASE snapsync_row")
            let isUnique = [.SQLITE_CONSTRAINT_UNIQUE, .SQLITE_CONSTRAINT_PRIMARYKEY, .SQLITE_CONSTRAINT_ROWID].contains(error.extendedResultCode)
            return Cause(table: name, trigger: last, message: message, isUnique: isUnique, isRefusal: error.resultCode == .SQLITE_CONSTRAINT)
        }
    }

    private func statement(_ kind: TableImage.Change.Kind, _ table: Int) -> Result<Statement, DatabaseError> {
        if let known = statements[table]?[kind] { return known }
        let made = prepare(images[table].sql(kind))
        // Updates may change any combination of columns, so limit the number of cached statements.
        if statements[table]?.count ?? 0 >= 64 { statements[table] = nil }
        statements[table, default: [:]][kind] = made
        return made
    }

    private func prepare(_ sql: String) -> Result<Statement, DatabaseError> {
        do {
            return .success(try db.makeStatement(sql: sql))
        } catch let error as DatabaseError {
            return .failure(error)
        } catch {
            return .failure(DatabaseError(resultCode: .SQLITE_ERROR, message: "\(error)"))
        }
    }

    /// The trigger that raises a message with RAISE.
    private func speaker(of message: String) -> String? { texts.first { $0.sql.utf8.contains(message.sqlText.utf8) }?.name }

    /// The trigger that SQLite could not compile: one that uses the last name in the message.
    private func culprit(_ message: String, _ table: String) -> String? {
        guard let name = message.exact.split(separator: " ").last?.exact.split(separator: ".").last?.folded.text else { return nil }
        let users = texts.filter { $0.sql.folded.contains(name) }
        return (users.first { $0.table.folded == table.folded } ?? users.first)?.name
    }

    /// Makes changes without running triggers, which must be off.
    func force(_ failed: [Failed]) throws {
        // Make all deletions first, because insertions may need the values that they free.
        for step in 0..<2 {
            for one in failed {
                let sql = images[one.table].forcing(one.change.kind)
                guard step < sql.count else { continue }
                try db.keptStatement(sql: sql[step]).execute(arguments: [one.change.row])
            }
        }
    }

    /// Throws if a trigger, or a constraint of a table that it writes, refused a change. Triggers that cannot run here refuse nothing.
    func refuse(_ failed: [Failed]) throws {
        guard let cause = failed.first(where: { $0.cause.isRefusal })?.cause else { return }
        throw SyncError(database: .badRow, at: "\(transaction.path), table \(cause.table)", cause.what)
    }

    /// Notices about changes that were forced, one sentence for each cause.
    func notices(_ failed: [Failed]) -> [String] {
        var counts: [Cause: Int] = [:]
        for one in failed { counts[one.cause, default: 0] += 1 }
        return counts.map { cause, count in
            let rows = Format.count(count, "row")
            return
                "\(cause.table): \(cause.what) for \(rows); the import changed \(Format.word(count, "it", or: "them")) with triggers off, so what the table's triggers do for \(Format.word(count, "it", or: "them")) was not done"
        }.sorted()
    }
}

/// Records which of the application's triggers ran last on a connection, because SQLite's errors do not name it.
final class TriggerTrace {
    private let connection: OpaquePointer?
    private(set) var last: String?

    init(_ db: Database) {
        connection = db.sqliteConnection
        // SAFETY: `self` outlives the tracing, which `deinit` ends. SQLite calls the function on the connection's own thread.
        sqlite3_trace_v2(
            connection, UInt32(SQLITE_TRACE_STMT),
            { _, context, _, text in
                guard let context, let text else { return 0 }
                let prefix: StaticString = "-- TRIGGER "
                let characters = text.assumingMemoryBound(to: CChar.self)
                // The comparison stops at the first difference, at the latest at the zero byte that ends the text.
                guard prefix.withUTF8Buffer({ bytes in bytes.indices.allSatisfy { UInt8(bitPattern: characters[$0]) == bytes[$0] } }) else { return 0 }
                let name = String(cString: characters + prefix.utf8CodeUnitCount)
                if !name.exact.hasPrefix("snapsync_") { Unmanaged<TriggerTrace>.fromOpaque(context).takeUnretainedValue().last = name }
                return 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Resets ``last`` before another statement runs.
    func begin() { last = nil }

    func end() { sqlite3_trace_v2(connection, 0, nil, nil) }

    deinit { end() }
}
