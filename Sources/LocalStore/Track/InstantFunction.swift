import GRDB
import GRDBSQLite
import SnapshotModel
import StrictText

extension Database {
    /// Adds the SQL function `snapsync_instant`, which converts timestamps to microseconds: `snapsync_instant(updatedAt)` for RFC 3339 text,
    /// `snapsync_instant(changed, 'seconds')` for numbers of a ``TimestampUnit``. It returns NULL for a value that is not an instant.
    func addInstantFunction() throws {
        let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC
        let code = sqlite3_create_function_v2(
            sqliteConnection, "snapsync_instant", -1, flags, nil,
            { context, count, arguments in
                guard let arguments, count == 1 || count == 2, let instant = instant(of: arguments[0], count == 2 ? arguments[1] : nil) else {
                    return sqlite3_result_null(context)
                }
                sqlite3_result_int64(context, instant.microseconds)
            }, nil, nil, nil)
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }
}

private func instant(of value: OpaquePointer?, _ name: OpaquePointer?) -> Instant? {
    let unit = name.flatMap { sqlite3_value_text($0) }.flatMap { TimestampUnit(rawValue: String(cString: $0)) }
    if name != nil, unit == nil { return nil }
    switch sqlite3_value_type(value) {
    case SQLITE_INTEGER: return RowInstant.instant(of: .integer(sqlite3_value_int64(value)), unit)
    case SQLITE_FLOAT: return RowInstant.instant(of: .real(sqlite3_value_double(value)), unit)
    case SQLITE_TEXT:
        // SAFETY: the pointer is fetched before its length; both are valid while the function runs.
        let start = UnsafeRawPointer(sqlite3_value_text(value))
        return RowInstant.instant(of: .text(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))), unit)
    default: return nil
    }
}
