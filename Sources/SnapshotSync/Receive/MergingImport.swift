import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// What an import does besides replacing datasets: own rows at the first one, parents that are still needed, entities that
/// cannot stay and those that come back.
struct MergingImport {
    private let device: Device
    private let transaction: LocalTransaction
    private let first: FirstImport
    private let ledger: ImportLedger

    /// Folds what was noted and decides what own rows become. Nothing in the datasets' tables is changed.
    ///
    /// - Throws: ``SyncError`` with `.refused` for rows that nobody has decided about.
    init(device: Device, transaction: LocalTransaction, schemas: [DatasetSchema], isView: Bool, ledger: ImportLedger) throws {
        self.device = device
        self.transaction = transaction
        self.ledger = ledger
        try transaction.foldNotes(of: device.settings.datasets)
        first = try FirstImport(transaction, schemas, settings: device.settings, isView: isView, now: ledger.now, at: device.database.path)
        ledger.parents = try ParentKeeper(transaction, datasets: device.settings.datasets)
    }

    /// How a dataset is merged.
    func rule(of schema: DatasetSchema, horizon: Instant?) -> MergeRule { first.rule(of: schema, horizon: horizon) }

    /// Call before the first deletion.
    func begin(_ importers: [DatasetImporter]) throws {
        for importer in importers where first.isSingle(importer.schema) {
            try single(importer.schema).keepCopy(besides: importer.asset.index.recordCount)
        }
    }

    /// Call after the last insertion.
    func settle(_ importers: [DatasetImporter]) throws {
        for importer in importers where first.isSingle(importer.schema) { try single(importer.schema).settle() }
        if let outcome = try ledger.parents?.settle(now: ledger.now, setAside: { try ledger.setAside($0, in: transaction) }) {
            for (schema, key) in outcome.revived { ledger.note(key, schema, "revived, for what refers to them is still here") }
            for importer in importers {
                let keys = outcome.setAside.filter { $0.schema.name == importer.schema.name }.map(\.key)
                try importer.insertEntities(of: keys, transaction)
            }
            for (schema, _) in outcome.setAside where !importers.contains(where: { $0.schema.name == schema.name }) {
                // The version's entity is in an asset that this import does not read; the next one finds that it is missing.
                try transaction.forgetCompleteness(of: schema)
            }
        }
        try SetAsideReturn(datasets: device.settings.datasets, transaction: transaction, ledger: ledger).run()
    }

    private func single(_ schema: DatasetSchema) -> SingleEntity { SingleEntity(schema: schema, transaction: transaction, ledger: ledger) }
}
