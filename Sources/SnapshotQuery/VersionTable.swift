import CloudStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import SnapshotTools
import SnapshotVersions
import StrictText
import Synchronization

/// One dataset of a version, read by keys and by ranges of keys.
///
///     let table = try await VersionTable(record, described, in: cloud, zone: zone)
///     try await table.open()
///     let scan = try table.scan(KeyBounds())
///     while let row = try scan.next() { … }
///
/// Opening reads the block index and the change assets, and a scan only the blocks of its range. Memory: those, and ``cacheLimit`` blocks.
///
// SAFETY (@unchecked Sendable): rows are read by one thread at a time, the one that runs the statement.
final class VersionTable: @unchecked Sendable {
    let record: CloudRecord
    /// The dataset with the table's names. It reads versions with fewer columns, too.
    let schema: DatasetSchema
    /// How SQL declares each column.
    private let declarations: [TableStructure.Column?]
    private let isStrict: Bool
    private let fields: DatasetRecord?
    private let cloud: CloudDatabase
    private let zone: ZoneID
    private let opened: Mutex<DatasetVersion?>
    private var cached: [LoadedRun] = []
    /// Whether a statement that was prepared since this was set to false reads rows, and not only their number.
    var isNeeded = false

    /// How many blocks that were looked into by key stay decoded.
    private static let cacheLimit = 4

    /// Prepares a dataset. Without a description, this opens the version, whose index names the columns.
    init(_ record: CloudRecord, _ description: DatasetDescription?, in cloud: CloudDatabase, zone: ZoneID) async throws {
        (self.record, self.cloud, self.zone) = (record, cloud, zone)
        fields = DatasetRecord(record)
        if let description {
            schema = try description.schema.relaxed()
            opened = Mutex(nil)
        } else {
            let version = try await DatasetVersion(record, in: cloud, zone: zone)
            schema = try version.schema.relaxed()
            opened = Mutex(version.giving(schema))
        }
        declarations = schema.columns.map { description?.structure.column($0.column) }
        isStrict = description?.structure.strict ?? false
    }

    /// Prepares another version of a table's dataset, to be read by the same schema.
    init(_ record: CloudRecord, readBy other: VersionTable) {
        (self.record, fields, schema) = (record, DatasetRecord(record), other.schema)
        (declarations, isStrict, cloud, zone) = (other.declarations, other.isStrict, other.cloud, other.zone)
        opened = Mutex(nil)
    }

    /// Opens the version's assets. Later calls do nothing.
    func open() async throws {
        let version = if let version { version } else { try await DatasetVersion(record, in: cloud, zone: zone).giving(schema) }
        _ = try version.loaded()
        opened.withLock { $0 = $0 ?? version }
    }

    /// The version; nil before it is open.
    var version: DatasetVersion? { opened.withLock(\.self) }

    /// Whether a user calls the dataset by this name: the table's, the dataset's or the record's.
    func isCalled(_ name: String) -> Bool {
        schema.table.folded == name.folded || schema.name.exact == name.exact || record.name.exact == name.exact
    }

    /// How many rows the version states.
    var rowCount: Int { fields?.recordCount ?? 0 }

    /// How many rows a block has on average; a guess before the version is open.
    var rowsPerRun: Int { max(1, rowCount / max(1, version?.snapshot.index.blocks.count ?? rowCount / 1000)) }

    // MARK: SQL

    /// The name of the hidden column with the encoded key, as SQL: one that the table does not have.
    var keyColumn: String {
        var name = "snapsync_key"
        while schema.columns.contains(where: { $0.column.folded == name.folded }) { name += "_" }
        return name.sqlIdentifier
    }

    /// The statement that declares the table to SQLite, with its types and collations, so that comparisons work as in the table itself.
    var declaration: String {
        let columns = schema.columns.indices.map { index in
            let collation = declarations[index]?.collation ?? schema.columns[index].collation
            return "\(schema.columns[index].column.sqlIdentifier) \(type(index))" + (collation == .binary ? "" : " COLLATE \(collation.rawValue.uppercased())")
        }
        let key = schema.keyColumns.map(\.column.sqlIdentifier).joined(separator: ", ")
        return "CREATE TABLE x(\(columns.joined(separator: ", ")), \(keyColumn) HIDDEN, PRIMARY KEY(\(key))) WITHOUT ROWID"
    }

    /// The declared type of a column. A row that is identified by its rowid has no column for it.
    private func type(_ index: Int) -> String {
        if let declared = declarations[index]?.declared { return isStrict && declared == .any ? "" : declared.sql }
        return switch schema.columns[index].shape {
        case .integer, .boolean: "INTEGER"
        case .real: "REAL"
        case .text, .json: "TEXT"
        case .blob: "BLOB"
        case nil: schema.keyIndices == [index] && ["rowid", "_rowid_", "oid"].contains(schema.columns[index].column.folded) ? "INTEGER" : ""
        }
    }

    /// What SQLite compares with a column.
    enum Affinity { case number, text, none }

    /// The affinity of a column (SQLite's documentation, "Datatypes", section 3.1).
    func affinity(_ index: Int) -> Affinity {
        switch type(index) {
        case "TEXT": .text
        case "BLOB", "": .none
        default: .number
        }
    }

    // MARK: rows

