import CSQLiteConfig
import GRDB
import GRDBSQLite

/// Turns the triggers of the main database on and off for one connection. Temporary triggers always run.
struct TriggerSwitch {
    let db: Database

    func set(_ isOn: Bool) throws {
        let code = csqlite_enable_triggers(db.sqliteConnection, isOn ? 1 : 0)
        guard code == SQLITE_OK else {
            throw DatabaseError(resultCode: ResultCode(rawValue: code), message: "the triggers cannot be turned \(isOn ? "on" : "off")")
        }
    }

    /// Runs `body` with the triggers off and turns them on afterwards, even if `body` throws.
    func off<T>(_ body: () throws -> T) throws -> T {
        try set(false)
        defer { try? set(true) }
        return try body()
    }
}
