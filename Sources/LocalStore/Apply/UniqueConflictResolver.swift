import GRDB
package import SnapshotModel
import StrictText

/// Resolves conflicts of UNIQUE values between rows that were changed here and stay, and the rows of a version that is imported.
///
///     let kept = try UniqueConflictResolver(transaction, schema, versionStays: false)      // nil if no conflict is possible
///     try kept?.stash()
///     …                                                 // the import writes the version's rows
///     let lost = try kept?.putBack { try setAside($0) }
///
/// The rule is the table in docs/sync.md, "Who keeps a UNIQUE value": the row with the higher ``RowRank`` stays, and the other is set aside. If a
/// version's row loses, a tracked change with the row's own instant deletes it. If a kept row loses, it is no longer tracked, and the version's
/// entity with its key, if there is one, competes in its place.
package final class UniqueConflictResolver {
    private let transaction: LocalTransaction
    private let schema: DatasetSchema
    private let rows: StashedRows
    /// Whether the version's row always wins, whatever the instants: at a reader, and at a first import.
    private let versionStays: Bool
    private var waiting: [TrackedChange] = []
    private var isBack: Set<EntityKey> = []

    /// Makes a resolver; nil if the table has no UNIQUE values besides the key.
    package init?(_ transaction: LocalTransaction, _ schema: DatasetSchema, versionStays: Bool) throws {
        // Nil means that an index on expressions that cannot be parsed is unique, so conflicts are possible.
        if let unique = try UniqueKey.others(transaction.db, schema), unique.isEmpty { return nil }
        self.transaction = transaction
        self.schema = schema
        self.versionStays = versionStays
        rows = try StashedRows(transaction, schema, table: "snapsync_kept")
    }

    /// Moves the rows of kept changes from the table to the stash.
    ///
    /// - Parameter all: whether all tracked changes count as kept; otherwise those that the current merge has marked.
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

    /// Inserts the rows again, the highest rank first.
    ///
    /// - Returns: the keys whose changes lost. The version's entities with these keys compete in their place (``offer(_:_:setAside:)``).
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

    /// Inserts the version's entity with a key whose change lost. Kept rows of lower rank that conflict with it lose, too. If a kept row of
    /// higher rank conflicts, the version's entity loses; then the entity that was set aside under its key stands for both.
    ///
    /// - Parameter give: passes that one entity to a sink.
    /// - Returns: the keys whose changes lost in this call.
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

    /// Drops the temporary table.
    package func end() throws { try rows.drop() }

    /// Sets aside the version's rows that hold the stashed row's values, if all of them have a lower rank.
    private func displaceLower(_ change: TrackedChange, _ setAside: (DisplacedRow) throws -> Void) throws -> Bool {
        guard !versionStays else { return false }
        let rivals = try rows.rivals(of: change.key, isWhole: true)
        guard !rivals.isEmpty, !rivals.contains(where: isBack.contains) else { return false }
        // If a rival's key was changed here, that change has lost to the version, so the version's instant counts.
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
    /// The change's rank among rows that compete for a UNIQUE value.
    var rank: RowRank { RowRank(instant, key) }
}
