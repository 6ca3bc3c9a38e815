import GRDB
import GRDBSQLite
import Synchronization

/// A connection that a session has returned. Opening one costs a small run as much as reading its rows.
final class SpareReader: Sendable {
    private let queue = Mutex<DatabaseQueue?>(nil)

    func take() -> DatabaseQueue? { queue.withLock { $0.take() } }

    /// Keeps a connection whose transaction has ended, and gives the memory of its cache back.
    func keep(_ returned: DatabaseQueue) {
        let isIdle = returned.inDatabase { db in
            sqlite3_db_release_memory(db.sqliteConnection)
            return !db.isInsideTransaction
        }
        guard isIdle else { return }
        queue.withLock { $0 = returned }
    }

    func close() { try? take()?.close() }
}

extension Database {
    /// The journal mode of the file, in lower case: `wal`, `delete`, …
    func journalMode() throws -> String { try String.fetchOne(self, sql: "PRAGMA main.journal_mode")?.lowercased() ?? "" }

    /// Sets a pragma of this connection. Faster than `execute(sql:)`, which splits and joins the text.
    func run(pragma: String) throws {
        let code = sqlite3_exec(sqliteConnection, "PRAGMA \(pragma)", nil, nil, nil)
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code), message: String(cString: sqlite3_errmsg(sqliteConnection))) }
    }
}
