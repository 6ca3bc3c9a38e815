import GRDB
package import SnapshotModel

/// The database as one transaction sees it. Valid only inside the closure that it was lent to.
///
/// Each property is one concern: a table of the toolkit, or one side of the user's tables.
///
///     try transaction.conflictJournal.record(conflict, at: now)
///
/// Source: docs/local-tables.md for every table of the toolkit.
package final class LocalTransaction {
    let db: Database
    let path: String
    /// The numbers of the tracked datasets, as far as they were looked up.
    var trackingIDs: [String: Int64] = [:]
    /// The foreign keys of all tables, once they were looked up.
    var knownForeignKeys: [ForeignKey]?
    /// How many bytes the conflict journal holds, once an entry was recorded.
    var conflictBytes: Int64?
    /// The positions of the columns that the version which is coming in does not describe, by the datasets' names.
    package var missingColumns: [String: [Int]] = [:]
    /// Whether an import takes rows that break a CHECK constraint of this database's tables.
    package var ignoresChecks = false
    let silenced: SilencedTables
    let absences: LogAbsences
    /// How many rows the connection had changed when the transaction began.
    let changesBefore: Int
    /// What an application's triggers did not do in this transaction, a sentence each.
    package internal(set) var triggerNotices: [String] = []
    /// How many keys of a dataset the listeners want to hear of; nil where nobody listens.
    private let noticeLimit: Int?
    private var observation: RowObservation?
    /// The datasets whose rows this transaction may have changed.
    private var observed: [DatasetSchema] = []

    init(_ db: Database, path: String, silenced: SilencedTables = SilencedTables(), absences: LogAbsences = LogAbsences(), noticeLimit: Int? = nil) {
        self.db = db
        self.path = path
        self.silenced = silenced
        self.absences = absences
        changesBefore = db.totalChangesCount
        self.noticeLimit = noticeLimit
    }

    /// Begins to note which rows of the datasets this transaction changes, if anybody listens; an application's own edits pass without it.
    ///
    /// - Parameter schemas: all datasets of the database.
    package func observe(_ schemas: [DatasetSchema]) throws {
        observed = schemas
        guard observation == nil, let noticeLimit else { return }
        observation = try RowObservation(db, schemas, keyLimit: noticeLimit)
    }

    /// Tells GRDB's observers on this connection that rows changed: what is not run as a statement of GRDB's passes them by.
    func tellObservers(of changes: [DatasetChanges]) throws {
        let names = Set(changes.map(\.dataset))
        for schema in observed where noticeLimit == nil || names.contains(schema.name) {
            if try db.tableExists(schema.table) { try db.notifyChanges(in: Table(schema.table)) }
        }
    }

    /// Ends that, before the transaction does, and returns the datasets that were changed.
    func endObserving() throws -> [DatasetChanges] {
        defer { observation = nil }
        return try observation?.end() ?? []
    }

    /// The rows of the datasets' tables.
    package var rows: RowAccess { RowAccess(transaction: self) }
    /// The datasets' tables as the database declares them.
    package var tables: TableInspector { TableInspector(transaction: self) }
    /// What makes the description of datasets from the tables.
    package var describer: TableDescriber { TableDescriber(transaction: self) }
    /// What another description of a dataset changes in the toolkit's tables.
    package var transition: SchemaTransition { SchemaTransition(transaction: self) }
    /// The foreign keys of all tables.
    package var references: ForeignKeyLookup { ForeignKeyLookup(transaction: self) }
    /// The tables and triggers of the change tracking.
    package var tracking: ChangeTracking { ChangeTracking(transaction: self) }
    /// Whether VACUUM has given rows other rowids.
    package var rowids: RowidWatch { RowidWatch(transaction: self) }
    /// What the triggers recorded, and the tracked changes.
    package var changeLog: ChangeLog { ChangeLog(transaction: self) }
    /// What an import decides about the tracked changes.
    package var merge: MergeTable { MergeTable(transaction: self) }
    /// Tracked instants in the future of the clock.
    package var futureInstants: FutureInstants { FutureInstants(transaction: self) }
    /// What the applied version says besides its rows.
    package var tombstonesAndInstants: TombstonesAndInstants { TombstonesAndInstants(transaction: self) }
    /// The tables of the messages.
    package var mailbox: MailboxTables { MailboxTables(transaction: self) }
    /// The messages of this device about its own changes.
    package var outbox: Outbox { Outbox(transaction: self) }
    /// The messages that this device received.
    package var inbox: Inbox { Inbox(transaction: self) }
    /// The keys of new rows in tables with AUTOINCREMENT.
    package var keyRanges: KeyRanges { KeyRanges(transaction: self) }
    /// What `init` and the operator decided.
    package var settings: SettingsTable { SettingsTable(transaction: self) }
    /// What the runs record about themselves.
    package var state: StateTable { StateTable(transaction: self) }
    /// What is known of each dataset's version in this database.
    package var datasetStates: DatasetStateTable { DatasetStateTable(transaction: self) }
    /// The edits that lost to edits of other devices.
    package var conflictJournal: ConflictJournal { ConflictJournal(transaction: self) }
    /// The entities that were taken out of their tables and wait to return.
    package var setAside: SetAsideTable { SetAsideTable(transaction: self) }
    /// The changes that `detach` kept for the next `init`.
    package var detachedChanges: DetachedChanges { DetachedChanges(transaction: self) }
    /// What this device published and no other device has built on yet.
    package var publishedChanges: PublishedChanges { PublishedChanges(transaction: self) }
    /// The versions that were in this database, one after another.
    package var lineage: LineageTable { LineageTable(transaction: self) }
    /// The zone that `init` is about to create.
    package var zoneBeginning: ZoneBeginningTable { ZoneBeginningTable(transaction: self) }
}

/// One concern of a transaction: the functions for one table, or for a few that belong together.
protocol TransactionPart {
    var transaction: LocalTransaction { get }
}

extension TransactionPart {
    var db: Database { transaction.db }
    /// The path of the database's file, for errors.
    var path: String { transaction.path }

    /// The error for a value of one of the toolkit's tables that no snapsync wrote.
    func damaged(_ table: String, _ reason: String) -> LocalStoreError {
        LocalStoreError(.damaged, at: "\(path), \(table)", reason, hint: "run snapsync detach and snapsync init again")
    }

    /// The number that stands for a dataset in the tables of the change tracking; nil if the dataset is not tracked.
    func trackingID(_ schema: DatasetSchema) throws -> Int64? { try transaction.tracking.id(of: schema) }
}
