import Foundation
package import GRDB
import GRDBSQLite
import Platform
package import SnapshotModel
package import StrictText
import Synchronization

/// One SQLite file: the user's tables and, beside them, the toolkit's own, whose names begin with `snapsync_`.
///
///     let database = try LocalDatabase(path: "app.db")
///     try database.write { try $0.state.setApplied(version) }
///
/// The journal mode stays as it is. A transaction is durable when it ends (`PRAGMA synchronous = EXTRA`). SQLite does not enforce foreign keys on
/// this connection, because it would cascade a delete-then-insert into tables that are not synced; imports enforce them instead (see
/// ``ForeignKeyEnforcer``). The connection is the toolkit's own or an application's (``LentConnection``).
package final class LocalDatabase: Sendable {
    /// The file's path as it was given.
    package let path: String
    private let main: any DatabaseWriter
    /// Nil if the connection is the toolkit's own.
    private let lent: LentConnection?
    private let silenced = SilencedTables()
    /// The listeners that are notified of rows that the toolkit's transactions changed.
    package let listeners = ChangeListeners()
    /// Registers what the application needs on the connections that the toolkit opens; nil if it needs nothing.
    package let setup: ConnectionSetup?
    private let wait: LockWait
    private let waiting: @Sendable () -> Void

    /// Opens the file, which must exist unless `creating`.
    ///
    /// - Parameters:
    ///   - setup: registers the application's functions and collations on each connection.
    ///   - waiting: called when another program's lock delays a connection for more than a second.
    /// - Throws: ``SyncError`` with `.notFound`, `.damaged`, `.permissionDenied`, `.inputOutput` or `.busy`; what `setup` throws.
    package init(path: String, creating: Bool = false, setup: ConnectionSetup? = nil, waiting: @escaping @Sendable () -> Void = {}) throws {
        try DatabaseFile.verify(path, creating: creating)
        self.path = path
        self.setup = setup
        self.waiting = waiting
        wait = LockWait(waiting)
        // Create the file privately, because SQLite gives the files beside a database its mode. If it cannot be created, opening it fails with
        // SQLite's reason.
        let isMade = creating && System.makePrivateFile(path)
        do {
            main = try Self.open(path, waiting: wait, setup)
            lent = nil
        } catch {
            if isMade { System.unlink(path) }
            throw error
        }
    }

    /// Works on an application's connection, so that GRDB's observations there see the toolkit's changes.
    ///
    /// - Parameters:
    ///   - connection: a pool or queue of a database file.
    ///   - setup: registers the application's functions and collations on the connections that are opened besides.
    ///   - waiting: called when another program's lock delays a connection for more than a second.
    /// - Throws: ``SyncError`` as ``init(path:creating:waiting:)``; `.notFound` for a database in memory.
    package init(lent connection: any DatabaseWriter, setup: ConnectionSetup? = nil, waiting: @escaping @Sendable () -> Void = {}) throws {
        path = connection.path
        self.setup = setup
        try LentConnection.verifyFile(path)
        try DatabaseFile.verify(path, creating: false)
        main = connection
        self.waiting = waiting
        wait = LockWait(waiting)
        lent = LentConnection(wait)
        let path = path
        try SyncError.translating(at: path, .open) { try connection.writeWithoutTransaction { try Self.look(into: $0, at: path) } }
    }

    private static func open(_ path: String, waiting wait: LockWait, _ setup: ConnectionSetup?) throws -> DatabaseQueue {
        try SyncError.translating(at: path, .open) {
            let queue = try DatabaseQueue(path: path, configuration: configuration(label: "writer", wait, setup))
            try queue.inDatabase { try look(into: $0, at: path) }
            return queue
        }
    }

    /// Reads from the file, which fails if it is not a database. It changes nothing and needs no transaction.
    private static func look(into db: Database, at path: String) throws {
        _ = try Int.fetchOne(db, sql: "PRAGMA schema_version")
        guard try String.fetchOne(db, sql: "PRAGMA encoding") == "UTF-8" else {
            throw SyncError(
                database: .schemaMismatch, at: path, "the database stores text as UTF-16; entities travel in the order of UTF-8 keys",
                hint: "make a UTF-8 copy with: sqlite3 FILE .dump | sqlite3 COPY")
        }
    }

    /// Opens another database, `main` of the connection, with this one attached as `audience`. It enforces foreign keys.
    ///
    /// - Throws: ``SyncError`` as ``init(path:creating:setup:waiting:)``.
    package func attached(to source: String) throws -> DatabaseQueue {
        try DatabaseFile.verify(source, creating: false)
        return try SyncError.translating(at: source, .open) {
            var configuration = configuration(label: "audience")
            configuration.foreignKeysEnabled = true
            let queue = try DatabaseQueue(path: source, configuration: configuration)
            try queue.inDatabase { try Self.look(into: $0, at: source) }
            try queue.writeWithoutTransaction { try $0.execute(sql: "ATTACH DATABASE ? AS audience", arguments: [path]) }
            return queue
        }
    }

    /// The configuration for a further connection to the file.
    package func configuration(label: String) -> Configuration { Self.configuration(label: label, LockWait(waiting), setup) }

    private static func configuration(label: String, _ wait: LockWait, _ setup: ConnectionSetup?) -> Configuration {
        var configuration = Configuration()
        configuration.label = "snapsync.\(label)"
        configuration.busyMode = .callback { wait.goesOn(after: $0) }
        configuration.foreignKeysEnabled = false
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { db in
            try db.addInstantFunction()
            try db.addColumnInstantFunctions()
            try db.addKeyFunctions()
            // What is recorded here must be on disk before the cloud has the commit. With a rollback journal that also takes an fsync of the
            // folder; without it the journal may reappear after a power cut and undo the record.
            try db.execute(sql: "PRAGMA synchronous = EXTRA")
            // GRDB's authorizer notes each column of each statement for observers, which takes a tenth of a small run. These connections have no
            // observers and use none of GRDB's knowledge of the schema.
            sqlite3_set_authorizer(db.sqliteConnection, nil, nil)
            if let connection = db.sqliteConnection { try setup?(connection) }
        }
        return configuration
    }

    /// Whether readers can read one state while others write: the journal mode is WAL.
    package func usesWAL() throws -> Bool { try journalMode() == "wal" }

    /// Runs `body` in one transaction, which sees one state of the database.
    package func read<T>(_ body: (LocalTransaction) throws -> T) throws -> T { try transaction(.deferred, body) }

    /// Runs `body` in one immediate transaction. If `body` throws, the transaction is rolled back.
    package func write<T>(_ body: (LocalTransaction) throws -> T) throws -> T { try transaction(.immediate, body) }

    /// Runs `body` in one immediate transaction, or throws at once if another connection is writing.
    package func withoutWaiting<T>(_ body: (LocalTransaction) throws -> T) throws -> T { try transaction(.immediate, isPatient: false, body) }

    /// Runs `body`, which writes. If an application's trigger rolls the transaction back, runs it again with the triggers of that table off.
    package func withoutRollbacks<T>(_ body: () throws -> T) throws -> T {
        while true {
            do { return try body() } catch is TriggerRollback { continue }
        }
    }

    /// Runs `body`, which writes nothing, while no other connection can commit.
    package func holdingWriteLock<T>(_ body: (LocalTransaction) throws -> T) throws -> T { try transaction(.immediate, ending: .rollback, body) }

    private func transaction<T>(
        _ kind: Database.TransactionKind, isPatient: Bool = true, ending: Database.TransactionCompletion = .commit,
        _ body: (LocalTransaction) throws -> T
    ) throws -> T {
        try SyncError.translating(at: path, kind == .deferred || ending == .rollback ? .read : .apply) {
            try withConnection { db in
                // Set while this thread has the connection, so that no other thread's wait ends early.
                wait.setPatient(isPatient)
                defer { wait.setPatient(true) }
                var result: T?
                var changes: [DatasetChanges] = []
                try db.inTransaction(kind) {
                    let observing: LocalTransaction.Observing? = listeners.keyLimit.map { limit in
                        { db, schemas in try RowObservation(db, schemas, keyLimit: limit).end }
                    }
                    let transaction = LocalTransaction(db, path: path, silenced: silenced, observing: observing)
                    let value = try body(transaction)
                    changes = try transaction.endObserving()
                    if lent != nil { try transaction.tellObservers(of: changes) }
                    result = value
                    return ending
                }
                guard let result else { throw SyncError(database: .inputOutput, at: path, "the transaction did not run") }
                if ending == .commit { listeners.tell(changes) }
                return result
            }
        }
    }

    private func withConnection<T>(_ body: (Database) throws -> T) throws -> T {
        try main.writeWithoutTransaction { db in try lent.map { try $0.borrow(db) { try body(db) } } ?? body(db) }
    }

    /// The journal mode, in lower case: `wal`, `delete`, …
    package func journalMode() throws -> String { try read { try $0.db.journalMode() } }

    /// Switches a newly created database to WAL, so that readers and an import do not wait for each other.
    package func useWAL() throws {
        try SyncError.translating(at: path, .open) {
            try main.writeWithoutTransaction { _ = try String.fetchOne($0, sql: "PRAGMA journal_mode = WAL") }
        }
    }

    /// Closes the database and removes its file, the files that SQLite keeps beside it, and the lock file.
    package func remove() {
        let lock = RunLock.path(for: path)
        try? main.close()
        for ending in ["", "-wal", "-shm", "-journal"] { try? FileManager.default.removeItem(atPath: path + ending) }
        try? FileManager.default.removeItem(atPath: lock)
    }
}

