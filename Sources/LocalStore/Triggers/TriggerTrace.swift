import GRDB
import GRDBSQLite
import StrictText

/// Records which of the application's triggers ran last on a connection, because SQLite's errors do not name it.
final class TriggerTrace {
    private let connection: OpaquePointer?
    private(set) var last: String?

    init(_ db: Database) {
        connection = db.sqliteConnection
        // SAFETY: `self` outlives the tracing, which `deinit` ends. SQLite calls the function on the connection's own thread.
        sqlite3_trace_v2(
            connection, UInt32(SQLITE_TRACE_STMT),
            { _, context, _, text in
                guard let context, let text else { return 0 }
                let prefix: StaticString = "-- TRIGGER "
                let characters = text.assumingMemoryBound(to: CChar.self)
                // The comparison stops at the first difference, at the latest at the zero byte that ends the text.
                guard prefix.withUTF8Buffer({ bytes in bytes.indices.allSatisfy { UInt8(bitPattern: characters[$0]) == bytes[$0] } }) else { return 0 }
                let name = String(cString: characters + prefix.utf8CodeUnitCount)
                if !name.exact.hasPrefix("snapsync_") { Unmanaged<TriggerTrace>.fromOpaque(context).takeUnretainedValue().last = name }
                return 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Resets ``last`` before another statement runs.
    func begin() { last = nil }

    func end() { sqlite3_trace_v2(connection, 0, nil, nil) }

    deinit { end() }
}
