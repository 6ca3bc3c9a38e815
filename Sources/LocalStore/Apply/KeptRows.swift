import GRDB
package import SnapshotModel
import StrictText

/// The rows whose changes stay, while a version's rows come in, where a table has further UNIQUE values to fight about.
///
///     let kept = try KeptRows(transaction, schema)      // nil where nothing can clash
///     try kept?.stash()
///     …                                                 // the version's rows go in
///     let lost = try kept?.putBack { try setAside($0) }
///
/// Of two rows with one such value the later keeps it, and the other is set aside. A version's row that gives way is gone
/// here by a tracked deletion with the winner's instant; a kept row that gives way is no longer tracked, and the version's
/// entity of its key, if there is one, has to take its place.
package final class KeptRows {
    private let transaction: LocalTransaction
    private let schema: DatasetSchema
    private let stashed: DatasetSchema
    /// Nil where an index on expressions says what must be unique.
    private let unique: [UniqueKey]?
    private let columns: String
    private var waiting: [TrackedChange] = []
    private var isBack: Set<EntityKey> = []

    /// Makes the keeper of a dataset's kept rows; nil if its table has no UNIQUE values besides the key.
    package init?(_ transaction: LocalTransaction, _ schema: DatasetSchema) throws {
        unique = try UniqueKey.others(transaction.db, schema)
        if let unique, unique.isEmpty { return nil }
        self.transaction = transaction
        self.schema = schema
        stashed = try schema.inTable("snapsync_kept")
        columns = try String.fetchAll(transaction.db, sql: "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", arguments: [schema.table])
            .map(\.sqlIdentifier).joined(separator: ", ")
    }

    /// Takes the rows of kept changes out of the table.
    ///
    /// - Parameter all: whether all changes that are still tracked are kept; else those that a merge under way has marked.
    package func stash(all: Bool = false) throws {
        guard let id = try transaction.trackingID(schema) else { return }
        let table = schema.table.sqlIdentifier, key = schema.key.column.sqlIdentifier
        waiting = try transaction.trackedChanges(of: schema, in: KeyRange(number: 0, first: nil, next: nil), onlyKept: !all).filter { !$0.isDeletion }
            .sorted { ($0.instant, $0.key) > ($1.instant, $1.key) }
        try transaction.db.execute(sql: """
            DROP TABLE IF EXISTS temp.snapsync_kept;
            CREATE TEMP TABLE snapsync_kept AS SELECT \(columns) FROM \(table) t WHERE EXISTS (
                SELECT 1 FROM main.snapsync_changes c WHERE c.dataset = \(id) AND c.key = t.\(key) AND c.wins >= \(all ? 0 : 1) AND c.state < 2);
            CREATE UNIQUE INDEX temp.snapsync_kept_key ON snapsync_kept(\(key));
            DELETE FROM main.\(table) WHERE \(key) IN (SELECT \(key) FROM temp.snapsync_kept);
            """)
    }

    /// Puts the rows back, the latest first.
    ///
    /// - Returns: the keys whose changes gave way: the version's entities take their places (``offer(_:setAside:)``).
    package func putBack(setAside: (DisplacedRow) throws -> Void) throws -> [EntityKey] {
        var lost: [EntityKey] = []
        for change in waiting {
            if try insert(change.key) || displaceEarlier(change, setAside) {
                isBack.insert(change.key)
            } else {
                try giveWay(change, from: stashed, setAside)
                lost.append(change.key)
            }
        }
        return lost
    }

    /// Puts the version's entity of a key in whose change gave way. A kept row that is in its way gives way, too.
    ///
    /// - Parameter give: gives that one entity.
    /// - Returns: the keys whose changes gave way now.
    package func offer(_ key: EntityKey, _ give: (any EntitySink) throws -> Void, setAside: (DisplacedRow) throws -> Void) throws -> [EntityKey] {
        try KeyedStatement(transaction.db, "DELETE FROM temp.snapsync_kept WHERE \(schema.key.column.sqlIdentifier) = ?").bind(.key(key)).run()
        try give(try EntityApplier(transaction, stashed))
        guard try !insertDescribed(key) else { return [] }
        var lost: [EntityKey] = []
        for other in try rivals(of: key) where isBack.contains(other) {
            guard let change = try transaction.trackedChange(of: other, in: schema) else { continue }
            try giveWay(change, from: schema, setAside)
            _ = try transaction.deleteEntity(other, of: schema)
            lost.append(other)
        }
        guard try insertDescribed(key) else {
            throw LocalStoreError(
                .badRow, at: "\(transaction.path), table \(schema.table)", "the version's entity \(key) and a row that was changed here cannot both be there; nothing was changed",
                hint: "change the row's unique values, then run the same command again")
        }
        return lost
    }

    /// Ends with nothing of it left behind.
    package func end() throws { try transaction.db.execute(sql: "DROP TABLE IF EXISTS temp.snapsync_kept") }

    private func insert(_ key: EntityKey) throws -> Bool { try insert(key, columns) }

    private func insertDescribed(_ key: EntityKey) throws -> Bool { try insert(key, schema.columns.map { $0.column.sqlIdentifier }.joined(separator: ", ")) }

    private func insert(_ key: EntityKey, _ columns: String) throws -> Bool {
        do {
            try KeyedStatement(
                transaction.db,
                "INSERT INTO main.\(schema.table.sqlIdentifier)(\(columns)) SELECT \(columns) FROM temp.snapsync_kept WHERE \(schema.key.column.sqlIdentifier) = ?"
            ).bind(.key(key)).run()
            return true
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            return false
        }
    }

    /// The keys of the rows that have a unique value of the stashed row.
    private func rivals(of key: EntityKey) throws -> [EntityKey] {
        let column = schema.key.column.sqlIdentifier
        var found: Set<EntityKey> = []
        for one in unique ?? [] {
            found.formUnion(
                try KeyedStatement(transaction.db, """
                    SELECT t.\(column) FROM temp.snapsync_kept AS NEW CROSS JOIN main.\(schema.table.sqlIdentifier) t
                    ON \(one.isTakenFrom) WHERE NEW.\(column) = ?
                    """).bind(.key(key)).keys())
        }
        return found.sorted()
    }

    /// Sets the version's rows aside that have the stashed row's values, if it is later than all of them.
    private func displaceEarlier(_ change: TrackedChange, _ setAside: (DisplacedRow) throws -> Void) throws -> Bool {
        let rivals = try rivals(of: change.key)
        guard !rivals.isEmpty, !rivals.contains(where: isBack.contains) else { return false }
        let instants = try rivals.map { try transaction.instant(of: $0, in: schema) ?? .distantPast }
        guard instants.allSatisfy({ $0 < change.instant }) else { return false }
        for (key, instant) in zip(rivals, instants) {
            let (transaction, schema) = (transaction, schema)
            try setAside(DisplacedRow(schema: schema, key: key, reason: .valueTaken, instant: instant, displacedAt: change.instant) { try transaction.giveRow(key, of: schema, to: $0) })
            _ = try transaction.deleteEntity(key, of: schema)
            try transaction.trackChange(of: key, in: schema, at: change.instant, isKept: true)
        }
        return try insert(change.key)
    }

    private func giveWay(_ change: TrackedChange, from table: DatasetSchema, _ setAside: (DisplacedRow) throws -> Void) throws {
        let transaction = transaction
        try setAside(
            DisplacedRow(schema: schema, key: change.key, reason: .valueTaken, instant: change.instant, displacedAt: nil) { try transaction.giveRow(change.key, of: table, to: $0) })
        try transaction.forgetChange(of: change.key, in: schema)
    }
}