extension LocalDatabase {
    /// What SQLite finds wrong with the file: pages, indexes, NOT NULL. Reads the whole file, and compares the indexes with their tables; returns at
    /// most 10 findings.
    ///
    /// Source: `PRAGMA integrity_check` in SQLite's documentation. Its messages name tables, indexes and rows, but no values.
    ///
    /// - Throws: ``SyncError`` if the file is too damaged to be checked.
    package func integrityCheck() throws -> [String] {
        // A row that breaks a CHECK constraint is no damage (``TableInspector/rowsBreakingChecks(of:keys:)``).
        let lines = try read { transaction in
            try transaction.settingChecks(off: true) {
                // SQLite 3.40 looks for NULL at wrong places of WITHOUT ROWID tables, which store the columns of the key first.
                let others = try String.fetchAll(transaction.db, sql: "SELECT name FROM pragma_table_list WHERE schema = 'main' AND wr = 1")
                let all = try String.fetchCursor(transaction.db, sql: "PRAGMA integrity_check(10000)")
                return try Array(all.filter { line in !others.contains { line.exact.hasPrefix("NULL value in \($0).") } }.prefix(10))
            }
        }
        return lines == ["ok"] ? [] : lines
    }
}

extension LocalDatabase {
    /// Why this user may not write the database, according to modes and mounts; nil if nothing prevents it. Writes nothing.
    package func writingObstacle() -> SyncError? { DatabaseFile.obstacle(path) }
}

