import CSQLiteConfig
package import GRDB
import GRDBSQLite
package import SnapshotModel
package import StrictText
import Synchronization

/// Turns the triggers of the main database on and off for one connection. Temporary triggers always run.
package struct TriggerSwitch {
    let db: Database

    package init(db: Database) {
        self.db = db
    }

    func set(_ isOn: Bool) throws { _ = try change(to: isOn ? 1 : 0) }

    /// Runs `body` with the triggers off and sets them as they were afterwards, even if `body` throws.
    package func off<T>(_ body: () throws -> T) throws -> T {
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

/// The triggers of the main database that are not snapsync's own, by table.
package struct ApplicationTriggers {
    private let names: [ExactText: [String]]

    /// Reads the triggers from the schema with one query. Reads no user's row.
    package init(_ db: Database) throws {
        let rows = try Row.fetchAll(
            db.keptStatement(
                sql: "SELECT tbl_name, name FROM main.sqlite_schema WHERE type = 'trigger' AND name NOT LIKE 'snapsync\\_%' ESCAPE '\\' ORDER BY name"))
        names = Dictionary(grouping: rows) { ($0[0] as String).folded }.mapValues { $0.map { $0[1] } }
    }

    package var isEmpty: Bool { names.isEmpty }

    /// The names of the triggers of a dataset's table, in order.
    package func of(_ schema: DatasetSchema) -> [String] { names[schema.table.folded] ?? [] }

    /// The SQL text of every such trigger, ordered by name.
    package static func texts(_ db: Database) throws -> [(name: String, table: String, sql: String)] {
        try Row.fetchAll(
            db, sql: "SELECT name, tbl_name, sql FROM main.sqlite_schema WHERE type = 'trigger' AND name NOT LIKE 'snapsync\\_%' ESCAPE '\\' ORDER BY name"
        )
        .map { ($0[0], $0[1], $0[2]) }
    }
}

/// The tables whose triggers rolled a whole transaction back with `RAISE(ROLLBACK)`, which nothing inside the transaction can prevent.
///
/// When the transaction is retried, the triggers of these tables are off.
package final class SilencedTables: Sendable {
    private let reasons = Mutex<[ExactText: String]>([:])

    /// Adds a table, by its folded name, and what happened.
    package func add(_ table: ExactText, _ reason: String) { reasons.withLock { $0[table] = reason } }

    /// What happened at a table; nil if nothing did.
    package func reason(_ table: ExactText) -> String? { reasons.withLock { $0[table] } }
}

/// A trigger has rolled back the transaction that puts other devices' edits on the tables: it refuses one of them.
package struct EditRollback: Error {
    /// What rolled it back, in words.
    package let reason: String

    package init(reason: String) {
        self.reason = reason
    }
}

/// A trigger has rolled the transaction back. Its table has been added to ``SilencedTables``, so that a retry gets further.
package struct TriggerRollback: Error {
    package init() {}

    /// The name that stands for all tables that are not datasets' tables.
    package static let otherTables: ExactText = ""
}
