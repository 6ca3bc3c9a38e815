import GRDBSQLite
package import SnapshotModel

// SAFETY: the pointer to a text or blob is fetched before its length. Both are valid until the statement's next step, or while the SQL function runs.

extension ColumnValue {
    /// A column of a statement's row.
    @inline(__always)
    package init(_ statement: OpaquePointer, _ column: Int32, isJSON: Bool = false) {
        switch sqlite3_column_type(statement, column) {
        case SQLITE_TEXT:
            let bytes = UnsafeRawBufferPointer(start: sqlite3_column_text(statement, column), count: Int(sqlite3_column_bytes(statement, column)))
            self = isJSON ? .json(bytes) : .text(bytes)
        case SQLITE_INTEGER: self = .integer(sqlite3_column_int64(statement, column))
        case SQLITE_FLOAT: self = .real(sqlite3_column_double(statement, column))
        case SQLITE_BLOB:
            self = .blob(UnsafeRawBufferPointer(start: sqlite3_column_blob(statement, column), count: Int(sqlite3_column_bytes(statement, column))))
        default: self = .null
        }
    }

    /// An argument of an SQL function.
    package init(argument: OpaquePointer?) {
        switch sqlite3_value_type(argument) {
        case SQLITE_TEXT: self = .text(UnsafeRawBufferPointer(start: sqlite3_value_text(argument), count: Int(sqlite3_value_bytes(argument))))
        case SQLITE_INTEGER: self = .integer(sqlite3_value_int64(argument))
        case SQLITE_FLOAT: self = .real(sqlite3_value_double(argument))
        case SQLITE_BLOB: self = .blob(UnsafeRawBufferPointer(start: sqlite3_value_blob(argument), count: Int(sqlite3_value_bytes(argument))))
        default: self = .null
        }
    }

    /// Binds the value to a statement's parameter. Returns SQLite's code.
    ///
    /// - Parameter copies: whether SQLite copies the bytes; otherwise they must be valid in every step.
    package func bind(to statement: OpaquePointer, at position: Int32, copies: Bool = true) -> Int32 {
        let destructor = copies ? Self.transient : nil
        switch self {
        case .null: return sqlite3_bind_null(statement, position)
        case .integer(let value): return sqlite3_bind_int64(statement, position, value)
        case .real(let value): return sqlite3_bind_double(statement, position, value)
        case .text(let bytes), .json(let bytes):
            // A nil address would bind NULL.
            guard let start = bytes.baseAddress, !bytes.isEmpty else { return sqlite3_bind_text(statement, position, "", 0, nil) }
            return sqlite3_bind_text64(statement, position, start.assumingMemoryBound(to: CChar.self), UInt64(bytes.count), destructor, UInt8(SQLITE_UTF8))
        case .blob(let bytes):
            guard let start = bytes.baseAddress, !bytes.isEmpty else { return sqlite3_bind_zeroblob(statement, position, 0) }
            return sqlite3_bind_blob64(statement, position, start, UInt64(bytes.count), destructor)
        }
    }

    /// Makes the value the result of an SQL function. SQLite copies the bytes.
    package func result(in context: OpaquePointer?) {
        switch self {
        case .null: sqlite3_result_null(context)
        case .integer(let value): sqlite3_result_int64(context, value)
        case .real(let value): sqlite3_result_double(context, value)
        case .text(let bytes), .json(let bytes):
            guard let start = bytes.baseAddress, !bytes.isEmpty else { return sqlite3_result_text(context, "", 0, Self.transient) }
            sqlite3_result_text64(context, start.assumingMemoryBound(to: CChar.self), UInt64(bytes.count), Self.transient, UInt8(SQLITE_UTF8))
        case .blob(let bytes):
            guard let start = bytes.baseAddress, !bytes.isEmpty else { return sqlite3_result_zeroblob(context, 0) }
            sqlite3_result_blob64(context, start, UInt64(bytes.count), Self.transient)
        }
    }

    private static var transient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }
}
