import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// Makes one table equal to one version: delete-then-insert, of the blocks that differ where that is less.
///
/// The result is the same as if all rows were deleted and the version's inserted.
struct DatasetImporter: Sendable {
    let schema: DatasetSchema
    let asset: SnapshotAsset
    let database: LocalDatabase
    let progress: ProgressHandler?

    /// What was done.
    struct Outcome: Sendable {
        let report: ImportedDataset
        let unknownFields: [String]
    }

    /// The blocks to fetch, found before anything is changed; nil means the whole version.
    ///
    /// Call inside the import's transaction: nobody else can commit then, so the rows that are hashed are those that are replaced.
    func plan(_ transaction: LocalTransaction) throws -> [Int]? {
        guard !asset.index.blocks.isEmpty, asset.index.describes(schema) else { return nil }
        let (isReadable, hasRows) = try SyncError.at(.read) {
            (try transaction.checkTable(of: schema).hasComparableKey && !transaction.hasNullKeys(schema), try transaction.hasRows(schema))
        }
        guard isReadable, hasRows else { return nil }
        return try SyncError.at(.read) {
            let session = try ReadSession(insideWriteOf: database, readers: WorkerThreads.count)
            // In the rollback-journal modes an open reader would keep the import from committing.
            defer { session.end() }
            return try BlockComparison(schema: schema, index: asset.index, session: session).differingBlocks()
        }
    }

    /// Replaces what `plan` says.
    func apply(_ plan: [Int]?, in transaction: LocalTransaction) throws -> Outcome {
        let applier = try SyncError.at(.apply) {
            plan == nil ? try transaction.replaceAll(of: schema) : try transaction.inserting(into: schema)
        }
        let index = asset.index, isWhole = plan == nil
        let blocks = plan ?? Array(index.blocks.indices)
        let expected = blocks.reduce(0) { $0 + index.blocks[$1].count }
        var unknown: Set<String> = []
        try BlockPipeline(asset: asset, blocks: blocks, workerCount: WorkerThreads.count - 1).run(.entities(schema)) { number, block in
            unknown.formUnion(block.unknownFieldNames)
            try SyncError.at(.apply) {
                if !isWhole { try transaction.deleteEntities(of: schema, in: BlockComparison.range(ofBlock: number, in: index)) }
                try block.give(to: applier)
            }
            progress?(SyncProgress(step: .apply, dataset: schema.name, entityCount: applier.count, expectedCount: expected))
        }
        try asset.checkTail()
        try SyncError.at(.apply) { try transaction.checkCount(of: schema, is: index.recordCount) }
        return Outcome(
            report: ImportedDataset(
                name: schema.name, recordCount: index.recordCount, syncTimestamp: asset.fields.syncTimestamp.description,
                size: blocks.reduce(index.header.length + index.tail.length) { $0 + index.blocks[$1].member.length },
                blocks: index.blocks.count, blocksFetched: blocks.count),
            unknownFields: unknown.sorted())
    }
}
