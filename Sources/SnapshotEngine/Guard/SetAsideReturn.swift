import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// Returns entities that were set aside to their tables once the obstacle is gone: the parent exists, or the UNIQUE value is free or held by rows
/// of lower rank.
///
/// The rule is the table in docs/sync.md, "When a row comes back".
struct SetAsideReturn {
    let datasets: [DatasetSchema]
    let transaction: LocalTransaction
    let ledger: ImportLedger
    /// Whether this device publishes what returns. At a reader, a returning entity takes no value from another row.
    let publishes: Bool
    private let stashes = Stashes()

    /// The temporary tables through which entities return, by dataset name.
    private final class Stashes {
        var rows: [String: StashedRows] = [:]
    }

    /// Whether an entity can return, with which instant, and over a row or a deletion of which instant.
    private enum Standing {
        case canReturn(at: Instant, over: Instant?)
        /// The version's entity can be put back, because its deletion is not published yet.
        case canBeRestored
        /// A later change of the same entity exists; `by` is nil for a deletion.
        case overtaken(by: String?, at: Instant)
        /// No row needs the entity any longer.
        case unneeded
    }

    /// Entities that return together or not at all.
    private final class Group {
        var returned: [(schema: DatasetSchema, key: EntityKey)] = []
        var displaced: [(schema: DatasetSchema, key: EntityKey)] = []
    }

    /// Tries to return every entity, the highest rank first, until none can return. Run it inside ``ChangeTracking/importing(_:)``, so that the
    /// triggers log nothing.
    ///
    /// - Returns: whether any row was inserted or removed.
    func run() throws -> Bool {
        guard try transaction.setAside.hasReturnable() else { return false }
        var hasChanged = false, again = true
        while again {
            again = false
            // Create the tables before the first attempt: a failed attempt rolls back the tables that it created.
            for schema in datasets { _ = try rows(of: schema) }
            for (schema, one) in try waiting() where try transaction.setAside.entity(one.key, of: schema) == one {
                if try tryReturn(of: one, schema) { again = true }
            }
            hasChanged = hasChanged || again
        }
        for schema in datasets {
            for one in try transaction.setAside.entities(of: schema) where one.reason == .parentNeeded {
                if try transaction.rows.hasRow(one.key, of: schema) || !transaction.setAside.hasWaitingChildren(of: schema, among: datasets) {
                    try transaction.setAside.remove(one.key, of: schema)
                }
            }
        }
        for rows in stashes.rows.values { try rows.drop() }
        stashes.rows = [:]
        return hasChanged
    }

    /// The temporary table through which a dataset's entities return.
    private func rows(of schema: DatasetSchema) throws -> StashedRows {
        if let rows = stashes.rows[schema.name] { return rows }
        let rows = try StashedRows(transaction, schema, table: "snapsync_returning_\(stashes.rows.count)")
        try rows.create()
        stashes.rows[schema.name] = rows
        return rows
    }

    /// Returns the entities that may return on their own, the highest rank first.
    private func waiting() throws -> [(schema: DatasetSchema, one: SetAsideEntity)] {
        try datasets.flatMap { schema in
            try transaction.setAside.entities(of: schema).filter { $0.reason == .valueTaken || $0.reason == .parentMissing }.map { (schema, $0) }
        }.sorted { $0.one.rank > $1.one.rank }
    }

    /// Returns one entity to its table if possible, or drops it if a later change exists. The result says whether any row was inserted or
    /// removed.
    private func tryReturn(of one: SetAsideEntity, _ schema: DatasetSchema) throws -> Bool {
        if case .overtaken(let entity, let instant) = try standing(one, schema) {
            try transaction.setAside.remove(one.key, of: schema)
            try ledger.overtake(one, schema, by: entity, at: instant, in: transaction)
            return false
        }
        let group = Group()
        let isBack = try transaction.attempting {
            guard try put(one, schema, group) else { return false }
            return try group.returned.allSatisfy { try !transaction.references.isDangling($0.key, of: $0.schema, among: datasets) }
        }
        guard isBack else { return false }
        for (schema, key) in group.displaced { ledger.recordSetAside(key, schema, .valueTaken) }
        for (schema, key) in group.returned { ledger.recordReturn(key, schema) }
        return true
    }

    private func standing(_ one: SetAsideEntity, _ schema: DatasetSchema) throws -> Standing {
        let isNeeded = one.reason == .parentNeeded
        if try transaction.rows.hasRow(one.key, of: schema) {
            if isNeeded { return .unneeded }
            let here = try transaction.changeLog.instant(of: one.key, in: schema) ?? .distantPast
            guard here >= one.instant else { return .canReturn(at: one.instant, over: here) }
            return .overtaken(by: try EntityDocument.make(schema.withoutShapes) { try transaction.rows.giveRow(one.key, of: schema, to: $0) }, at: here)
        }
        let tracked = try transaction.changeLog.change(of: one.key, in: schema).flatMap { $0.isDeletion ? $0.instant : nil }
        let tombstone = try transaction.tombstonesAndInstants.tombstone(of: one.key, in: schema)
        guard let deleted = tracked ?? tombstone else { return .canReturn(at: one.instant, over: nil) }
        // A needed parent comes back whatever deleted it. A deletion that only made room for another row's value does not count against the
        // entity.
        if isNeeded { return .canReturn(at: deleted.advanced(byMicroseconds: 1), over: deleted) }
        if deleted == one.displacedAt || deleted == one.instant {
            return tracked == one.displacedAt && tombstone == nil ? .canBeRestored : .canReturn(at: deleted.advanced(byMicroseconds: 1), over: deleted)
        }
        return deleted < one.instant ? .canReturn(at: one.instant, over: deleted) : .overtaken(by: nil, at: deleted)
    }

