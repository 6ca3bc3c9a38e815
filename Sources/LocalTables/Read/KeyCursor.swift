package import GRDB
import GRDBSQLite
package import SnapshotModel
import StrictText

/// A range of consecutive keys: from `first` up to but excluding `next`.
package struct KeyRange: Sendable {
    /// The position of the range, from 0.
    package let number: Int
    /// The first key; nil for a range without a lower bound.
    package let first: EntityKey?
    /// The first key of the next range; nil for the last range.
    package let next: EntityKey?

    package init(number: Int, first: EntityKey?, next: EntityKey?) { (self.number, self.first, self.next) = (number, first, next) }

    /// Whether a key lies in the range.
    package func contains(_ key: EntityKey) -> Bool {
        if let first, key < first { return false }
        if let next, !(key < next) { return false }
        return true
    }
}

/// Iterates over a dataset's keys in order and divides them into ranges.
///
/// It reads only the key's index, which is far faster than reading rows. Memory: two keys.
package final class KeyCursor {
    private let statement: Statement
    private let handle: OpaquePointer
    private let place: String
    private let search: String
    /// The shape of the key in the statement's rows.
    private let shape: KeyShape
    private let values: UnsafeMutableBufferPointer<ColumnValue>
    private var keyBytes: [UInt8] = []
    private var pending: EntityKey?
    private var started = false
    /// How many ranges were returned.
    package private(set) var count = 0
    /// How many keys were read.
    package private(set) var keyCount = 0
    private let hasRowids: Bool

    package init(_ db: Database, _ schema: DatasetSchema, rowid: String?, within range: KeyRange, path: String) throws {
        let key = schema.keySQL
        hasRowids = rowid != nil
        statement = try db.makeStatement(
            sql: "SELECT \(key.list())\(rowid.map { ", \($0)" } ?? "") FROM \(schema.table.sqlIdentifier) \(key.condition(range)) ORDER BY \(key.list())"
        )
        handle = statement.sqliteStatement
        for (position, bound) in [(Int32(1), range.first), (Int32(2), range.next)] {
            guard let code = bound?.bind(to: handle, at: position), code != SQLITE_OK else { continue }
            throw DatabaseError(resultCode: ResultCode(rawValue: code))
        }
        shape = try schema.with(columns: schema.keyColumns).keyShape
        values = .allocate(capacity: schema.keyColumns.count)
        values.initialize(repeating: .null)
        place = "\(path), table \(schema.table), column \(schema.keyColumns.map(\.column).joined(separator: ", "))"
        search = "SELECT rowid FROM \(schema.table.sqlIdentifier) WHERE \(key.isNull())"
    }

    deinit { values.deallocate() }

    /// Returns the next range, or nil after the last one.
    ///
    /// - Parameter cuts: whether a key begins a new range.
    /// - Throws: ``SyncError`` with `.badRow` for a key that is NULL or an infinite number.
    package func next(cuts: (LentKey) -> Bool) throws -> KeyRange? {
        if !started {
            started = true
            pending = try step() ? withKey(\.owned) : nil
        }
        guard let first = pending else { return nil }
        while try step() {
            if try withKey(cuts) {
                pending = try withKey(\.owned)
                return range(first)
            }
        }
        pending = nil
        return range(first)
    }

    private func range(_ first: EntityKey) -> KeyRange {
        defer { count += 1 }
        return KeyRange(number: count, first: first, next: pending)
    }

    /// The rowid of the row with the next range's first key, after a range that is not the last; nil if the cursor reads no rowids.
    package var nextRowid: Int64? { hasRowids && pending != nil ? sqlite3_column_int64(handle, sqlite3_column_count(handle) - 1) : nil }

    /// Calls `body` with the current key.
    private func withKey<T>(_ body: (LentKey) -> T) throws -> T {
        for index in values.indices { values[index] = ColumnValue(handle, Int32(index)) }
        guard let result = shape.lendKey(of: UnsafeBufferPointer(values), using: &keyBytes, body) else {
            throw SyncError(
                database: .badRow, at: place, values.contains(where: \.isNull) ? "a column of the key is NULL" : "an infinite number cannot be a key",
                hint: "correct the row; find it with: \(search)")
        }
        return result
    }

    /// Moves to the next key. Returns false after the last.
    private func step() throws -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW:
            keyCount += 1
            return true
        case SQLITE_DONE:
            sqlite3_reset(handle)
            return false
        case let code:
            throw SyncError(DatabaseError(resultCode: ResultCode(rawValue: code)), at: place)
        }
    }
}
