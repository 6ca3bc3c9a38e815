package import GRDB
import GRDBSQLite
package import SnapshotModel
import StrictText

/// A prepared SELECT of a dataset's columns that passes each row to a sink.
///
/// Memory: one row. The pointers in the row belong to SQLite and are valid until the next step.
package final class RowStatement {
    private let statement: Statement
    private let handle: OpaquePointer
    private let connection: OpaquePointer
    private let areJSON: [Bool]
    private let slots: UnsafeMutableBufferPointer<ColumnValue>
    private let place: String

    /// Prepares `SELECT … FROM table WHERE condition ORDER BY key`, or another order.
    package init(_ db: Database, _ schema: DatasetSchema, where condition: String, orderedBy order: String? = nil, path: String) throws {
        let columns = schema.columns.map { $0.column.sqlIdentifier }.joined(separator: ", ")
        statement = try db.makeStatement(
            sql: """
                SELECT \(columns) FROM \(schema.table.sqlIdentifier) \(condition) ORDER BY \(order ?? schema.keySQL.list())
                """)
        handle = statement.sqliteStatement
        guard let connection = sqlite3_db_handle(handle) else { throw DatabaseError(resultCode: .SQLITE_MISUSE) }
        self.connection = connection
        areJSON = schema.columns.map { $0.shape == .json }
        slots = .allocate(capacity: areJSON.count)
        slots.initialize(repeating: .null)
        place = "\(path), table \(schema.table)"
    }

    deinit { slots.deallocate() }

    /// Restarts the statement with bounds for the key, inclusive below and exclusive above.
    package func bind(from lower: EntityKey?, upTo upper: EntityKey?) throws {
        sqlite3_reset(handle)
        for (position, key) in [(Int32(1), lower), (Int32(2), upper)] {
            guard let key else { continue }
            try check(key.bind(to: handle, at: position))
        }
    }

    /// Moves to the next row. Returns false after the last.
    package func step() throws -> Bool {
        let code = sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        if code == SQLITE_DONE {
            sqlite3_reset(handle)
            return false
        }
        try check(code)
        return false
    }

    /// Ends reading early, which releases the lock and the state that SQLite holds.
    package func end() { sqlite3_reset(handle) }

    /// Passes the current row to `sink`.
    package func send(to sink: any EntitySink) throws {
        let slots = self.slots, handle = self.handle
        for index in 0..<slots.count {
            slots[index] = ColumnValue(handle, Int32(index), isJSON: areJSON[index])
        }
        try sink.receive(UnsafeBufferPointer(slots))
    }

    private func check(_ code: Int32) throws {
        guard code != SQLITE_OK, code != SQLITE_ROW, code != SQLITE_DONE else { return }
        throw SyncError(
            DatabaseError(resultCode: ResultCode(rawValue: code), message: String(cString: sqlite3_errmsg(connection))), at: place)
    }
}

extension EntityKey {
    /// Binds the key to a statement's parameter, as the toolkit's tables store it; SQLite copies it. Returns SQLite's code.
    func bind(to statement: OpaquePointer, at position: Int32) -> Int32 {
        switch self {
        case .integer(let value): ColumnValue.integer(value).bind(to: statement, at: position)
        case .text(let bytes): bytes.withUnsafeBytes { ColumnValue.text($0).bind(to: statement, at: position) }
        // A number that is no integer: its encoding is the tag, the double and the difference.
        case .encoded(let bytes) where bytes.count == 11 && bytes[0] == 0x10:
            if case .real(let real)? = values.first { ColumnValue.real(real).bind(to: statement, at: position) } else { SQLITE_MISUSE }
        case .encoded(let bytes): bytes.withUnsafeBytes { ColumnValue.blob($0).bind(to: statement, at: position) }
        }
    }
}
