import GRDB
import GRDBSQLite
import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText

/// SQLite's side of a version: a virtual table for each dataset, and an authorizer that lets statements only read.
///
/// Constraints on the first columns of the key become ``KeyBounds``; SQLite compares each row again. A count without conditions reads no block.
/// Source: https://sqlite.org/vtab.html.
///
// SAFETY (@unchecked Sendable): used by one connection, one call at a time.
final class VersionModule: @unchecked Sendable {
    let tables: [VersionTable]
    /// Whether a statement of the user is prepared, and not one with which GRDB begins or ends an access.
    var isStatement = false
    /// The error that ended a statement.
    var failure: SyncError?

    init(_ tables: [VersionTable]) { self.tables = tables }

    /// Adds the tables to a connection, and then forbids everything but reading.
    func attach(to db: Database) throws {
        // SAFETY: the connection owns the reference, and releases it when it closes. The authorizer is not called afterwards.
        let reference = Unmanaged.passRetained(self).toOpaque()
        let code = sqlite3_create_module_v2(db.sqliteConnection, "snapsync_version", Self.functions, reference) {
            Unmanaged<VersionModule>.fromOpaque($0!).release()
        }
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
        for (number, table) in tables.enumerated() {
            try db.execute(sql: "CREATE VIRTUAL TABLE \(table.schema.table.sqlIdentifier) USING snapsync_version(\(number))")
        }
        // SQLite declares its own tables at their first use, which the authorizer would take for a change.
        for name in ["json_each", "json_tree"] + Self.pragmas.map({ "pragma_\($0)" }) { _ = try? db.makeStatement(sql: "SELECT 1 FROM \(name)") }
        sqlite3_set_authorizer(
            db.sqliteConnection,
            { reference, action, name, _, _, _ in Unmanaged<VersionModule>.fromOpaque(reference!).takeUnretainedValue().verdict(action, on: name) },
            reference)
    }

    /// Whether a statement may do something with the table or pragma of that name.
    private func verdict(_ action: Int32, on name: UnsafePointer<CChar>?) -> Int32 {
        let name = name.map { String(cString: $0).folded.text } ?? ""
        switch action {
        case SQLITE_READ, SQLITE_SELECT, SQLITE_RECURSIVE, SQLITE_FUNCTION: return SQLITE_OK
        case SQLITE_PRAGMA where Self.pragmas.contains(name): return SQLITE_OK
        case SQLITE_PRAGMA where name == "query_only": fallthrough
        case SQLITE_TRANSACTION, SQLITE_SAVEPOINT: return isStatement ? SQLITE_DENY : SQLITE_OK
        default: return SQLITE_DENY
        }
    }

    /// The pragmas that only tell something.
    private static let pragmas = [
        "table_list", "table_info", "table_xinfo", "index_list", "index_info", "index_xinfo", "foreign_key_list", "database_list", "collation_list",
        "function_list", "module_list", "pragma_list", "compile_options",
    ]

    /// Runs `body`. An error becomes SQLite's message and code, and is kept as ``failure``.
    fileprivate func run(_ message: inout UnsafeMutablePointer<CChar>?, _ body: () throws -> Void) -> Int32 {
        do {
            try body()
            return SQLITE_OK
        } catch {
            let failure = SyncError(error, step: .read)
            self.failure = failure
            sqlite3_free(message)
            let text = "\(failure)".utf8CString
            message = sqlite3_malloc64(UInt64(text.count))?.assumingMemoryBound(to: CChar.self)
            for (offset, byte) in text.enumerated() { message?[offset] = byte }
            return failure.code == .dataRefused ? Self.corrupt : SQLITE_ERROR
        }
    }

    /// SQLITE_CORRUPT_VTAB, which is a macro.
    private static let corrupt = SQLITE_CORRUPT | 1 << 8
}