    /// Inserts an entity into its table, together with its parents that are set aside. Returns false if an obstacle remains.
    private func put(_ one: SetAsideEntity, _ schema: DatasetSchema, _ group: Group) throws -> Bool {
        let standing = try standing(one, schema)
        switch standing {
        case .overtaken, .unneeded: return false
        case .canReturn, .canBeRestored: break
        }
        guard try insert(one, schema, group) else { return false }
        if one.reason == .parentNeeded { try transaction.rows.markAsOrphan(one.key, of: schema) }
        if case .canReturn(let instant, let replaced) = standing {
            // An edit of this device stays one, and is kept if it loses later.
            let isEdit = one.displacedAt == nil && one.reason != .parentNeeded
            try transaction.changeLog.track(of: one.key, in: schema, at: instant, joining: isEdit ? .continuing(base: replaced) : .replacing)
        } else {
            try transaction.changeLog.forget(of: one.key, in: schema)
        }
        try transaction.setAside.remove(one.key, of: schema)
        group.returned.append((schema, one.key))
        for (schema, key) in try transaction.setAside.parents(of: one.key, in: schema, among: datasets) {
            guard let parent = try transaction.setAside.entity(key, of: schema) else { continue }
            // Continue only while a parent is still missing: the parents inserted so far may have been enough.
            guard try group.returned.contains(where: { try transaction.references.isDangling($0.key, of: $0.schema, among: datasets) }) else { break }
            guard parent.reason != .tooOld, try put(parent, schema, group) else { return false }
        }
        return true
    }

    private func insert(_ one: SetAsideEntity, _ schema: DatasetSchema, _ group: Group) throws -> Bool {
        let rows = try rows(of: schema)
        do {
            try rows.take(one.key) { try EntityDocument.give(one.entity, of: schema.withoutShapes, to: $0) }
        } catch is FormatError {
            // The dataset's description has changed since the entity was set aside.
            return false
        }
        _ = try transaction.rows.deleteEntity(one.key, of: schema)
        if try rows.insert(one.key) { return true }
        guard publishes, one.reason != .parentNeeded else { return false }
        let rivals = try rows.rivals(of: one.key).map { RowRank(try transaction.changeLog.instant(of: $0, in: schema) ?? .distantPast, $0) }
        guard !rivals.isEmpty, rivals.allSatisfy({ $0 < one.rank }) else { return false }
        for rival in rivals {
            let isChangedHere = try transaction.changeLog.change(of: rival.key, in: schema) != nil
            let instant = rival.instant.forTombstone
            try ledger.keep(
                DisplacedRow(schema: schema, key: rival.key, reason: .valueTaken, instant: instant, displacedAt: isChangedHere ? nil : instant) {
                    try transaction.rows.giveRow(rival.key, of: schema, to: $0)
                }, in: transaction)
            try transaction.merge.displaceRow(rival.key, of: schema, at: rival.instant)
            group.displaced.append((schema, rival.key))
        }
        return try rows.insert(one.key)
    }
}

extension SetAsideEntity {
    /// The rank among rows that hold the same UNIQUE value.
    fileprivate var rank: RowRank { RowRank(instant, key) }
}

extension SetAsideReturn {
    /// Writes entities that were set aside, and edits in open conflicts, into files beside the database. `detach` calls it before it drops the
    /// tables that hold them.
    static func keepCopies(of datasets: [DatasetSchema], in transaction: LocalTransaction, database: String, now: Instant) throws {
        let conflicts = Dictionary(grouping: try transaction.conflictJournal.entries(in: .open).map(\.conflict), by: \.dataset)
        for schema in datasets {
            var entities = try transaction.setAside.entities(of: schema).map { (key: $0.key, text: $0.entity) }
            // A deletion that lost has no entity to keep. Sorting is stable: of two edits of one key, the edit that lost first comes first.
            entities += (conflicts[schema.name] ?? []).compactMap { one in one.loser.entity.map { (key: one.key, text: $0) } }.sorted { $0.key < $1.key }
            var copies: [DisplacedRowsFile] = []
            for one in entities {
                try DisplacedRowsFile.add(one.key, of: schema, to: &copies, database: database, now: now) {
                    try EntityDocument.give(one.text, of: schema.withoutShapes, to: $0)
                }
            }
            for copy in copies { try copy.finish() }
        }
    }
}

extension SyncContext {
    /// Returns entities that were set aside at a publisher that does not import. The result is a list of sentences for the run's report.
    func returnSetAside() throws -> [String] {
        guard try database.read({ try $0.setAside.hasReturnable() }) else { return [] }
        do {
            return try database.withoutRollbacks {
                let ledger = ImportLedger(database: database.path, settings: settings, now: now())
                let notices = try database.write { transaction in
                    try transaction.changeLog.consolidate(of: settings.datasets)
                    ledger.parents = try OrphanResolver(transaction, datasets: settings.datasets, publishes: true)
                    let keeper = try ForeignKeyEnforcer(transaction, datasets: settings.datasets, takesVersion: true)
                    try transaction.tracking.importing(settings.datasets, then: keeper.enforce) {
                        try RowSettlement(datasets: settings.datasets, transaction: transaction, ledger: ledger, publishes: true, isImport: false).run()
                    }
                    try transaction.merge.endKeeping()
                    return transaction.triggerNotices
                }
                return ledger.sentences + notices
            }
        } catch let error as LocalStoreError where error.code == .foreignKeyViolated {
            return ["rows that were set aside stay so, for a row that would have to give way is needed: \(error.place): \(error.reason)"]
        }
    }
}
