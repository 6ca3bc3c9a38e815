import Foundation
import GRDB
import GRDBSQLite
import SnapshotModel
import StrictText

extension Database {
    /// Adds the SQL functions that read and write the instants of columns, which `snapsync_instants` keeps as a JSON object of names and
    /// microseconds:
    ///
    /// - `snapsync_column_instants(changed, at, names)` gives the columns that a tracked change changed. `names` is a JSON array with the names by
    ///   position. NULL if all columns changed, or none that has a name.
    /// - `snapsync_dated(columns, own)` replaces each `true`, which stands for the row's own timestamp, by that.
    func addColumnInstantFunctions() throws {
        try add("snapsync_column_instants") { context, count, arguments in
            guard let arguments, count == 3 else { return sqlite3_result_null(context) }
            let names: ColumnNames
            if let known = sqlite3_get_auxdata(context, 2) {
                // SAFETY: the pointer is the one that was set below, and SQLite keeps it while the statement runs.
                names = Unmanaged<ColumnNames>.fromOpaque(known).takeUnretainedValue()
            } else {
                names = ColumnNames(bytes(of: arguments[2]))
                sqlite3_set_auxdata(context, 2, Unmanaged.passRetained(names).toOpaque()) { $0.map { Unmanaged<ColumnNames>.fromOpaque($0).release() } }
            }
            let at = Instant(microseconds: sqlite3_value_int64(arguments[1]))
            guard sqlite3_value_type(arguments[0]) == SQLITE_TEXT, let text = names.text(of: bytes(of: arguments[0]), at: at) else {
                return sqlite3_result_null(context)
            }
            send(text, to: context)
        }
        try add("snapsync_dated") { context, count, arguments in
            guard let arguments, count == 2, let columns = ColumnInstants(bytes(of: arguments[0])) else { return sqlite3_result_null(context) }
            send(columns.dated(Instant(microseconds: sqlite3_value_int64(arguments[1]))).text, to: context)
        }
    }

    /// Adds the SQL function `snapsync_instant`, which converts timestamps to microseconds: `snapsync_instant(updatedAt)` for RFC 3339 text,
    /// `snapsync_instant(changed, 'seconds')` for numbers of a ``TimestampUnit``. It returns NULL for a value that is not an instant.
    func addInstantFunction() throws {
        try add("snapsync_instant") { context, count, arguments in
            guard let arguments, count == 1 || count == 2, let instant = instant(of: arguments[0], count == 2 ? arguments[1] : nil) else {
                return sqlite3_result_null(context)
            }
            sqlite3_result_int64(context, instant.microseconds)
        }
    }
}

private func send(_ text: String, to context: OpaquePointer?) {
    sqlite3_result_text(context, text, -1, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
}

private func bytes(of value: OpaquePointer?) -> UnsafeRawBufferPointer {
    // SAFETY: the pointer is fetched before its length; both are valid while the function runs.
    let start = UnsafeRawPointer(sqlite3_value_text(value))
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
}

/// The names of a dataset's columns by position, as JSON strings.
private final class ColumnNames {
    private let quoted: [String]
    /// The last call: statements change many rows alike.
    private var last: (changed: [UInt8], at: Instant, text: String?)?

    init(_ json: UnsafeRawBufferPointer) {
        quoted = ((try? StrictJSON.decode([String].self, from: Data(json))) ?? []).map(ColumnInstants.quoted)
    }

    func text(of columns: UnsafeRawBufferPointer, at instant: Instant) -> String? {
        if let last, last.at == instant, columns.elementsEqual(last.changed) { return last.text }
        var members: [String] = []
        if case .some(let changed) = ChangedColumns(columns, at: instant) {
            members = changed.compactMap { position, at in quoted.indices.contains(position) ? "\(quoted[position]):\(at.microseconds)" : nil }
        }
        let text = members.isEmpty ? nil : "{\(members.joined(separator: ","))}"
        last = (Array(columns), instant, text)
        return text
    }
}

private func instant(of value: OpaquePointer?, _ name: OpaquePointer?) -> Instant? {
    let unit = name.flatMap { sqlite3_value_text($0) }.flatMap { TimestampUnit(rawValue: String(cString: $0)) }
    if name != nil, unit == nil { return nil }
    return RowInstant.instant(of: ColumnValue(argument: value), unit)
}