/// A virtual table as SQLite knows it. SQLite's part comes first.
private struct TableHandle {
    var base = sqlite3_vtab()
    let module: Unmanaged<VersionModule>
    let table: Unmanaged<VersionTable>
}

private struct CursorHandle {
    var base = sqlite3_vtab_cursor()
    let cursor: Unmanaged<TableCursor>
}

/// How a scan finds its rows, in SQLite's `idxNum`: the number of key columns that are compared for equality, and these bits.
private struct ScanPlan: OptionSet {
    let rawValue: Int32
    static let lower = ScanPlan(rawValue: 1), upper = ScanPlan(rawValue: 2)
    /// No column is needed: the number of rows is enough.
    static let count = ScanPlan(rawValue: 4)
    /// The encoded key is given.
    static let key = ScanPlan(rawValue: 8)
    /// The bits below the number of columns.
    static let width: Int32 = 4
}

private final class TableCursor {
    let module: VersionModule
    let table: VersionTable
    private var scan: RowScan?
    /// How many rows are left to count.
    private var left = 0
    private(set) var isAtEnd = true

    init(_ module: VersionModule, _ table: VersionTable) { (self.module, self.table) = (module, table) }

    func filter(_ number: Int32, _ values: UnsafeBufferPointer<OpaquePointer?>) throws {
        let plan = ScanPlan(rawValue: number & (1 << ScanPlan.width - 1))
        scan = nil
        left = table.rowCount
        if !plan.contains(.count) {
            guard let bounds = bounds(plan, columns: Int(number >> ScanPlan.width), values) else { return isAtEnd = true }
            scan = try table.scan(bounds)
        }
        try next()
    }

    func next() throws {
        if let scan { isAtEnd = try !scan.next() } else { (isAtEnd, left) = (left == 0, left - 1) }
    }

    func send(_ column: Int, to context: OpaquePointer?) throws {
        guard let scan else { throw SyncError(.refused, step: .read, at: table.schema.table, "a column of rows that are only counted was asked for") }
        guard column < table.schema.columns.count else { return scan.key.withUnsafeBytes { ColumnValue.blob($0).result(in: context) } }
        scan.value(column).result(in: context)
    }

    /// The bounds that the arguments set; nil if no row can satisfy them. They may be wider than the conditions.
    private func bounds(_ plan: ScanPlan, columns: Int, _ values: UnsafeBufferPointer<OpaquePointer?>) -> KeyBounds? {
        if plan.contains(.key) {
            guard case .blob(let key) = ColumnValue(argument: values[0]) else { return nil }
            return KeyBounds(Array(key))
        }
        let parts = table.schema.keyShape.parts
        var prefix: [UInt8] = []
        for number in 0..<columns {
            switch append(values[number], as: parts[number], to: &prefix) {
            case .impossible: return nil
            case .unknown: return prefix.isEmpty ? KeyBounds() : KeyBounds(prefix)
            case .added: break
            }
        }
        var bounds = prefix.isEmpty ? KeyBounds() : KeyBounds(prefix), next = columns
        for (bit, end) in [(ScanPlan.lower, \KeyBounds.lower), (.upper, \.upper)] where plan.contains(bit) {
            var bytes = prefix
            switch append(values[next], as: parts[columns], to: &bytes) {
            case .impossible: return nil
            case .unknown: break
            case .added: bounds[keyPath: end] = bytes
            }
            next += 1
        }
        return bounds
    }

    private enum Appended { case added, unknown, impossible }

    /// Appends a value as SQLite compares it with the column. Where that depends on what the statement has on the other side, the value is unknown.
    private func append(_ value: OpaquePointer?, as part: KeyShape.Part, to bytes: inout [UInt8]) -> Appended {
        let affinity = table.affinity(part.index)
        // Converts a text that is a number.
        if affinity == .number { sqlite3_value_numeric_type(value) }
        let value = ColumnValue(argument: value)
        switch value {
        case .null: return .impossible
        case .integer where affinity == .number, .text where affinity != .none, .blob: break
        case .real(let real) where affinity == .number && real.isFinite: break
        default: return .unknown
        }
        EncodedKey.append(value, part.collation, to: &bytes)
        return .added
    }
}

