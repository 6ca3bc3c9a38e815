import GRDB
package import SnapshotModel
import StrictText

/// The rows that were changed here and stay, while a version's rows come in, where a table has further UNIQUE values to fight about.
///
///     let kept = try UniqueConflictResolver(transaction, schema)      // nil where nothing can clash
///     try kept?.stash()
///     …                                                 // the version's rows go in
///     let lost = try kept?.putBack { try setAside($0) }
///
/// The rule is the table in docs/sync.md, "Who keeps a UNIQUE value": of two rows the one of the higher ``RowRank`` stays, and the other is
/// set aside. A version's row that loses is deleted by a tracked change with its own instant. A kept row that loses is no longer tracked, and
/// the version's entity of its key, if there is one, takes part in its place.
package final class UniqueConflictResolver {
    private let transaction: LocalTransaction
    private let schema: DatasetSchema
    private let rows: StashedRows
    /// Whether a version's row stays whatever the instants are: at a reader, and at a first import.
    private let versionStays: Bool
    private var waiting: [TrackedChange] = []
    private var isBack: Set<EntityKey> = []

    /// Makes the keeper of a dataset's kept rows; nil if its table has no UNIQUE values besides the key.
    package init?(_ transaction: LocalTransaction, _ schema: DatasetSchema, versionStays: Bool) throws {
        // Nil: an index on expressions says what must be unique.
        if let unique = try UniqueKey.others(transaction.db, schema), unique.isEmpty { return nil }
        self.transaction = transaction
        self.schema = schema
        self.versionStays = versionStays
        rows = try StashedRows(transaction, schema, table: "snapsync_kept")
    }

    /// Takes the rows of kept changes out of the table.
    ///
    /// - Parameter all: whether all changes that are still tracked are kept; else those that a merge under way has marked.
    package func stash(all: Bool = false) throws {
        guard let id = try transaction.tracking.id(of: schema) else { return }
        let table = schema.table.sqlIdentifier, key = schema.keySQL
        waiting = try transaction.changeLog.changes(of: schema, in: KeyRange(number: 0, first: nil, next: nil), onlyKept: !all).filter { !$0.isDeletion }
            .sorted { $0.rank > $1.rank }
        try rows.create(
            where:
                "EXISTS (SELECT 1 FROM main.snapsync_changes c WHERE c.dataset = \(id) AND c.key = \(key.value(of: "t")) AND c.wins >= \(all ? 0 : 1) AND c.state < \(TrackedState.deleted))"
        )
        try transaction.db.execute(sql: "DELETE FROM main.\(table) WHERE \(key.isIn(table: rows.table))")
    }

    /// Puts the rows back, the highest rank first.
    ///
    /// - Returns: the keys whose changes lost: the version's entities take part in their places (``offer(_:_:setAside:)``).
    package func putBack(setAside: (DisplacedRow) throws -> Void) throws -> [EntityKey] {
        var lost: [EntityKey] = []
        for change in waiting {
            if try rows.insert(change.key, isWhole: true) || displaceLower(change, setAside) {
                isBack.insert(change.key)
            } else {
                try giveWay(change, from: rows.stashed, setAside)
                lost.append(change.key)
            }
        }
        return lost
    }

    /// Puts the version's entity of a key in whose change lost. Kept rows of lower rank that are in its way lose, too; if a higher one is,
    /// the version's entity loses, and what was set aside of its key stands for both.
    ///
    /// - Parameter give: gives that one entity.
    /// - Returns: the keys whose changes lost now.
    package func offer(_ key: EntityKey, _ give: (any EntitySink) throws -> Void, setAside: (DisplacedRow) throws -> Void) throws -> [EntityKey] {
        try rows.take(key, give)
        guard try !rows.insert(key) else { return [] }
        let rivals = try rows.rivals(of: key)
        let instant =
            try transaction.tombstonesAndInstants.appliedInstant(of: key, in: schema) ?? transaction.rows.ownInstant(of: key, in: rows.stashed)
            ?? .distantPast
        var lost: [EntityKey] = []
        let changes = try rivals.compactMap { isBack.contains($0) ? try transaction.changeLog.change(of: $0, in: schema) : nil }
        if !rivals.isEmpty, changes.count == rivals.count, versionStays || changes.allSatisfy({ $0.rank < RowRank(instant, key) }) {
            for change in changes {
                try giveWay(change, from: schema, setAside)
                _ = try transaction.rows.deleteEntity(change.key, of: schema)
                isBack.remove(change.key)
                lost.append(change.key)
            }
            if try rows.insert(key) { return lost }
        } else if !rivals.isEmpty {
            try transaction.merge.displaceRow(key, of: schema, at: instant)
            return []
        }
        throw LocalStoreError(
            .badRow, at: "\(transaction.path), table \(schema.table)", "a constraint of the table refuses the version's entity \(key); nothing was changed",
            hint: "compare the table's constraints with the publisher's, then run the same command again")
    }

    /// Ends with nothing of it left behind.
    package func end() throws { try rows.drop() }

    /// Sets the version's rows aside that hold the stashed row's values, if all of them rank lower.
    private func displaceLower(_ change: TrackedChange, _ setAside: (DisplacedRow) throws -> Void) throws -> Bool {
        guard !versionStays else { return false }
        let rivals = try rows.rivals(of: change.key, isWhole: true)
        guard !rivals.isEmpty, !rivals.contains(where: isBack.contains) else { return false }
        // A change of a rival's key that was made here has lost against the version: the version's instant counts.
        let instants = try rivals.map { try transaction.tombstonesAndInstants.versionInstant(of: $0, in: schema) }
        guard zip(rivals, instants).allSatisfy({ RowRank($1, $0) < change.rank }) else { return false }
        for (key, instant) in zip(rivals, instants) {
            let (transaction, schema) = (transaction, schema)
            try setAside(
                DisplacedRow(schema: schema, key: key, reason: .valueTaken, instant: instant.forTombstone, displacedAt: instant.forTombstone) {
                    try transaction.rows.giveRow(key, of: schema, to: $0)
                })
            try transaction.merge.displaceRow(key, of: schema, at: instant)
        }
        return try rows.insert(change.key, isWhole: true)
    }

    private func giveWay(_ change: TrackedChange, from table: DatasetSchema, _ setAside: (DisplacedRow) throws -> Void) throws {
        let transaction = transaction
        try setAside(
            DisplacedRow(schema: schema, key: change.key, reason: .valueTaken, instant: change.instant, displacedAt: nil) {
                try transaction.rows.giveRow(change.key, of: table, to: $0)
            })
        try transaction.changeLog.forget(of: change.key, in: schema)
    }
}

extension TrackedChange {
    /// The change's rank among rows that hold one UNIQUE value.
    var rank: RowRank { RowRank(instant, key) }
}
