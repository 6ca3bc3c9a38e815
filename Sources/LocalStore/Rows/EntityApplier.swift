import GRDB
import GRDBSQLite
import LocalTables
package import SnapshotModel
import StrictText

/// Inserts the entities of one dataset into its table: the insert of delete-then-insert.
///
///     let applier = try transaction.rows.replaceAll(of: schema)
///     try block.send(to: applier)
///
/// Valid inside the transaction that it was made in. Memory: one row.
package final class EntityApplier: EntitySink {
    /// How many entities were written.
    package private(set) var count = 0
    private let statement: Statement
    private let handle: OpaquePointer
    private let connection: OpaquePointer
    private let place: String
    private let schema: DatasetSchema
    private let transaction: LocalTransaction
    /// The positions of columns that get the table's default where an entity has no value. Most tables have none.
    private let defaultColumns: [Int]
    /// The columns that may change a value that they store.
    private let changingColumns: [(index: Int, declared: String, affinity: ColumnAffinity)]
    /// The position of the key, if that is the rowid, which holds only integers.
    private let rowidIndex: Int?

    /// - Parameters:
    ///   - updating: whether an entity whose key exists updates that row instead of failing.
    ///   - target: the dataset into whose table the rows will come, if this one is temporary. Its columns decide which values they keep.
    init(_ transaction: LocalTransaction, _ schema: DatasetSchema, updating: Bool = false, for target: DatasetSchema? = nil) throws {
        // SQLite checks NOT NULL before it finds that the row is there and only has to be updated.
        let key = schema.keyIndices.map { "t.\(schema.columns[$0].column.sqlIdentifier) = ?\($0 + 1)" }.joined(separator: " AND ")
        let table = try TableColumns(transaction.db, schema.table), declared = try target.map { try TableColumns(transaction.db, $0.table) } ?? table
        let required = updating ? table?.undescribed(by: schema).filter(\.isRequired).map(\.name.sqlIdentifier) ?? [] : []
        let kept = required.map { (name: $0, value: "(SELECT t.\($0) FROM main.\(schema.table.sqlIdentifier) t WHERE \(key))") }
        let columns = (schema.columns.map { $0.column.sqlIdentifier } + kept.map(\.name)).joined(separator: ", ")
        // A version may lack a value for a column that this table declares NOT NULL: it was published before the column was added, or by a device
        // whose table permits NULL.
        let defaults = table?.requiredDefaults(of: schema, transaction.db) ?? [:]
        let described = schema.columns.map { column in defaults[column.column.folded].map { "coalesce(?, \($0))" } ?? "?" }
        let unpublished = Set(transaction.missingColumns[schema.name] ?? [])
        defaultColumns = schema.columns.indices.filter { !unpublished.contains($0) && defaults[schema.columns[$0].column.folded] != nil }
        self.transaction = transaction
        let values = (described + kept.map(\.value)).joined(separator: ", ")
        let rowidIndex = try transaction.tables.hasRowidKey(schema) ? schema.keyIndices[0] : nil
        self.rowidIndex = rowidIndex
        // Update instead of REPLACE, which would also delete rows that conflict in other unique indexes. The update includes key columns whose
        // equal values may be stored differently: in another case, with trailing spaces, as an integer or a real.
        let others = schema.columns.indices.filter { index in
            guard let part = schema.keyShape.parts.first(where: { $0.index == index }) else { return true }
            return part.collation != .binary || part.shape != .text && part.shape != .integer && rowidIndex == nil
        }.map { schema.columns[$0] }.map { "\($0.column.sqlIdentifier) = excluded.\($0.column.sqlIdentifier)" }
        let conflict = others.isEmpty ? "NOTHING" : "UPDATE SET \(others.joined(separator: ", "))"
        // Without ABORT, a constraint with its own ON CONFLICT clause could drop this row or another one without an error.
        statement = try transaction.db.makeStatement(
            sql: """
                INSERT OR ABORT INTO \(schema.table.sqlIdentifier)(\(columns)) VALUES(\(values))\(updating ? " ON CONFLICT(\(schema.keySQL.list())) DO \(conflict)" : "")
                """)
        handle = statement.sqliteStatement
        guard let connection = sqlite3_db_handle(handle) else { throw DatabaseError(resultCode: .SQLITE_MISUSE) }
        self.connection = connection
        place = "\(transaction.path), table \(schema.table)"
        self.schema = schema
        changingColumns = schema.columns.indices.compactMap { index in
            guard let own = declared?.column(schema.columns[index].column), own.affinity.mayChange(schema.columns[index].shape) else { return nil }
            return (index, own.declared, own.affinity)
        }
    }

    package func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        let handle = self.handle
        var code = SQLITE_OK
        for column in changingColumns {
            if let form = column.affinity.changed(values[column.index]) { throw changed(column.index, column.declared, how: "as \(form) and not as it is") }
        }
        if let rowidIndex {
            switch values[rowidIndex] {
            case .integer, .null: break
            default: throw changed(rowidIndex, "INTEGER PRIMARY KEY", how: "not at all, for it holds only integers")
            }
        }
        for index in 0..<values.count {
            // SAFETY: SQLite reads the bytes in `step`, while they are valid.
            code |= values[index].bind(to: handle, at: Int32(truncatingIfNeeded: index + 1), copies: false)
        }
        guard code == SQLITE_OK else { throw failure(code) }
        code = sqlite3_step(handle)
        // The values are valid until this call returns; the next bind replaces every one of them.
        guard code == SQLITE_DONE, sqlite3_reset(handle) == SQLITE_OK else {
            defer { sqlite3_reset(handle) }
            throw failure(code)
        }
        count += 1
        if defaultColumns.contains(where: { if case .null = values[$0] { true } else { false } }), let key = schema.keyShape.key(of: values) {
            try transaction.defaultedRows.add(key, of: schema)
        }
    }

    private func changed(_ index: Int, _ declared: String, how: String) -> SyncError {
        SyncError(
            database: .schemaMismatch, at: "\(place), entity \(count)",
            "the column \(schema.columns[index].column) is declared \(declared), which stores a value of this entity \(how)",
            hint: index == rowidIndex || !transaction.takesNewest
                ? "declare the column as the table was where the values were written, or without a type, which keeps every value"
                : "to declare it as the zone does, unless that would change a key or an edit: snapsync tables adopt \(transaction.path.shellWord) --create"
        )
    }

    private func failure(_ code: Int32) -> SyncError {
        let notNull = "NOT NULL constraint failed: \(schema.table)."
        if let message = sqlite3_errmsg(connection).map({ String(cString: $0) }), code & 0xFF == SQLITE_CONSTRAINT, message.exact.hasPrefix(notNull) {
            let column = String(Substring(message.utf8.dropFirst(notNull.utf8.count)))
            return SyncError(
                database: .schemaMismatch, at: "\(place), entity \(count)",
                "an entity has no value for the column \(column), which is NOT NULL here and has no default; nothing was changed",
                hint:
                    "make the table anew with a default for \(column), or let the column be NULL, as it is on the device that wrote the row (its table: snapsync tables sql); or write a value there, and sync both"
            )
        }
        return SyncError(
            DatabaseError(resultCode: ResultCode(rawValue: code & 0xFF), message: String(cString: sqlite3_errmsg(connection))),
            at: "\(place), entity \(count)")
    }
}