extension VersionModule {
    /// The functions that SQLite calls.
    // SAFETY: made once and never written again.
    nonisolated(unsafe) private static let functions: UnsafePointer<sqlite3_module> = {
        var module = sqlite3_module()
        module.iVersion = 1
        module.xCreate = connect
        module.xConnect = connect
        module.xDisconnect = disconnect
        module.xDestroy = disconnect
        module.xBestIndex = { pointer, info in
            plan(info!, handle(pointer).table.takeUnretainedValue())
            return SQLITE_OK
        }
        module.xOpen = { pointer, cursor in
            let handle = handle(pointer)
            let found = TableCursor(handle.module.takeUnretainedValue(), handle.table.takeUnretainedValue())
            let made = UnsafeMutablePointer<CursorHandle>.allocate(capacity: 1)
            made.initialize(to: CursorHandle(cursor: .passRetained(found)))
            cursor?.pointee = UnsafeMutableRawPointer(made).assumingMemoryBound(to: sqlite3_vtab_cursor.self)
            return SQLITE_OK
        }
        module.xClose = { pointer in
            let made = UnsafeMutableRawPointer(pointer!).assumingMemoryBound(to: CursorHandle.self)
            made.pointee.cursor.release()
            made.deallocate()
            return SQLITE_OK
        }
        module.xFilter = { pointer, number, _, count, values in run(pointer) { try $0.filter(number, UnsafeBufferPointer(start: values, count: Int(count))) } }
        module.xNext = { pointer in run(pointer) { try $0.next() } }
        module.xEof = { cursor($0).isAtEnd ? 1 : 0 }
        module.xColumn = { pointer, context, column in run(pointer) { try $0.send(Int(column), to: context) } }
        // The tables are WITHOUT ROWID, so SQLite does not ask.
        module.xRowid = { _, _ in SQLITE_MISUSE }
        let made = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
        made.initialize(to: module)
        return UnsafePointer(made)
    }()

    // SAFETY (of the three functions): SQLite passes back what `connect` and `xOpen` have made.
    private static func handle(_ pointer: UnsafeMutablePointer<sqlite3_vtab>?) -> TableHandle {
        UnsafeMutableRawPointer(pointer!).assumingMemoryBound(to: TableHandle.self).pointee
    }

    private static func cursor(_ pointer: UnsafeMutablePointer<sqlite3_vtab_cursor>?) -> TableCursor {
        UnsafeMutableRawPointer(pointer!).assumingMemoryBound(to: CursorHandle.self).pointee.cursor.takeUnretainedValue()
    }

    private static func run(_ pointer: UnsafeMutablePointer<sqlite3_vtab_cursor>?, _ body: (TableCursor) throws -> Void) -> Int32 {
        let cursor = cursor(pointer)
        return cursor.module.run(&pointer!.pointee.pVtab.pointee.zErrMsg) { try body(cursor) }
    }

    private static let connect:
        @convention(c) (
            OpaquePointer?, UnsafeMutableRawPointer?, Int32, UnsafePointer<UnsafePointer<CChar>?>?,
            UnsafeMutablePointer<UnsafeMutablePointer<sqlite3_vtab>?>?, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        ) -> Int32 = { connection, reference, count, arguments, result, _ in
            let module = Unmanaged<VersionModule>.fromOpaque(reference!)
            guard count == 4, let text = arguments?[3], let number = Int(String(cString: text)) else { return SQLITE_ERROR }
            let table = module.takeUnretainedValue().tables[number]
            let code = sqlite3_declare_vtab(connection, table.declaration)
            guard code == SQLITE_OK else { return code }
            let made = UnsafeMutablePointer<TableHandle>.allocate(capacity: 1)
            made.initialize(to: TableHandle(module: module, table: .passUnretained(table)))
            result?.pointee = UnsafeMutableRawPointer(made).assumingMemoryBound(to: sqlite3_vtab.self)
            return SQLITE_OK
        }

