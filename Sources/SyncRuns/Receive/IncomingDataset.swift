import CloudStore
import LocalStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// A dataset's new version during an import: the assets to read, and how they are applied.
struct IncomingDataset: Sendable {
    let schema: DatasetSchema
    let fields: DatasetRecord
    /// The snapshot asset to which the changes are applied; nil if they are applied to the local rows.
    let snapshot: SnapshotAsset?
    /// The change assets, oldest first.
    let changes: [ChangeAsset]
    /// The number of entities in the applied version; nil if unknown.
    let countBefore: Int?

    /// The result.
    struct Outcome: Sendable {
        let report: ImportedDataset
        let unknownFields: [String]
    }

    /// Reads the version whole: the snapshot asset, from which only blocks that differ are fetched, and the change assets after it.
    init(whole record: CloudRecord, of schema: DatasetSchema, in cloud: CloudDatabase, zone: ZoneID) async throws {
        let version = try await DatasetVersion(record, as: schema, in: cloud, zone: zone)
        self.schema = schema
        fields = version.fields
        snapshot = version.snapshot
        changes = version.changes
        countBefore = nil
    }

    /// Reads only the changes since the applied version.
    init(
        _ fields: DatasetRecord, steps: [(file: CloudAsset, after: CloudAsset?)], of schema: DatasetSchema, countBefore: Int?, in cloud: CloudDatabase,
        zone: ZoneID
    ) async throws {
        self.schema = schema
        self.fields = fields
        snapshot = nil
        changes = try await ChangeAsset.open(steps, dataset: schema.name, in: cloud, zone: zone)
        self.countBefore = countBefore
    }

    /// Makes the dataset's table equal to the version, in the import's transaction.
    ///
    /// - Parameter plan: how the snapshot asset is applied; decided before the first row changed.
    /// - Throws: ``SyncError`` with `.dataRefused` if the result does not have the version's number of entities.
    func apply(
        _ plan: DatasetImporter.Plan?, with importer: DatasetImporter?, merge: ImportMerge, ledger: ImportLedger, in transaction: LocalTransaction,
        _ progress: ProgressHandler?
    ) throws -> Outcome {
        let missing = snapshot?.index.missingColumns(of: schema) ?? []
        transaction.missingColumns[schema.name] = missing.isEmpty ? nil : missing
        let unseen = try transaction.state.unseenColumns(of: schema), removed = try transaction.state.removedColumns(of: schema)
        let unseenColumns = schema.columns.indices.filter { unseen.contains(schema.columns[$0].name.exact) }
        let own = Set(missing).union(unseenColumns).sorted()
        try transaction.defaultedRows.begin(of: schema)
        let carried = try own.isEmpty ? nil : CarriedColumns(transaction, of: schema, own)
        var unknown: Set<String> = []
        var count = countBefore
        var base: ImportedDataset?
        if let plan, let importer {
            ledger.author = ledger.soleAuthor(upTo: snapshot.flatMap { AssetPath($0.fields.dataFile.path)?.number } ?? .max)
            let outcome = try importer.apply(plan, in: transaction)
            merge.wrote(of: schema)
            unknown.formUnion(outcome.unknownFields)
            base = outcome.report
            count = outcome.report.recordCount
        }
        var changeImporter = try ChangeImporter(schema: schema, transaction: transaction, isOnSnapshot: snapshot != nil)
        var last = snapshot?.syncTimestamp
        for asset in changes {
            let set = try asset.read(schema)
            unknown.formUnion(set.entities.unknownFieldNames)
            ledger.author = ledger.authors[AssetPath(asset.file.path)?.number ?? 0]
            let growth = try changeImporter.apply(set)
            merge.wrote(set, of: schema)
            count = if let count, let growth { count + growth } else { nil }
            last = set.syncTimestamp
            progress?(SyncProgress(step: .apply, dataset: schema.name, entityCount: set.entityKeys.count, expectedCount: nil))
        }
        guard count == nil || count == fields.recordCount, last == nil || last == fields.syncTimestamp else {
            throw SyncError(
                .dataRefused, step: .apply, at: "\(schema.name), \(changes.count) change assets",
                "they do not lead from what is here to the version that the commit names", hint: SnapshotAsset.hint)
        }
        try merge.settleDecided(of: schema)
        try carried?.restore()
        if let carried { merge.carried.append(carried) }
        try transaction.defaultedRows.end(of: schema)
        if snapshot != nil { try transaction.state.unseenColumns.set([], of: schema) }
        // Change assets do not name columns. If the version lacks one, the next version must be a snapshot asset.
        if let snapshot {
            // The version still has columns that were removed here.
            let surplus = ledger.publishes ? snapshot.index.columns.map(\.name).filter { removed.contains($0.exact) } : []
            try transaction.state.missingColumns.set(missing.map { schema.columns[$0].name } + surplus, of: schema)
        }
        return Outcome(
            report: ImportedDataset(
                name: schema.name, recordCount: fields.recordCount, syncTimestamp: fields.syncTimestamp.description,
                size: (base?.size ?? 0) + changes.reduce(0) { $0 + $1.file.byteCount }, blocks: base?.blocks, blocksFetched: base?.blocksFetched,
                changeFiles: changes.count),
            unknownFields: unknown.filter { !removed.contains($0.exact) }.sorted { $0.exact < $1.exact })
    }
}
