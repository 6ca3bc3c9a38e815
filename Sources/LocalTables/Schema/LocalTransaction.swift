import Foundation
package import GRDB
package import SnapshotModel
package import StrictText

/// A trigger of the toolkit, on whatever table it is.
package struct OwnTrigger {
    package let name: String
    package let table: String
    package let sql: String
}

/// The database as one transaction sees it. Valid only inside the closure that receives it.
///
/// Each property covers one concern: a table of the toolkit, or one aspect of the user's tables.
///
///     try transaction.conflictJournal.record(conflict, at: now)
///
/// Source: docs/local-tables.md for every table of the toolkit.
package final class LocalTransaction {
    package let db: Database
    package let path: String
    /// Cache of the tracking numbers of datasets, by name.
    package var trackingIDs: [String: Int64] = [:]
    /// Cache of the foreign keys of all tables.
    var knownForeignKeys: [TableReference]?
    /// Cache of the toolkit's triggers, in the order of their names, with the schema version at which they were read.
    private var knownTriggers: (version: Int64, all: [OwnTrigger]) = (-1, [])
    /// How many bytes the conflict journal holds; nil until this transaction records an entry.
    package var conflictBytes: Int64?
    /// The positions of the columns that the version being imported does not have, by dataset name.
    package var missingColumns: [String: [Int]] = [:]
    /// Whether entities are noted that are inserted with a default of this table instead of NULL.
    package var notesDefaults = false
    /// Whether an import takes rows that break a CHECK constraint of this database's tables.
    package var ignoresChecks = false
    /// Whether the rows that are written are those of the zone's newest version.
    package var takesNewest = false
    package let silenced: SilencedTables
    /// What an import could not do as the application declares it, by triggers and foreign keys, one sentence each.
    package var triggerNotices: [String] = []
    /// Starts observing rows, and returns what ends it.
    package typealias Observing = (Database, [DatasetSchema]) throws -> () throws -> [DatasetChanges]
    /// Nil if there are no listeners.
    private let observing: Observing?
    private var endOfObservation: (() throws -> [DatasetChanges])?
    /// The datasets whose rows this transaction may have changed.
    private var observed: [DatasetSchema] = []

    package init(_ db: Database, path: String, silenced: SilencedTables = SilencedTables(), observing: Observing? = nil) {
        (self.db, self.path, self.silenced, self.observing) = (db, path, silenced, observing)
    }

    /// The toolkit's triggers whose names have this beginning. All are read at once: sqlite_schema has no index.
    package func ownTriggers(_ beginning: String) throws -> ArraySlice<OwnTrigger> {
        let version = try tables.schemaVersion()
        if knownTriggers.version != version {
            let sql = "SELECT name, tbl_name, sql FROM main.sqlite_schema WHERE type = 'trigger' AND name GLOB 'snapsync_*' ORDER BY name"
            knownTriggers = (version, try Row.fetchAll(db, sql: sql).map { OwnTrigger(name: $0[0], table: $0[1], sql: $0[2]) })
        }
        let all = knownTriggers.all, wanted = beginning.exact
        return all[all.partitioningIndex { !($0.name.exact < wanted) }...].prefix { $0.name.exact.hasPrefix(beginning) }
    }

    /// Starts observing which rows of the datasets this transaction changes, if there are listeners. An application's own edits are not observed.
    ///
    /// - Parameter schemas: all datasets of the database.
    package func observe(_ schemas: [DatasetSchema]) throws {
        observed = schemas
        if endOfObservation == nil { endOfObservation = try observing?(db, schemas) }
    }

    /// Notifies GRDB's observers on this connection of changed rows. GRDB does not notice statements that do not run through it.
    func tellObservers(of changes: [DatasetChanges]) throws {
        let names = Set(changes.map(\.dataset))
        for schema in observed where observing == nil || names.contains(schema.name) {
            if try db.tableExists(schema.table) { try db.notifyChanges(in: Table(schema.table)) }
        }
    }

    /// Ends observing, before the transaction ends, and returns the datasets that changed.
    func endObserving() throws -> [DatasetChanges] {
        defer { endOfObservation = nil }
        return try endOfObservation?() ?? []
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

    // MARK: - What the tracking and its tables are, for whoever reads them

    /// Whether all tracking tables exist.
    package func hasTrackingTables() throws -> Bool { try db.hasTables(LocalTable.trackingTables.map(\.name)) }

    /// The number that stands for a dataset in the tables of the change tracking; nil if the dataset is not tracked.
    package func trackingID(_ schema: DatasetSchema) throws -> Int64? {
        if let known = trackingIDs[schema.name] { return known }
        guard try hasTrackingTables(), let id = try KeyedStatement(db, "SELECT id FROM snapsync_tracking WHERE dataset = ?").bind(.text(schema.name)).integer()
        else { return nil }
        trackingIDs[schema.name] = id
        return id
    }

    /// The application's tables that have triggers of the toolkit.
    package func triggeredTables() throws -> [String] {
        try String.fetchAll(
            db,
            sql: """
                SELECT DISTINCT tbl_name FROM main.sqlite_schema
                WHERE type = 'trigger' AND name LIKE 'snapsync\\_%' ESCAPE '\\' AND tbl_name NOT LIKE 'snapsync\\_%' ESCAPE '\\' ORDER BY 1
                """)
    }

    /// Runs `body` with CHECK constraints as they are, or without them.
    package func settingChecks<T>(off isOff: Bool, _ body: () throws -> T) throws -> T {
        let wereOff = try Bool.fetchOne(db, sql: "PRAGMA ignore_check_constraints") ?? false
        guard isOff != wereOff, isOff || ignoresChecks else { return try body() }
        try db.execute(sql: "PRAGMA ignore_check_constraints = \(isOff ? "ON" : "OFF")")
        defer { try? db.execute(sql: "PRAGMA ignore_check_constraints = \(wereOff ? "ON" : "OFF")") }
        return try body()
    }
}

/// One concern of a transaction: the functions of one table, or of a few that belong together.
package protocol TransactionPart {
    var transaction: LocalTransaction { get }
}

extension TransactionPart {
    package var db: Database { transaction.db }
    /// The path of the database's file, for errors.
    package var path: String { transaction.path }

    /// The error for a value in one of the toolkit's tables that snapsync cannot have written.
    package func damaged(_ table: String, _ reason: String) -> SyncError {
        SyncError(database: .damaged, at: "\(path), \(table)", reason, hint: "run snapsync detach and snapsync init again")
    }

    /// The number that stands for a dataset in the tables of the change tracking; nil if the dataset is not tracked.
    package func trackingID(_ schema: DatasetSchema) throws -> Int64? { try transaction.trackingID(schema) }
}