    private static let disconnect: @convention(c) (UnsafeMutablePointer<sqlite3_vtab>?) -> Int32 = { pointer in
        UnsafeMutableRawPointer(pointer!).assumingMemoryBound(to: TableHandle.self).deallocate()
        return SQLITE_OK
    }

    /// Chooses the constraints that bound a scan, and estimates its rows.
    private static func plan(_ info: UnsafeMutablePointer<sqlite3_index_info>, _ table: VersionTable) {
        let parts = table.schema.keyShape.parts, constraints = UnsafeBufferPointer(start: info.pointee.aConstraint, count: Int(info.pointee.nConstraint))
        func find(_ operators: [Int32], column: Int, collation: KeyCollation?) -> Int? {
            constraints.indices.first { number in
                let one = constraints[number]
                guard one.usable != 0, Int(one.iColumn) == column, operators.contains(Int32(one.op)) else { return false }
                // Texts that are equal by their bytes are equal in each collation. Other comparisons need the collation of the key.
                let name = String(cString: sqlite3_vtab_collation(info, Int32(number))).folded
                return collation.map { $0.rawValue.folded == name || operators == equality && name == KeyCollation.binary.rawValue.folded } ?? true
            }
        }
        var plan: ScanPlan = [], used: [Int] = [], columns = 0, rows = Double(table.rowCount)
        if let number = find(equality, column: table.schema.columns.count, collation: nil) {
            (plan, used, rows) = (.key, [number], 1)
        } else {
            while columns < parts.count, let number = find(equality, column: parts[columns].index, collation: parts[columns].collation) {
                used.append(number)
                columns += 1
            }
            rows = columns == parts.count ? 1 : columns > 0 ? min(rows, Double(table.rowsPerRun)) : rows
            if columns < parts.count {
                let part = parts[columns]
                for (bit, operators) in [
                    (ScanPlan.lower, [SQLITE_INDEX_CONSTRAINT_GT, SQLITE_INDEX_CONSTRAINT_GE]),
                    (.upper, [SQLITE_INDEX_CONSTRAINT_LT, SQLITE_INDEX_CONSTRAINT_LE]),
                ] {
                    guard let number = find(operators, column: part.index, collation: part.collation) else { continue }
                    plan.insert(bit)
                    used.append(number)
                    rows /= 4
                }
            }
            if constraints.isEmpty, info.pointee.colUsed == 0, info.pointee.nOrderBy == 0 { plan = .count }
        }
        for (position, number) in used.enumerated() { info.pointee.aConstraintUsage[number].argvIndex = Int32(position) + 1 }
        info.pointee.idxNum = plan.rawValue | Int32(columns) << ScanPlan.width
        info.pointee.estimatedRows = Int64(max(1, rows))
        table.isNeeded = table.isNeeded || plan != .count
        // Each scan decodes at least one block.
        info.pointee.estimatedCost = plan == .count ? 1 : max(rows, Double(table.rowsPerRun))
        if plan == .key || columns == parts.count { info.pointee.idxFlags = SQLITE_INDEX_SCAN_UNIQUE }
        // Rows come in the order of the key; SQLite passes on only terms with the collation of the column.
        let order = UnsafeBufferPointer(start: info.pointee.aOrderBy, count: Int(info.pointee.nOrderBy))
        if order.count <= parts.count, zip(order, parts).allSatisfy({ Int($0.iColumn) == $1.index && $0.desc == 0 }) { info.pointee.orderByConsumed = 1 }
    }

    private static let equality = [SQLITE_INDEX_CONSTRAINT_EQ, SQLITE_INDEX_CONSTRAINT_IS]
}
