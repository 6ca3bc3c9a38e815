import CSQLiteConfig
import GRDB
import GRDBSQLite

/// Turns the triggers of the main database on and off for one connection. Temporary triggers always run.
struct TriggerSwitch {
    let db: Database

    func set(_ isOn: Bool) throws { _ = try change(to: isOn ? 1 : 0) }

    /// Runs `body` with the triggers off and sets them as they were afterwards, even if `body` throws.
    func off<T>(_ body: () throws -> T) throws -> T {
        guard try change(to: -1) else { return try body() }
        try set(false)
        defer { try? set(true) }
        return try body()
    }

    /// Turns the triggers on or off, or leaves them as they are if `state` is negative. Returns whether they are on.
    private func change(to state: Int32) throws -> Bool {
        var isOn: Int32 = 1
        let code = csqlite_triggers(db.sqliteConnection, state, &isOn)
        guard code == SQLITE_OK else {
            throw DatabaseError(resultCode: ResultCode(rawValue: code), message: "the triggers cannot be turned \(state == 1 ? "on" : "off")")
        }
        return isOn == 1
    }
}
