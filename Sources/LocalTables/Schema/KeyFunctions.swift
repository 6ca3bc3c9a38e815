import GRDB
import GRDBSQLite
import SnapshotModel
import StrictText

extension Database {
    /// Adds SQL functions that make and decode encoded keys.
    ///
    /// - `snapsync_key(spec, value, …)`: the key of these values, as the toolkit's tables store it; NULL if one of them is NULL. `spec` has a letter
    ///   for each value, which is the collation of its text (`b`, `n`, `r`). Of a single number, 1.0 becomes 1, and a single text is folded.
    /// - `snapsync_key_value(key, n)`: the value at position `n` of a stored key.
    /// - `snapsync_logged_key(spec, text)`: the encoded key of a text that a trigger has logged (``KeySQL/logged(of:)``).
    /// - `snapsync_is_utf8(value)`: 0 for a text that is not UTF-8, else 1.
    func addKeyFunctions() throws {
        try add("snapsync_key") { context, count, arguments in
            guard let arguments, count > 1, let spec = bytes(of: arguments[0]), spec.count == count - 1 else { return sqlite3_result_null(context) }
            var key: [UInt8] = []
            if count == 2, let collation = KeyCollation(letter: spec[0]) {
                switch sqlite3_value_type(arguments[1]) {
                case SQLITE_INTEGER: return sqlite3_result_value(context, arguments[1])
                case SQLITE_FLOAT:
                    guard let whole = Int64(exactly: sqlite3_value_double(arguments[1])) else { return sqlite3_result_value(context, arguments[1]) }
                    return sqlite3_result_int64(context, whole)
                case SQLITE_TEXT:
                    guard collation != .binary, let text = bytes(of: arguments[1]) else { return sqlite3_result_value(context, arguments[1]) }
                    collation.appendFolded(text, to: &key)
                    return setText(key, context)
                default: break
                }
            }
            for index in 1..<Int(count) {
                let value = ColumnValue(argument: arguments[index])
                guard let collation = KeyCollation(letter: spec[index - 1]), !value.isNull else { return sqlite3_result_null(context) }
                EncodedKey.append(value, collation, to: &key)
            }
            setBlob(key, context)
        }
        try add("snapsync_key_value") { context, count, arguments in
            guard let arguments, count == 2 else { return sqlite3_result_null(context) }
            let position = Int(sqlite3_value_int(arguments[1]))
            // The key of one column is its value, unless that is a blob.
            if sqlite3_value_type(arguments[0]) != SQLITE_BLOB {
                return position == 0 ? sqlite3_result_value(context, arguments[0]) : sqlite3_result_null(context)
            }
            guard let bytes = bytes(of: arguments[0]), let values = EncodedKey.values(of: Array(bytes)) else { return sqlite3_result_null(context) }
            guard values.indices.contains(position) else { return sqlite3_result_null(context) }
            switch values[position] {
            case .integer(let value): sqlite3_result_int64(context, value)
            case .real(let value): sqlite3_result_double(context, value)
            case .text(let text): setText(text, context)
            case .blob(let blob): setBlob(blob, context)
            }
        }
        try add("snapsync_logged_key") { context, count, arguments in
            guard let arguments, count == 2, let spec = bytes(of: arguments[0]) else { return sqlite3_result_null(context) }
            // The toolkit itself logs keys that are encoded already.
            if sqlite3_value_type(arguments[1]) == SQLITE_BLOB { return sqlite3_result_value(context, arguments[1]) }
            guard sqlite3_value_type(arguments[1]) == SQLITE_TEXT, let text = bytes(of: arguments[1]), let key = LoggedKey.encoded(text, spec) else {
                return sqlite3_result_null(context)
            }
            setBlob(key, context)
        }
        try add("snapsync_is_utf8") { context, count, arguments in
            guard let arguments, count == 1, sqlite3_value_type(arguments[0]) == SQLITE_TEXT, let text = bytes(of: arguments[0]) else {
                return sqlite3_result_int(context, 1)
            }
            sqlite3_result_int(context, UTF8Check.firstFault(in: text) == nil ? 1 : 0)
        }
    }

    /// Adds a deterministic SQL function for any number of arguments.
    func add(
        _ name: String, _ function: @escaping @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void
    ) throws {
        let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
        let code = sqlite3_create_function_v2(sqliteConnection, name, -1, flags, nil, function, nil, nil, nil)
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }
}

extension KeyCollation {
    /// The collation for a letter of a function's first argument.
    fileprivate init?(letter: UInt8) {
        switch letter {
        case UInt8(ascii: "b"): self = .binary
        case UInt8(ascii: "n"): self = .nocase
        case UInt8(ascii: "r"): self = .rtrim
        default: return nil
        }
    }
}

/// The bytes of a text or blob, valid while the function runs; nil for other values.
private func bytes(of value: OpaquePointer?) -> UnsafeRawBufferPointer? {
    switch ColumnValue(argument: value) {
    case .text(let bytes), .blob(let bytes): bytes
    default: nil
    }
}

private func setText(_ bytes: [UInt8], _ context: OpaquePointer?) { bytes.withUnsafeBytes { ColumnValue.text($0).result(in: context) } }

private func setBlob(_ bytes: [UInt8], _ context: OpaquePointer?) { bytes.withUnsafeBytes { ColumnValue.blob($0).result(in: context) } }

/// The text of a key that a trigger has logged.
enum LoggedKey {
    /// The encoded key; nil for a text that no trigger writes.
    static func encoded(_ text: UnsafeRawBufferPointer, _ spec: UnsafeRawBufferPointer) -> [UInt8]? {
        guard text.last == UInt8(ascii: ",") else { return nil }
        let values = text.dropLast().split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard values.count == spec.count else { return nil }
        var key: [UInt8] = []
        for (value, letter) in zip(values, spec) {
            guard let collation = KeyCollation(letter: letter), let kind = value.first else { return nil }
            let digits = value.dropFirst()
            switch kind {
            case UInt8(ascii: "i"):
                guard let number = Int64(String(decoding: digits, as: UTF8.self)) else { return nil }
                EncodedKey.append(.integer(number), collation, to: &key)
            case UInt8(ascii: "r"):
                // SQLite writes `Inf` for an infinite number. No version can contain such a key.
                guard let number = Double(String(decoding: digits, as: UTF8.self)) else { return nil }
                EncodedKey.append(.real(number), collation, to: &key)
            case UInt8(ascii: "t"), UInt8(ascii: "b"):
                guard let content = Hexadecimal.bytes(digits, ten: UInt8(ascii: "A")) else { return nil }
                content.withUnsafeBytes { EncodedKey.append(kind == UInt8(ascii: "t") ? .text($0) : .blob($0), collation, to: &key) }
            default: return nil
            }
        }
        return key
    }
}
