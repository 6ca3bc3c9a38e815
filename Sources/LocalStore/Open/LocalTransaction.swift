import Foundation
import GRDB
package import SnapshotModel
import StrictText

/// A trigger of the toolkit, on whatever table it is.
struct OwnTrigger {
    let name: String
    let table: String
    let sql: String
}

/// The database as one transaction sees it. Valid only inside the closure that receives it.
///
/// Each property covers one concern: a table of the toolkit, or one aspect of the user's tables.
///
///     try transaction.conflictJournal.record(conflict, at: now)
///
/// Source: docs/local-tables.md for every table of the toolkit.
package final class LocalTransaction {
    let db: Database
    package let path: String
    /// Cache of the tracking numbers of datasets, by name.
    var trackingIDs: [String: Int64] = [:]
    /// Cache of the foreign keys of all tables.
    var knownForeignKeys: [ForeignKey]?
    /// Cache of the toolkit's triggers, in the order of their names, with the schema version at which they were read.
    private var knownTriggers: (version: Int64, all: [OwnTrigger]) = (-1, [])
    /// How many bytes the conflict journal holds; nil until this transaction records an entry.
    var conflictBytes: Int64?
    /// The positions of the columns that the version being imported does not have, by dataset name.
    package var missingColumns: [String: [Int]] = [:]
    /// Whether entities are noted that are inserted with a default of this table instead of NULL.
    var notesDefaults = false
    /// Whether an import takes rows that break a CHECK constraint of this database's tables.
    package var ignoresChecks = false
    /// Whether the rows that are written are those of the zone's newest version.
    package var takesNewest = false
    let silenced: SilencedTables
    /// What an import could not do as the application declares it, by triggers and foreign keys, one sentence each.
    package internal(set) var triggerNotices: [String] = []
    /// How many keys of a dataset the listeners want; nil if there are no listeners.
    private let noticeLimit: Int?
    private var observation: RowObservation?
    /// The datasets whose rows this transaction may have changed.
    private var observed: [DatasetSchema] = []

    init(_ db: Database, path: String, silenced: SilencedTables = SilencedTables(), noticeLimit: Int? = nil) {
        (self.db, self.path, self.silenced, self.noticeLimit) = (db, path, silenced, noticeLimit)
    }

    /// The toolkit's triggers whose names have this beginning. All are read at once: sqlite_schema has no index.
    func ownTriggers(_ beginning: String) throws -> ArraySlice<OwnTrigger> {
        let version = try tables.schemaVersion()
        if knownTriggers.version != version {
            let sql = "SELECT name, tbl_name, sql FROM main.sqlite_schema WHERE type = 'trigger' AND name GLOB 'snapsync_*' ORDER BY name"
            knownTriggers = (version, try Row.fetchAll(db, sql: sql).map { OwnTrigger(name: $0[0], table: $0[1], sql: $0[2]) })
        }
        let all = knownTriggers.all, wanted = beginning.exact
        var (first, end) = (0, all.count)
        while first < end {
            let middle = (first + end) / 2
            if all[middle].name.exact < wanted { first = middle + 1 } else { end = middle }
        }
        return all[first...].prefix { $0.name.exact.hasPrefix(beginning) }
    }

    /// Starts observing which rows of the datasets this transaction changes, if there are listeners. An application's own edits are not observed.
    ///
    /// - Parameter schemas: all datasets of the database.
    package func observe(_ schemas: [DatasetSchema]) throws {
        observed = schemas
        guard observation == nil, let noticeLimit else { return }
        observation = try RowObservation(db, schemas, keyLimit: noticeLimit)
    }

    /// Notifies GRDB's observers on this connection of changed rows. GRDB does not notice statements that do not run through it.
    func tellObservers(of changes: [DatasetChanges]) throws {
        let names = Set(changes.map(\.dataset))
        for schema in observed where noticeLimit == nil || names.contains(schema.name) {
            if try db.tableExists(schema.table) { try db.notifyChanges(in: Table(schema.table)) }
        }
    }

    /// Ends observing, before the transaction ends, and returns the datasets that changed.
    func endObserving() throws -> [DatasetChanges] {
        defer { observation = nil }
        return try observation?.end() ?? []
    }

    /// The rows of the datasets' tables.
    package var rows: RowAccess { RowAccess(transaction: self) }
    /// The datasets' tables as the database declares them.
    package var tables: TableInspector { TableInspector(transaction: self) }
    /// Derives descriptions of datasets from the tables.
    package var describer: TableDescriber { TableDescriber(transaction: self) }
    /// Switches the toolkit's tables to another description of a dataset.
    package var transition: SchemaTransition { SchemaTransition(transaction: self) }
    /// The foreign keys of all tables.
    package var references: ForeignKeyLookup { ForeignKeyLookup(transaction: self) }
    /// The tables and triggers of the change tracking.
    package var tracking: ChangeTracking { ChangeTracking(transaction: self) }
    /// Whether VACUUM has renumbered rows.
    package var rowids: RowidWatch { RowidWatch(transaction: self) }
    /// The log entries of the triggers, and the tracked changes.
    package var changeLog: ChangeLog { ChangeLog(transaction: self) }
    /// The decisions of an import about the tracked changes.
    package var merge: MergeTable { MergeTable(transaction: self) }
    /// The entities that the import inserted with a default of this table.
    package var defaultedRows: DefaultedRows { DefaultedRows(transaction: self) }
    /// Repairs tracked instants that are later than the clock.
    package var futureInstants: FutureInstants { FutureInstants(transaction: self) }
    /// What the applied version has besides its rows.
    package var tombstonesAndInstants: TombstonesAndInstants { TombstonesAndInstants(transaction: self) }
    /// The rows of the applied version that are in no table.
    package var held: HeldRows { HeldRows(transaction: self) }
    /// The edits that this reader has handed over.
    package var sentEdits: SentEdits { SentEdits(transaction: self) }
    /// Which edits of readers are decided.
    package var decidedEdits: DecidedEdits { DecidedEdits(transaction: self) }
    /// The keys of new rows in tables with AUTOINCREMENT.
    package var keyRanges: KeyRanges { KeyRanges(transaction: self) }
    /// What `init` and the operator decided.
    package var settings: SettingsTable { SettingsTable(transaction: self) }
    /// What the runs record about themselves.
    package var state: StateTable { StateTable(transaction: self) }
    /// The applied version of each dataset.
    package var datasetStates: DatasetStateTable { DatasetStateTable(transaction: self) }
    /// The edits that lost to edits of other devices.
    package var conflictJournal: ConflictJournal { ConflictJournal(transaction: self) }
    /// The rows of this device that are held and that no version has.
    package var waiting: WaitingRows { WaitingRows(transaction: self) }
    /// The changes that `detach` kept for the next `init`.
    package var detachedChanges: DetachedChanges { DetachedChanges(transaction: self) }
    /// The zone that `init` is about to create.
    package var zoneBeginning: ZoneBeginningTable { ZoneBeginningTable(transaction: self) }

    /// Creates the toolkit's tables and writes the settings. The database must not have settings yet.
    package func initialize(_ wanted: SyncSettings) throws {
        guard try !settings.isBegun() else {
            throw SyncError(
                .refused, step: .open, at: path, "this database is set up for syncing already",
                hint: "to see how: snapsync status; to take it out: snapsync detach")
        }
        for table in LocalTable.settingsTables { try table.create(in: db) }
        let datasets = String(decoding: try DatasetFile.encode(wanted.datasets), as: UTF8.self)
        for (key, value) in [
            ("formatVersion", "1"), ("cloud", wanted.cloud), ("cloudUUID", wanted.cloudUUID), ("scope", wanted.scope),
            ("zone", wanted.zone), ("role", wanted.role.rawValue), ("device", wanted.device), ("datasets", datasets),
            ("replacesOwnRows", wanted.replacesOwnRows ? "1" : "0"), ("adoptsOwnRows", wanted.adoptsOwnRows ? "1" : "0"),
        ] {
            try db.execute(sql: "INSERT INTO snapsync_settings VALUES(?, ?)", arguments: [key, value])
        }
        if let container = wanted.container { try db.execute(sql: "INSERT INTO snapsync_settings VALUES('container', ?)", arguments: [container]) }
    }

    /// Drops everything that ``initialize(_:)`` and later runs created. The user's tables stay as they are.
    package func detach() throws {
        try tracking.remove()
        for table in LocalTable.settingsTables + [.conflicts] { try table.drop(in: db) }
        for name in try String.fetchAll(db, sql: "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name GLOB 'snapsync_filled_*'") {
            try db.execute(sql: "DROP TABLE \(name.sqlIdentifier)")
        }
    }

    /// Runs `body` in a savepoint. If it returns false or violates a constraint, its changes are rolled back. Returns whether they were kept.
    package func attempting(_ body: () throws -> Bool) throws -> Bool {
        var isKept = false
        do {
            try db.inSavepoint {
                isKept = try body()
                return isKept ? .commit : .rollback
            }
        } catch let error as SyncError where error.database == .badRow {
            return false
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            return false
        }
        return isKept
    }

    /// Runs `body` in a savepoint. If it throws, its changes are rolled back and the transaction continues.
    package func undoingOnError<T>(_ body: () throws -> T) throws -> T {
        var result: T?
        let notices = triggerNotices
        defer { if result == nil { triggerNotices = notices } }
        try SyncError.translating(at: path) {
            try db.inSavepoint {
                result = try body()
                return .commit
            }
        }
        guard let result else { throw SyncError(database: .inputOutput, at: path, "the savepoint did not run") }
        return result
    }

    /// Runs `body`, during which other connections can begin to read the last committed state although this transaction has changed many pages.
    ///
    /// In the rollback-journal modes SQLite writes changed pages into the file once they outgrow its cache, and from then on no other connection
    /// can begin to read. This call prevents that. Memory: the pages that `body` changes.
    ///
    /// A number is set because it takes effect at once; `ON` and `OFF` take effect only when a transaction ends.
    package func lettingOthersRead<T>(_ body: () throws -> T) throws -> T {
        let before = try SyncError.translating(at: path) {
            let before = try Int.fetchOne(db, sql: "PRAGMA cache_spill") ?? 1
            try db.execute(sql: "PRAGMA cache_spill = \(Int32.max)")
            return before
        }
        let result: T
        do {
            result = try body()
        } catch {
            try? db.execute(sql: "PRAGMA cache_spill = \(max(1, before))")
            throw error
        }
        try SyncError.translating(at: path) { try db.execute(sql: "PRAGMA cache_spill = \(max(1, before))") }
        return result
    }
}

/// One concern of a transaction: the functions of one table, or of a few that belong together.
protocol TransactionPart {
    var transaction: LocalTransaction { get }
}

extension TransactionPart {
    var db: Database { transaction.db }
    /// The path of the database's file, for errors.
    var path: String { transaction.path }

    /// The error for a value in one of the toolkit's tables that snapsync cannot have written.
    func damaged(_ table: String, _ reason: String) -> SyncError {
        SyncError(database: .damaged, at: "\(path), \(table)", reason, hint: "run snapsync detach and snapsync init again")
    }

    /// The number that stands for a dataset in the tables of the change tracking; nil if the dataset is not tracked.
    func trackingID(_ schema: DatasetSchema) throws -> Int64? { try transaction.tracking.id(of: schema) }
}
