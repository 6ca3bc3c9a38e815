import GRDB
import Platform
package import SnapshotModel
import StrictText
import Synchronization

/// Tells whether a database's tracking was checked before: by this program, with these tables, triggers and settings.
///
/// Comparing tables and triggers with the descriptions took a fifth of a run that had nothing to do. The stamp is the program's file and a hash
/// of every declaration in the database and of its settings, so that it changes with any of them. SQLite's own schema version would not do: a
/// table that was copied into another file could have the same one.
package struct TrackingStamp: TransactionPart {
    let transaction: LocalTransaction

    /// The stamp of the present state; nil if a stamp cannot tell.
    package func present(_ schemas: [DatasetSchema]) throws -> String? {
        // VACUUM changes rowids and no declaration.
        guard let program = Self.program, schemas.allSatisfy({ !TableInspector.mayHaveHiddenKey($0) }), try transaction.settings.exists() else { return nil }
        var hash = FowlerNollVoHash()
        for schema in schemas { hash.take(text: schema.name) }
        for sql in ["SELECT type, name, tbl_name, sql FROM main.sqlite_schema", "SELECT key, value, NULL, NULL FROM \(SettingsTable.name)"] {
            let statement = try KeyedStatement(db, sql)
            while try statement.step() {
                for column in 0..<Int32(4) { hash.take(statement.text(column)) }
            }
        }
        for schema in schemas {
            guard let id = try transaction.tracking.id(of: schema) else { return nil }
            hash.take(number: UInt64(bitPattern: id))
        }
        return "\(program) \(hash.value)"
    }

    /// The program's file.
    private static let program: String? = System.programPath.flatMap { FileTimes(ofFile: $0) }.map {
        "\($0.fileNumber) \($0.byteCount) \($0.modified.seconds).\($0.modified.nanoseconds)"
    }
}

/// The hash FNV-1a of 64 bits. Source: RFC 9923.
struct FowlerNollVoHash {
    private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    /// Takes a text and its length; nil counts as a text of its own.
    mutating func take(_ text: UnsafeRawBufferPointer?) {
        take(number: text.map { UInt64($0.count) } ?? .max)
        for byte in text ?? UnsafeRawBufferPointer(start: nil, count: 0) { take(byte) }
    }

    mutating func take(text: String) {
        var text = text
        text.withUTF8 { take(UnsafeRawBufferPointer($0)) }
    }

    mutating func take(number: UInt64) {
        for shift in 0..<UInt64(8) { take(UInt8(truncatingIfNeeded: number >> (8 * shift))) }
    }

    private mutating func take(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
}

/// The stamp that a run's check has confirmed, until a transaction records it.
package final class ConfirmedStamp: Sendable {
    private let stamp = Mutex<String?>(nil)

    package func confirm(_ new: String) { stamp.withLock { $0 = new } }

    /// Returns the stamp and forgets it.
    package func take() -> String? { stamp.withLock { $0.take() } }
}
