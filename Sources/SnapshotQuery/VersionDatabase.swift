import CloudStore
import Foundation
public import GRDB
import GRDBSQLite
import LocalTables
public import SnapshotModel
public import SnapshotHistory
public import SnapshotTools
import SnapshotVersions
import StrictText
import SyncRuns

/// A version of a zone as tables that can be read with SQL where they are, without importing them.
///
///     let version = try await engine.inspector().database(at: .version(7))
///     let rows = try await version.rows(of: "notes", keys: [EntityKey("a"), EntityKey("b")])
///     let count = try await version.database().read { try Int.fetchOne($0, sql: "SELECT count(*) FROM notes") }
///
/// A condition on the first columns of the key reads the block index and the blocks of those keys. Any other statement reads one block after
/// another. Memory: the block index, the change assets and a few blocks.
public final class VersionDatabase: Sendable {
    /// The version's number.
    public let number: Int
    private let place: String
    private let queue: DatabaseQueue
    private let module: VersionModule

    fileprivate init(_ state: ZoneState, in cloud: CloudDatabase, zone: ZoneID) async throws {
        number = state.token?.number ?? 0
        place = "version \(number) of \(zone.place)"
        let described = try state.descriptions(in: zone)
        var tables: [VersionTable] = []
        for record in state.records where DatasetRecord(record) != nil {
            let description = described.first { $0.schema.recordName.exact == record.name.exact }
            tables.append(try await VersionTable(record, description, in: cloud, zone: zone))
        }
        let module = VersionModule(tables)
        self.module = module
        var configuration = Configuration()
        configuration.label = "snapsync.version"
        configuration.prepareDatabase { try module.attach(to: $0) }
        queue = try SyncError.at(.open) { try DatabaseQueue(configuration: configuration) }
    }

    /// The names of the tables, in the order of their records.
    public var tables: [String] { module.tables.map(\.schema.table) }

    /// A database in memory in which each dataset is a virtual table with the names, types and collations of the publisher's table.
    ///
    /// It refuses every statement that does more than read. A damaged block ends a statement with `SQLITE_CORRUPT_VTAB` and a message that names the
    /// block.
    ///
    /// - Throws: ``SyncError`` with `.tryAgainLater` if a file has not arrived, `.dataRefused` if one is damaged.
    public func database() async throws -> DatabaseQueue {
        try await WorkerThreads.host {
            for table in module.tables { try await table.open() }
            return queue
        }
    }

    /// The rows with these keys, in the order of the keys, without those that the version lacks.
    ///
    /// - Parameters:
    ///   - table: the name of the table or of the dataset.
    ///   - keys: as the format writes them: the text of a column that ignores case in lower case.
    /// - Throws: ``SyncError`` with `.nothingThere` if the version has no such table, `.dataRefused` if a block is damaged.
    public func rows(of table: String, keys: [EntityKey]) async throws -> [Row] {
        try await WorkerThreads.host {
            let found = try await opened(table)
            return try run { db in
                let statement = try db.makeStatement(sql: Self.lookup(in: found))
                return try keys.compactMap { try Row.fetchOne(statement, arguments: [Data($0.encoded)]) }
            }
        }
    }

    /// Runs a statement and passes on the names of its columns, then each row. The values are valid during the call.
    ///
    /// - Throws: ``SyncError`` with `.refused` if the statement is wrong or would change something, `.dataRefused` if a block is damaged.
    package func query(
        _ sql: String, columns: @escaping ([String]) throws -> Void, row: @escaping (UnsafeBufferPointer<ColumnValue>) throws -> Void
    ) async throws {
        try await WorkerThreads.host {
            // Preparing shows which tables have to be open.
            let needed = try run { db in
                for table in module.tables { table.isNeeded = false }
                guard try db.makeStatement(sql: sql).isReadonly else { throw DatabaseError(resultCode: .SQLITE_AUTH) }
                return module.tables.filter(\.isNeeded)
            }
            for table in needed { try await table.open() }
            try run { db in try step(db.makeStatement(sql: sql), columns: columns, row: row) }
        }
    }

    /// Passes on the row with a key, as ``query(_:columns:row:)`` does. Where a column of the key has no type, there can be two rows.
    ///
    /// - Parameter words: the values of the key's columns as texts.
    /// - Throws: ``SyncError`` with `.nothingThere` if there is no such row or table, `.dataRefused` if a block is damaged.
    package func get(
        _ words: [String], of table: String, columns: @escaping ([String]) throws -> Void,
        row: @escaping (UnsafeBufferPointer<ColumnValue>) throws -> Void
    ) async throws {
        try await WorkerThreads.host {
            let (found, keys) = try await keys(words, of: table)
            try run { db in
                let statement = try db.makeStatement(sql: Self.lookup(in: found))
                for (number, key) in keys.enumerated() {
                    try statement.setArguments([Data(key.encoded)])
                    try step(statement, columns: number == 0 ? columns : { _ in }, row: row)
                }
            }
        }
    }