    /// The rows within bounds, in key order. Call ``open()`` before.
    func scan(_ bounds: KeyBounds) throws -> RowScan {
        guard let version else { throw SyncError(.refused, step: .read, at: schema.table, "the version is not open") }
        // The last run that begins at or before the lower bound, and the first that begins beyond the upper one.
        func firstRun(where isBeyond: ([UInt8]) -> Bool) -> Int {
            (1..<max(1, version.snapshot.index.blocks.count)).partitioningIndex { version.range(of: $0).first.map { isBeyond($0.encoded) } ?? false }
        }
        let first = bounds.lower.map { lower in firstRun { lower.lexicographicallyPrecedes($0) } - 1 } ?? 0
        let end = max(firstRun(where: bounds.areBefore), first + 1)
        guard end > first + 1 else { return RowScan(try loaded(first, of: version), within: bounds, by: schema, isShared: true) }
        let run = LoadedRun(version.cursor(Array(first..<end)), number: nil, columnCount: schema.columns.count)
        return RowScan(run, within: bounds, by: schema, isShared: false)
    }

    /// The values of a row, in the order of the schema's columns; nil if the version lacks it.
    func values(of key: EntityKey) throws -> [OwnedValue]? {
        let scan = try scan(KeyBounds(key.encoded))
        guard try scan.next() else { return nil }
        return schema.columns.indices.map { OwnedValue(scan.value($0)) }
    }

    /// What the version's snapshot asset states about the instants of its rows, except about runs of rows.
    func instants() throws -> [EntityKey: RowInstants] {
        var instants: [EntityKey: RowInstants] = [:]
        try version?.snapshot.readTail(as: schema, .init(instant: { if let at = $2 { instants[$1, default: RowInstants()].set($0, at) } }), withRuns: false)
        return instants
    }

    private func loaded(_ number: Int, of version: DatasetVersion) throws -> LoadedRun {
        if let found = cached.firstIndex(where: { $0.number == number }) {
            cached.append(cached.remove(at: found))
        } else {
            let run = LoadedRun(version.cursor([number]), number: number, columnCount: schema.columns.count)
            _ = try run.next()
            cached.append(run)
            if cached.count > Self.cacheLimit { cached.removeFirst() }
        }
        return cached[cached.count - 1]
    }
}

/// A range of keys, in the encoded form of docs/format.md, "Keys".
struct KeyBounds {
    /// No key before these bytes.
    var lower: [UInt8]?
    /// No key after these bytes, except those that begin with them: keys with further columns.
    var upper: [UInt8]?

    /// All keys.
    init(lower: [UInt8]? = nil, upper: [UInt8]? = nil) { (self.lower, self.upper) = (lower, upper) }

    /// One key, or those that begin with its columns.
    init(_ key: [UInt8]) { self.init(lower: key, upper: key) }

    /// Whether a key comes after all keys within the bounds.
    func areBefore(_ key: [UInt8]) -> Bool { upper.map { $0.lexicographicallyPrecedes(key) && !key.starts(with: $0) } ?? false }
}

extension EntityKey {
    /// The key's encoded values, also of one text or integer.
    var encoded: [UInt8] {
        if case .encoded(let bytes) = self { return bytes }
        if case .encoded(let bytes) = EntityKey(encoding: values) { return bytes }
        return []
    }
}

/// The entities of a run, decoded one after another. The values point into the run that the cursor owns.
final class LoadedRun: EntitySink {
    /// The run that it stays at; nil if it goes on to the next.
    let number: Int?
    private let cursor: VersionCursor
    private let columnCount: Int
    private var values: ContiguousArray<ColumnValue> = []
    private(set) var count = 0

    init(_ cursor: VersionCursor, number: Int?, columnCount: Int) { (self.cursor, self.number, self.columnCount) = (cursor, number, columnCount) }

    func receive(_ values: UnsafeBufferPointer<ColumnValue>) {
        self.values.append(contentsOf: values)
        count += 1
    }

    /// Goes on to the cursor's next run; false after the last.
    func next() throws -> Bool {
        values.removeAll(keepingCapacity: true)
        count = 0
        return try cursor.next(to: self)
    }

    func value(_ row: Int, _ column: Int) -> ColumnValue { values[row * columnCount + column] }

    /// The encoded key of a row.
    func key(_ row: Int, _ schema: DatasetSchema) -> [UInt8] {
        values.withUnsafeBufferPointer { schema.key(of: UnsafeBufferPointer(rebasing: $0[row * columnCount..<(row + 1) * columnCount]))?.encoded ?? [] }
    }
}

/// Walks the rows within bounds.
final class RowScan {
    private let run: LoadedRun
    private let bounds: KeyBounds
    private let schema: DatasetSchema
    /// Whether the run is one that is loaded already, and the only one.
    private let isShared: Bool
    private var row = -1

    fileprivate init(_ run: LoadedRun, within bounds: KeyBounds, by schema: DatasetSchema, isShared: Bool) {
        (self.run, self.bounds, self.schema, self.isShared) = (run, bounds, schema, isShared)
        if isShared { row = firstRow - 1 }
    }

    /// Moves to the next row; false after the last.
    ///
    /// - Throws: ``SyncError`` with `.dataRefused`, naming the block, if it is damaged.
    func next() throws -> Bool {
        row += 1
        while row >= run.count {
            guard !isShared, try run.next() else { return false }
            row = firstRow
        }
        return bounds.upper == nil || !bounds.areBefore(key)
    }

    /// A column of the row; valid until the next call of ``next()``.
    func value(_ column: Int) -> ColumnValue { run.value(row, column) }

    /// The row's encoded key.
    var key: [UInt8] { run.key(row, schema) }

    /// The run's first row that is not before the bounds.
    private var firstRow: Int {
        guard let lower = bounds.lower else { return 0 }
        return (0..<run.count).partitioningIndex { !run.key($0, schema).lexicographicallyPrecedes(lower) }
    }
}
