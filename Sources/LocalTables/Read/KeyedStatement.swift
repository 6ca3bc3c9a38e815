package import GRDB
import GRDBSQLite
package import SnapshotModel
package import StrictText

/// A statement on the tracking tables that binds and reads keys byte for byte.
///
/// A key is any UTF-8 and may contain NUL, at which a text that is passed as a C string would end. Valid inside the transaction that it was made
/// in.
package struct KeyedStatement {
    private let statement: Statement
    private let handle: OpaquePointer
    private let db: Database

    /// Prepares SQL, or takes the statement from the connection's cache.
    package init(_ db: Database, _ sql: String) throws {
        self.db = db
        statement = try db.keptStatement(sql: sql)
        handle = statement.sqliteStatement
    }

    /// Restarts the statement with these parameters, in order.
    @discardableResult
    package func bind(_ parameters: Parameter...) throws -> KeyedStatement { try bind(parameters) }

    /// Restarts the statement with these parameters, in order.
    @discardableResult
    package func bind(_ parameters: [Parameter]) throws -> KeyedStatement {
        sqlite3_reset(handle)
        for (number, parameter) in parameters.enumerated() {
            let position = Int32(truncatingIfNeeded: number + 1)
            let code: Int32 =
                switch parameter {
                case .integer(let value): sqlite3_bind_int64(handle, position, value)
                case .key(let key): key.bind(to: handle, at: position)
                case .null: sqlite3_bind_null(handle, position)
                case .real(let value): sqlite3_bind_double(handle, position, value)
                case .blob(let bytes): bytes.withUnsafeBytes { ColumnValue.blob($0).bind(to: handle, at: position) }
                // SAFETY: the other statement is at a row, and SQLite copies the value here.
                case .column(let column, let other): sqlite3_bind_value(handle, position, sqlite3_column_value(other.handle, column))
                }
            guard code == SQLITE_OK else { throw failure(code) }
        }
        return self
    }

    /// Moves to the next row. Returns false after the last row; then the statement is reset and ready for other parameters.
    package func step() throws -> Bool {
        let code = sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        let error = code == SQLITE_DONE ? nil : failure(code)
        sqlite3_reset(handle)
        if let error { throw error }
        return false
    }

    /// Runs a statement that returns no rows.
    package func run() throws { while try step() {} }

    /// The first row's first column as an integer; nil if there is no row or the value is NULL.
    package func integer() throws -> Int64? {
        guard try step() else { return nil }
        defer { sqlite3_reset(handle) }
        return isNull(0) ? nil : integer(0)
    }

    /// The first column of all rows as keys. Skips values that cannot be keys.
    package func keys() throws -> [EntityKey] {
        var keys: [EntityKey] = []
        while try step() { if let key = key(0) { keys.append(key) } }
        return keys
    }

    /// Ends reading early.
    package func end() { sqlite3_reset(handle) }

    package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    package func instant(_ column: Int32) -> Instant { Instant(microseconds: integer(column)) }

    /// A column with a stored key; nil for a value that cannot be a key: an infinite number, or text that is not UTF-8.
    package func key(_ column: Int32) -> EntityKey? {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: return .integer(integer(column))
        case SQLITE_FLOAT:
            let real = sqlite3_column_double(handle, column)
            return Int64(exactly: real).map { .integer($0) } ?? (real.isFinite ? EntityKey(encoding: [.real(real)]) : nil)
        case SQLITE_TEXT: return text(column).flatMap { UTF8Check.firstFault(in: $0) == nil ? .text(Array($0)) : nil }
        case SQLITE_BLOB:
            return encodedKey(column).flatMap { EncodedKey.values(of: $0)?.allSatisfy(\.isReadable) == true ? .encoded($0) : nil }
        default: return nil
        }
    }

    /// The bytes of a column that holds an encoded key; nil if it does not.
    private func encodedKey(_ column: Int32) -> [UInt8]? {
        guard case .blob(let bytes) = ColumnValue(handle, column), !bytes.isEmpty else { return nil }
        return Array(bytes)
    }

    /// A column's text, valid until the next step; nil if the value is not a text.
    package func text(_ column: Int32) -> UnsafeRawBufferPointer? {
        guard case .text(let bytes) = ColumnValue(handle, column) else { return nil }
        return bytes
    }

    /// A column as a timestamp: text, valid until the next step, or a number; NULL for anything else.
    package func timestamp(_ column: Int32) -> ColumnValue {
        let value = ColumnValue(handle, column)
        return if case .blob = value { .null } else { value }
    }

    package func value(_ column: Int32) -> OwnedValue { OwnedValue(ColumnValue(handle, column)) }

    /// A column's text as a string; nil if the value is not a text.
    package func string(_ column: Int32) -> String? { text(column).map { String(decoding: $0, as: UTF8.self) } }

    private func failure(_ code: Int32) -> DatabaseError {
        DatabaseError(resultCode: ResultCode(rawValue: code), message: String(cString: sqlite3_errmsg(db.sqliteConnection)))
    }

    /// A value for a `?`.
    package enum Parameter {
        case integer(Int64)
        case key(EntityKey)
        case null
        case real(Double)
        case blob([UInt8])
        /// The value of a column of another statement's current row, unchanged.
        case column(Int32, of: KeyedStatement)

        package static func text(_ text: String) -> Parameter { .key(.text(Array(text.utf8))) }
        package static func instant(_ instant: Instant) -> Parameter { .integer(instant.microseconds) }
        package static func value(_ value: OwnedValue) -> Parameter {
            switch value {
            case .null: .null
            case .integer(let integer): .integer(integer)
            case .real(let bits): .real(Double(bitPattern: bits))
            case .text(let bytes), .json(let bytes): .key(.text(bytes))
            case .blob(let bytes): .blob(bytes)
            }
        }
        package static func optional(_ text: String?) -> Parameter { text.map { .text($0) } ?? .null }
    }
}

extension KeyValue {
    /// Whether JSON can represent the value: a text must be UTF-8, a number finite.
    fileprivate var isReadable: Bool {
        switch self {
        case .text(let bytes): bytes.withUnsafeBytes { UTF8Check.firstFault(in: $0) } == nil
        case .real(let value): value.isFinite
        case .integer, .blob: true
        }
    }
}