    /// The row with a key of these words, which the version has.
    ///
    /// - Throws: ``SyncError`` with `.nothingThere` if it has no such row or table.
    public func row(_ words: [String], of table: String) async throws -> RestoredRow {
        try await WorkerThreads.host {
            let (found, keys) = try await keys(words, of: table)
            return RestoredRow(dataset: found.schema.name, key: keys[0])
        }
    }

    /// A table, and those of the keys that words can mean which the version has; at least one.
    private func keys(_ words: [String], of name: String) async throws -> (VersionTable, [EntityKey]) {
        let table = try await opened(name), keys = try table.keys(words)
        let present = try run { _ in try keys.filter { try table.values(of: $0) != nil } }
        guard present.isEmpty else { return (table, present) }
        throw SyncError(
            .nothingThere, step: .read, at: place, "the table \(table.schema.table) has no row with the key \(keys.first?.description ?? "")",
            hint: "snapsync log with a table and a key lists the versions that changed a row")
    }

    private static func lookup(in table: VersionTable) -> String {
        "SELECT * FROM \(table.schema.table.sqlIdentifier) WHERE \(table.keyColumn) = ?"
    }

    /// A table by the name that a user gives it.
    ///
    /// - Throws: ``SyncError`` with `.nothingThere`.
    func table(_ name: String) throws -> VersionTable {
        guard let found = module.tables.first(where: { $0.isCalled(name) }) else {
            throw SyncError(
                .nothingThere, step: .fetch, at: place, "it has no table \(name)",
                hint: tables.isEmpty ? nil : "it has the tables \(tables.joined(separator: ", "))")
        }
        return found
    }

    /// The same, open.
    func opened(_ name: String) async throws -> VersionTable {
        let found = try table(name)
        try await found.open()
        return found
    }

    private func run<T>(_ body: (Database) throws -> T) throws -> T {
        try queue.writeWithoutTransaction { db in
            (module.failure, module.isStatement) = (nil, true)
            defer { module.isStatement = false }
            do { return try body(db) } catch let error as DatabaseError {
                if let failure = module.failure { throw failure }
                if error.resultCode == .SQLITE_AUTH || error.resultCode == .SQLITE_READONLY {
                    throw SyncError(
                        .refused, step: .read, at: place, "the statement does more than read, and a version never changes",
                        hint: "edit the table in a database that publishes, then run snapsync sync")
                }
                // GRDB's own error, in words for programmers.
                let reason = error.resultCode == .SQLITE_MISUSE ? "there is no statement, or more than one" : error.message ?? "\(error.resultCode)"
                throw SyncError(
                    .refused, step: .read, at: place, "SQLite refuses the statement: \(reason)",
                    hint: "the tables are \(tables.joined(separator: ", "))")
            }
        }
    }

    private func step(
        _ statement: Statement, columns: ([String]) throws -> Void, row: (UnsafeBufferPointer<ColumnValue>) throws -> Void
    ) throws {
        let handle = statement.sqliteStatement
        defer { sqlite3_reset(handle) }
        try columns(statement.columnNames)
        var values = Array(repeating: ColumnValue.null, count: statement.columnCount)
        while true {
            switch sqlite3_step(handle) {
            case SQLITE_ROW:
                for index in values.indices { values[index] = ColumnValue(handle, Int32(index)) }
                try values.withUnsafeBufferPointer(row)
            case SQLITE_DONE: return
            case let code: throw DatabaseError(resultCode: ResultCode(rawValue: code), message: String(cString: sqlite3_errmsg(sqlite3_db_handle(handle))))
            }
        }
    }
}

extension SnapshotInspector {
    /// Opens a version for reading with SQL. Of tables with a description, no asset is opened before it is needed.
    ///
    /// - Parameter target: a version by number, or the newest before a time; nil for the newest.
    /// - Throws: ``SyncError`` with `.nothingThere` if there is no such version, `.refused` if the zone is sealed and no keys are at hand.
    public func database(at target: RestoreTarget? = nil) async throws -> VersionDatabase {
        try await WorkerThreads.host {
            let state = try await records(at: number(target))
            try refuseSealed(state)
            return try await VersionDatabase(state, in: cloud, zone: zone)
        }
    }

    private func number(_ target: RestoreTarget?) async throws -> Int? {
        switch target {
        case nil: nil
        case .version(let number): number
        case .before(let instant): try await VersionFinder(cloud: cloud, zone: zone, token: nil).newest(before: instant)
        }
    }
}
