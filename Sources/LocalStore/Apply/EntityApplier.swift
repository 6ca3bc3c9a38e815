import GRDB
import GRDBSQLite
package import SnapshotModel

/// Puts the entities of one dataset into its table: the insert of delete-then-insert.
///
///     let applier = try transaction.replaceAll(of: schema)
///     try block.give(to: applier)
///
/// Works inside the transaction that it came from. Memory: one row.
package final class EntityApplier: EntitySink {
    /// How many entities were taken.
    package private(set) var count = 0
    private let statement: Statement
    private let handle: OpaquePointer
    private let connection: OpaquePointer
    private let place: String

    init(_ transaction: LocalTransaction, _ schema: DatasetSchema) throws {
        let columns = schema.columns.map { $0.column.sqlIdentifier }.joined(separator: ", ")
        let values = Array(repeating: "?", count: schema.columns.count).joined(separator: ", ")
        statement = try transaction.db.makeStatement(sql: "INSERT INTO \(schema.table.sqlIdentifier)(\(columns)) VALUES(\(values))")
        handle = statement.sqliteStatement
        guard let connection = sqlite3_db_handle(handle) else { throw DatabaseError(resultCode: .SQLITE_MISUSE) }
        self.connection = connection
        place = "\(transaction.path), table \(schema.table)"
    }

    package func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        let handle = self.handle
        var code = SQLITE_OK
        for index in 0..<values.count {
            code |= bind(values[index], to: handle, at: Int32(truncatingIfNeeded: index + 1))
        }
        guard code == SQLITE_OK else { throw failure(code) }
        code = sqlite3_step(handle)
        // The values are lent until this call returns; the next bind replaces every one of them.
        guard code == SQLITE_DONE, sqlite3_reset(handle) == SQLITE_OK else {
            defer { sqlite3_reset(handle) }
            throw failure(code)
        }
        count += 1
    }

    @inline(__always)
    private func bind(_ value: ColumnValue, to handle: OpaquePointer, at position: Int32) -> Int32 {
        switch value {
        case .null: return sqlite3_bind_null(handle, position)
        case .integer(let integer): return sqlite3_bind_int64(handle, position, integer)
        case .real(let real): return sqlite3_bind_double(handle, position, real)
        case .text(let bytes), .json(let bytes):
            // SAFETY: SQLite reads the bytes in `step`, while they are lent; nil would bind NULL, so an empty text is literal.
            guard let start = bytes.baseAddress, bytes.count > 0 else { return sqlite3_bind_text(handle, position, "", 0, nil) }
            return sqlite3_bind_text64(handle, position, start.assumingMemoryBound(to: CChar.self), UInt64(bytes.count), nil, UInt8(SQLITE_UTF8))
        case .blob(let bytes):
            // SAFETY: as above.
            guard let start = bytes.baseAddress, bytes.count > 0 else { return sqlite3_bind_zeroblob(handle, position, 0) }
            return sqlite3_bind_blob64(handle, position, start, UInt64(bytes.count), nil)
        }
    }

    private func failure(_ code: Int32) -> LocalStoreError {
        LocalStoreError(
            DatabaseError(resultCode: ResultCode(rawValue: code & 0xFF), message: String(cString: sqlite3_errmsg(connection))),
            at: "\(place), entity \(count)")
    }
}

extension LocalTransaction {
    /// Deletes every entity of a dataset and returns the applier that takes the new ones.
    package func replaceAll(of schema: DatasetSchema) throws -> EntityApplier {
        try db.execute(sql: "DELETE FROM \(schema.table.sqlIdentifier)")
        return try EntityApplier(self, schema)
    }

    /// Deletes the entities whose keys lie in a range.
    package func deleteEntities(of schema: DatasetSchema, in range: KeyRange) throws {
        let key = schema.key.column.sqlIdentifier
        let statement = try db.cachedStatement(sql: "DELETE FROM \(schema.table.sqlIdentifier) \(range.condition(on: key))")
        let handle = statement.sqliteStatement
        for (position, key) in [(Int32(1), range.first), (Int32(2), range.next)] {
            guard let key else { continue }
            let code = key.bind(to: handle, at: position)
            guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
        }
        let code = sqlite3_step(handle)
        sqlite3_reset(handle)
        guard code == SQLITE_DONE else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }

    /// Returns an applier that adds entities to those that are there.
    package func inserting(into schema: DatasetSchema) throws -> EntityApplier {
        try EntityApplier(self, schema)
    }
}
