import CloudStore
import LocalStore
import LocalTables
import MaterializedViews
import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

/// Makes a ``SyncPlan``. The import's own rules decide, in a transaction that is rolled back.
struct SyncPlanner: Sendable {
    let context: SyncContext
    /// The maximum number of listed items for each dataset.
    let limit: Int
    /// Why a sync would not even begin, as sentences.
    var refusals: [String] = []

    private struct Incoming: Sendable {
        let schema: DatasetSchema
        let version: DatasetVersion?
        let isHere: Bool
    }

    func run() async throws -> SyncPlan {
        let settings = context.settings
        try MissingTables.verify(settings.datasets, of: settings, in: context.database)
        let applied = try context.database.read { try $0.state.applied() }
        let head = try await newestState(applied)
        var incoming: [Incoming] = []
        for schema in settings.datasets {
            var version: DatasetVersion?
            var isHere = false
            if let record = head.record(schema.recordName) {
                version = try await DatasetVersion(record, as: schema, in: context.cloud, zone: context.zone).loaded()
                isHere = applied.map { (Int(record.changeTag ?? "") ?? .max) <= $0.number } == true
            }
            incoming.append(Incoming(schema: schema, version: version, isHere: isHere))
        }
        var refusals = refusals
        if settings.role.publishes, let newest = head.token, newest != applied?.token, try await !context.isOneOfMany() {
            refusals.append("version \(newest.number) is not here yet, and the zone's one publisher publishes only on top of it; run snapsync import first")
        }
        let inspector = SnapshotInspector(cloud: context.cloud, zone: context.zone, applied: applied, context: context)
        let waiting = settings.role.publishes && applied != nil ? try await inspector.messages().waiting.count { !$0.isDecided } : 0
        let (found, notes) = (incoming, refusals)
        let refreshes = try SyncPlan.Refresh.all(context)
        let made = context.now()
        // The transaction is rolled back at the end, so consolidating the log and storing tombstones for the import's rules leaves no trace.
        return try context.database.holdingWriteLock { transaction in
            try transaction.lettingOthersRead {
                let sequence = try transaction.changeLog.lastSequence()
                let isTracking = try transaction.tracking.isInstalled(settings.datasets)
                if try transaction.changeLog.hasEntries(settings.datasets) { try transaction.changeLog.consolidate(of: settings.datasets) }
                let (guarded, first) = try self.refusals(found, transaction)
                let removals = try RowRemovals(of: settings.datasets, in: transaction)
                let datasets = try found.map { try plan($0, isTracking: isTracking, by: first, in: transaction, removals) }
                let refusals = try notes + guarded + [removals?.refusal()].compactMap(\.self)
                return SyncPlan(
                    formatVersion: SyncPlan.formatVersion, madeAt: made, database: context.database.path, cloudUUID: settings.cloudUUID,
                    zone: settings.zone,
                    device: settings.device, role: settings.role.rawValue, version: applied?.number, versionHash: applied?.hash,
                    newestVersion: head.token?.number, newestHash: head.token?.hash, sequence: sequence, datasets: datasets, waitingEdits: waiting,
                    refusals: refusals, refreshes: refreshes)
            }
        }
    }

    private func newestState(_ applied: AppliedVersion?) async throws -> ZoneState {
        try await context.cloud.records(in: context.zone, at: nil, notBefore: applied?.token)
    }

    private func plan(_ one: Incoming, isTracking: Bool, by first: FirstImport?, in transaction: LocalTransaction, _ removals: RowRemovals?) throws
        -> SyncPlan.Dataset
    {
        let planned = PlannedDataset(
            schema: one.schema, transaction: transaction, database: context.database, publishes: context.settings.role.publishes,
            cloudWins: first?.names.contains(one.schema.name) == true && one.schema.merge == .replace, limit: limit, removals: removals)
        guard let version = one.version else { return try planned.planFirstExport() }
        if first?.isSingle(one.schema) == true { return try planned.planSingle(version) }
        let isComplete = try isTracking && transaction.changeLog.isComplete(of: one.schema)
        return try planned.plan(version, isHere: one.isHere, isComplete: isComplete)
    }

    /// The refusals of the guards, and the rules for existing rows in a first import.
    private func refusals(_ incoming: [Incoming], _ transaction: LocalTransaction) throws -> ([String], FirstImport?) {
        let schemas = incoming.filter { $0.version != nil && !$0.isHere }.map(\.schema)
        var found: [String] = []
        func ask(_ guarding: () throws -> Void) throws {
            do {
                try guarding()
            } catch let error as SyncError where error.code == .refused {
                found.append("\(error.place): \(error.reason)")
            }
        }
        for schema in schemas {
            let shape = try transaction.tables.check(of: schema)
            try ask { try SyncGuards.refuseUnfillableColumns(shape, schema, at: context.database.path) }
        }
        var first: FirstImport?
        try ask { first = try FirstImport(transaction, schemas, settings: context.settings, now: context.now(), at: context.database.path) }
        return (found, first)
    }
}

extension SyncPlan.Refresh {
    static func all(_ context: SyncContext) throws -> [Self] {
        try context.pendingViews().map { Self(table: $0.table, changes: .init(added: $0.added, changed: $0.changed, removed: $0.removed)) }.filter {
            $0.changes.total > 0
        }
    }
}

/// The rows that a sync would remove from a database in which tables that are not synced have foreign keys. Such a key can forbid the import.
final class RowRemovals {
    private let keeper: ForeignKeyEnforcer
    private let schemas: [DatasetSchema]
    private let transaction: LocalTransaction
    private var keys: [String: [EntityKey]] = [:]

    /// Nil if no table that is not synced has such a key. Call it before anything is removed.
    init?(of schemas: [DatasetSchema], in transaction: LocalTransaction) throws {
        keeper = try ForeignKeyEnforcer(transaction, datasets: schemas, takesVersion: true)
        guard keeper.isNeeded else { return nil }
        (self.schemas, self.transaction) = (schemas, transaction)
    }

    func record(_ key: EntityKey, of schema: DatasetSchema) { keys[schema.name, default: []].append(key) }

    /// Removes the rows as an import would, and returns why that is forbidden; nil if it is not. The caller rolls the transaction back.
    func refusal() throws -> String? {
        guard !keys.isEmpty else { return nil }
        do {
            try transaction.undoingOnError {
                try transaction.tracking.importing(schemas, then: { try keeper.enforce() }) {
                    for schema in schemas { try transaction.rows.deleteEntities(keys[schema.name] ?? [], of: schema) }
                }
            }
            return nil
        } catch let error as SyncError where error.database == .foreignKeyViolated {
            return "\(error.place): \(error.reason)"
        }
    }
}
