import GRDB
import GRDBSQLite
package import SnapshotModel

/// A run of consecutive keys: from the first on, up to and without the next run's first.
package struct KeyRange: Sendable {
    /// The position of the run, from 0.
    package let number: Int
    /// The first key; nil begins before every key.
    package let first: EntityKey?
    /// The first key of the next run; nil for the last.
    package let next: EntityKey?

    package init(number: Int, first: EntityKey?, next: EntityKey?) {
        self.number = number
        self.first = first
        self.next = next
    }

    /// Whether a key lies in the range.
    package func contains(_ key: EntityKey) -> Bool {
        if let first, key < first { return false }
        if let next, !(key < next) { return false }
        return true
    }

    /// The condition for rows of the range, with the bounds as parameters 1 and 2.
    func condition(on key: String) -> String {
        switch (first, next) {
        case (nil, nil): ""
        case (nil, _): "WHERE \(key) < ?2"
        case (_, nil): "WHERE \(key) >= ?1"
        default: "WHERE \(key) >= ?1 AND \(key) < ?2"
        }
    }
}

/// Walks a dataset's keys in order and cuts them into runs.
///
/// It reads the key's index alone, so it is far faster than the rows. Text keys only. Memory: two keys.
package final class KeyCursor {
    private let statement: Statement
    private let handle: OpaquePointer
    private let place: String
    private let search: String
    private var pending: EntityKey?
    private var started = false
    /// How many runs were returned.
    package private(set) var count = 0

    init(_ db: Database, _ schema: DatasetSchema, path: String) throws {
        let key = schema.key.column.sqlIdentifier
        statement = try db.makeStatement(sql: "SELECT \(key) FROM \(schema.table.sqlIdentifier) ORDER BY \(key)")
        handle = statement.sqliteStatement
        place = "\(path), table \(schema.table), column \(schema.key.column)"
        search = "SELECT rowid FROM \(schema.table.quotedDatabaseIdentifier) WHERE typeof(\(key)) <> 'text'"
    }

    /// Returns the next run, or nil after the last one.
    ///
    /// - Parameter cuts: whether the key that is lent begins a new run.
    /// - Throws: ``LocalStoreError`` with `.badRow` for a key that is NULL or no text.
    package func next(cuts: (UnsafeRawBufferPointer) -> Bool) throws -> KeyRange? {
        if !started {
            started = true
            pending = try step().map { .text(Array($0)) }
        }
        guard let first = pending else { return nil }
        while let key = try step() {
            if cuts(key) {
                pending = .text(Array(key))
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

    /// Lends the next key until the next step; nil after the last.
    private func step() throws -> UnsafeRawBufferPointer? {
        switch sqlite3_step(handle) {
        case SQLITE_ROW:
            let type = sqlite3_column_type(handle, 0)
            guard type == SQLITE_TEXT else {
                throw LocalStoreError(
                    .badRow, at: place, type == SQLITE_NULL ? "the key is NULL" : "the key is not of type text",
                    hint: "correct the row; find it with: \(search)")
            }
            // SAFETY: the pointer and the length hold until the next step.
            return UnsafeRawBufferPointer(start: sqlite3_column_text(handle, 0), count: Int(sqlite3_column_bytes(handle, 0)))
        case SQLITE_DONE:
            sqlite3_reset(handle)
            return nil
        case let code:
            throw LocalStoreError(DatabaseError(resultCode: ResultCode(rawValue: code)), at: place)
        }
    }
}
