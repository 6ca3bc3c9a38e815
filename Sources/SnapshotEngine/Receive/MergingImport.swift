import CloudStore
import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

/// The parts of an import beyond replacing datasets: own rows at a first import, parents that are still needed, entities that are set aside, and
/// entities that come back.
struct MergingImport {
    private let device: SyncContext
    private let transaction: LocalTransaction
    private let first: FirstImport
    private let ledger: ImportLedger

    /// Consolidates the log and decides what happens to own rows. Nothing in the datasets' tables is changed.
    ///
    /// - Throws: ``SyncError`` with `.refused` if nobody has decided what happens to existing rows.
    init(device: SyncContext, transaction: LocalTransaction, schemas: [DatasetSchema], isView: Bool, ledger: ImportLedger) throws {
        self.device = device
        self.transaction = transaction
        self.ledger = ledger
        try transaction.changeLog.consolidate(of: device.settings.datasets)
        first = try FirstImport(transaction, schemas, settings: device.settings, isView: isView, now: ledger.now, at: device.database.path)
        ledger.parents = try OrphanResolver(transaction, datasets: device.settings.datasets, publishes: device.settings.role.publishes)
    }

    /// Returns how a dataset is merged.
    ///
    /// - Parameters:
    ///   - changes: the zone's commits since the applied version; nil for a view.
    ///   - isFirst: whether there is no applied version.
    func rule(of one: IncomingDataset, in changes: ZoneChanges?, isFirst: Bool) -> MergeRule {
        // Change assets contain every deletion, however old.
        let horizon =
            one.snapshot == nil ? nil : changes.flatMap { TombstoneHorizon.latest(of: one.schema, in: $0.commits, wasPruned: !isFirst && !$0.base.isEmpty) }
        return first.rule(of: one.schema, horizon: horizon)
    }

    /// Prepares the merge. Call it before the first deletion.
    func begin(_ incoming: [IncomingDataset]) throws {
        for one in incoming where first.isSingle(one.schema) {
            try single(one.schema).keepCopy(besides: one.fields.recordCount)
        }
    }

    /// Ends the merge. Call it after the last insertion.
    func finish(_ incoming: [IncomingDataset], _ changes: ZoneChanges?) throws {
        // A snapshot asset replaces the tombstones. Change assets do not drop any, so do that here.
        for one in incoming where one.snapshot == nil {
            for commit in changes?.commits ?? [] { try TombstoneHorizon.take(from: commit, of: one.schema, in: transaction) }
        }
        for one in incoming where first.isSingle(one.schema) { try single(one.schema).keepOne() }
        for one in incoming { try transaction.detachedChanges.forget(of: one.schema) }
        try RowSettlement(
            datasets: device.settings.datasets, transaction: transaction, ledger: ledger, publishes: device.settings.role.publishes, isImport: true
        ).run()
        try transaction.merge.endKeeping()
    }

    private func single(_ schema: DatasetSchema) -> SinglePolicy { SinglePolicy(schema: schema, transaction: transaction, ledger: ledger) }
}
