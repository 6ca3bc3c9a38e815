import GRDB
import GRDBSQLite
package import SnapshotModel

extension LocalTransaction {
    /// Deletes the entities with those keys, one by one, through whatever triggers the table has.
    package func deleteEntities(_ keys: [EntityKey], of schema: DatasetSchema) throws {
        try LocalStoreError.translating(at: "\(path), table \(schema.table)") {
            let statement = try db.makeStatement(sql: "DELETE FROM \(schema.table.sqlIdentifier) WHERE \(schema.key.column.sqlIdentifier) = ?")
            // Bound by its length: a key may hold a zero byte, where GRDB would end it.
            for key in keys { try step(statement) { key.bind(to: $0, at: 1) } }
        }
    }

    /// Runs a statement that returns nothing, with arguments that `bind` gives it.
    func step(_ statement: Statement, _ bind: (OpaquePointer) -> Int32) throws {
        let handle = statement.sqliteStatement
        defer { sqlite3_reset(handle) }
        var code = bind(handle)
        if code == SQLITE_OK { code = sqlite3_step(handle) }
        guard code == SQLITE_DONE else {
            throw DatabaseError(resultCode: ResultCode(rawValue: code & 0xFF), message: String(cString: sqlite3_errmsg(db.sqliteConnection)))
        }
    }

    /// Prepares reading rows by ranges of keys as this transaction sees them, its own changes among them.
    package func ranges(of schema: DatasetSchema) -> RangeReader { RangeReader(self, schema) }

    /// How many rows a dataset's table has.
    package func rowCount(_ schema: DatasetSchema) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM \(schema.table.sqlIdentifier)") ?? 0
    }
}
