import GRDB
package import LocalTables
import StrictText

extension LocalTransaction {
    /// The rows of the datasets' tables.
    package var rows: RowAccess { RowAccess(transaction: self) }
    /// Switches the toolkit's tables to another description of a dataset.
    package var transition: SchemaTransition { SchemaTransition(transaction: self) }
    /// The tables and triggers of the change tracking.
    package var tracking: ChangeTracking { ChangeTracking(transaction: self) }
    /// Whether VACUUM has renumbered rows.
    package var rowids: RowidWatch { RowidWatch(transaction: self) }
    /// The log entries of the triggers, and the tracked changes.
    package var changeLog: ChangeLog { ChangeLog(transaction: self) }
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
    /// The edits that lost to edits of other devices.
    package var conflictJournal: ConflictJournal { ConflictJournal(transaction: self) }
    /// The rows of this device that are held and that no version has.
    package var waiting: WaitingRows { WaitingRows(transaction: self) }
    /// The changes that `detach` kept for the next `init`.
    package var detachedChanges: DetachedChanges { DetachedChanges(transaction: self) }

    /// Drops everything that ``initialize(_:)`` and later runs created. The user's tables stay as they are.
    package func detach() throws {
        try tracking.remove()
        for table in LocalTable.settingsTables + [.conflicts] { try table.drop(in: db) }
        for name in try String.fetchAll(db, sql: "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name GLOB 'snapsync_filled_*'") {
            try db.execute(sql: "DROP TABLE \(name.sqlIdentifier)")
        }
    }

    /// Makes `name` the zone of this database. Tracked changes and tombstones stay; everything that refers to versions of the previous zone is
    /// deleted.
    ///
    /// - Parameter earlier: what to keep about the previous zone. If this database created the successor, it has no applied version from here on.
    package func enterZone(_ name: String, after earlier: EarlierZone) throws {
        let schemas = try settings.read().datasets
        try settings.zone.set(name)
        try state.nextZone.set(nil)
        try state.earlierZones.set(state.earlierZones() + [earlier])
        try state.setIntended(nil)
        for schema in schemas { try state.knownRecord.set(nil, of: schema) }
        if earlier.madeNext { try state.applied.set(nil) }
        try state.ownCommitsKnown.set(0)
        try state.pendingPins.set([])
        try state.descriptionNote.set(nil)
        if let version = try state.undoPoint()?.version { try state.dropUndoPoint(of: version) }
        try state.bootstrapNote.set(BootstrapNote(madeZone: earlier.madeNext))
        try decidedEdits.carryOver()
    }
}