/// Prepares an application's connection for each of the toolkit's transactions, and restores its settings afterwards.
///
/// The toolkit's SQL relies on its functions, on foreign keys and recursive triggers that are off, and on `synchronous = EXTRA` (see ``LocalDatabase``).
final class LentConnection: Sendable {
    private let wait: LockWait
    private let hasFunctions = Mutex(false)

    init(_ wait: LockWait) { self.wait = wait }

    /// Throws if the database has no file, because the toolkit's other connections must read what this one has committed.
    static func verifyFile(_ path: String) throws(SyncError) {
        guard !path.isEmpty, !path.exact.hasPrefix(":memory:"), !path.exact.hasPrefix("file:") else {
            throw SyncError(
                database: .notFound, at: path.isEmpty ? "the database" : path, "it is not a file that several connections can open by its path",
                hint: "open the pool or queue with the path of a file")
        }
    }

    /// Runs `body`, which begins and ends a transaction.
    func borrow<T>(_ db: Database, _ body: () throws -> T) throws -> T {
        try verifyTemporaryNames(db)
        try hasFunctions.withLock { isDone in
            if isDone { return }
            try db.addInstantFunction()
            try db.addColumnInstantFunctions()
            try db.addKeyFunctions()
            isDone = true
        }
        let before = try Self.settings.map { try Int.fetchOne(db, sql: "PRAGMA \($0.name)") ?? $0.value }
        for (setting, value) in zip(Self.settings, before) where setting.value != value { try db.execute(sql: "PRAGMA \(setting.name) = \(setting.value)") }
        setBusyHandler(db)
        defer {
            giveBusyHandler(db)
            for (setting, value) in zip(Self.settings, before) where setting.value != value { try? db.execute(sql: "PRAGMA \(setting.name) = \(value)") }
        }
        return try body()
    }

    /// The settings that the toolkit needs. They are set outside of a transaction, because inside one SQLite ignores a change of `foreign_keys` and
    /// refuses one of `synchronous`.
    private static let settings: [(name: String, value: Int)] = [("foreign_keys", 0), ("recursive_triggers", 0), ("main.synchronous", 3)]

    // MARK: - Waiting for other connections' locks

    // Leaves an application's own callback in place, because GRDB does not tell which handler it installed for it, so it could not be restored.
    private func setBusyHandler(_ db: Database) {
        if case .callback = db.configuration.busyMode { return }
        // SAFETY: `wait` outlives the handler, which is removed before `borrow(_:_:)` returns.
        sqlite3_busy_handler(
            db.sqliteConnection,
            { context, tries in
                guard let context else { return 0 }
                return Unmanaged<LockWait>.fromOpaque(context).takeUnretainedValue().goesOn(after: Int(tries)) ? 1 : 0
            }, Unmanaged.passUnretained(wait).toOpaque())
    }

    private func giveBusyHandler(_ db: Database) {
        switch db.configuration.busyMode {
        case .callback: break
        case .immediateError: sqlite3_busy_handler(db.sqliteConnection, nil, nil)
        case .timeout(let seconds): sqlite3_busy_timeout(db.sqliteConnection, Int32(clamping: Int((seconds * 1000).rounded())))
        }
    }

    /// Throws if there are temporary tables that hide tables of the file, or temporary triggers, which would run in imports.
    private func verifyTemporaryNames(_ db: Database) throws {
        let found = try String.fetchOne(
            db.keptStatement(
                sql: """
                    SELECT type || ' ' || name FROM temp.sqlite_schema
                    WHERE type = 'trigger' OR type IN ('table', 'view') AND lower(name) IN (SELECT lower(name) FROM main.sqlite_schema) LIMIT 1
                    """))
        guard let found else { return }
        throw SyncError(
            database: .schemaMismatch, at: "the application's connection", "the temporary \(found) would come between the toolkit and the tables of the file",
            hint: "drop it before the engine runs, or give the engine the database's path")
    }
}
