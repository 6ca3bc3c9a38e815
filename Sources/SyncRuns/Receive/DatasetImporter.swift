import LocalStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Makes a table equal to a version. If only some blocks differ, only their rows are deleted and inserted.
///
/// The result is the same as if all rows were deleted and the version's were inserted. A database error belongs to the step `apply`, which the
/// caller adds.
struct DatasetImporter: Sendable {
    let schema: DatasetSchema
    let asset: SnapshotAsset
    let database: LocalDatabase
    let progress: ProgressHandler?

    typealias Outcome = IncomingDataset.Outcome

    /// How the version is applied. Decided before anything is changed.
    enum Plan: Sendable {
        /// Delete everything and insert the version.
        case whole
        /// Fetch these blocks. They replace the rows in their key ranges.
        case blocks([Int])
    }

    /// Compares the local rows with the version.
    ///
    /// Call it inside the import's transaction: no other connection can commit then, so the rows that are hashed are the rows that are replaced.
    func plan(_ transaction: LocalTransaction) throws -> Plan {
        guard try transaction.rows.hasRows(schema) else { return .whole }
        let all = Array(asset.index.blocks.indices)
        guard !all.isEmpty, asset.index.describes(schema) else { return .whole }
        let session = try ReadSession(alongside: database, readers: min(WorkerThreads.count, all.count))
        // In the rollback-journal modes, an open reader would prevent the import from committing.
        defer { session.end() }
        if let differing = try BlockComparison(schema: schema, index: asset.index, session: session).differingBlocks() { return .blocks(differing) }
        return .whole
    }

    /// Applies the plan. Afterwards the table has the version's rows alone, and the version's tombstones and instants are stored.
    func apply(_ plan: Plan, in transaction: LocalTransaction) throws -> Outcome {
        let tail = try StoredTail(schema, in: transaction, notAfter: asset.syncTimestamp)
        try asset.readTail(as: schema, tail.visitor)
        let index = asset.index
        let outcome: Outcome
        switch plan {
        case .whole:
            outcome = try transaction.tracking.withoutTriggers {
                let applier = try transaction.rows.replaceAll(of: schema)
                return try insert(Array(index.blocks.indices), applier)
            }
        case .blocks(let numbers):
            try clear(numbers, transaction)
            outcome = try insert(numbers, transaction.rows.inserting(into: schema))
        }
        try transaction.rows.checkCount(of: schema, is: index.recordCount)
        try settle(tail, in: transaction)
        return outcome
    }

    /// Returns the key ranges of blocks. A version without entities has one range that contains every key.
    private func ranges(of blocks: [Int]) -> [KeyRange] {
        asset.index.blocks.isEmpty ? [asset.range(ofBlock: 0)] : blocks.map(asset.range)
    }

    private func clear(_ blocks: [Int], _ transaction: LocalTransaction) throws {
        // No version has an entity without a key, and no key range contains such a row.
        try transaction.rows.deleteRowsWithoutKey(of: schema)
        // Delete all before the first insertion: a UNIQUE value may move from a late block to an early one.
        for range in ranges(of: blocks) { try transaction.rows.deleteEntities(of: schema, in: range) }
    }

    private func insert(_ blocks: [Int], _ applier: EntityApplier) throws -> Outcome {
        let index = asset.index
        let expected = blocks.reduce(0) { $0 + index.blocks[$1].count }
        var unknown: Set<String> = []
        try BlockPipeline(asset: asset, blocks: blocks, workerCount: WorkerThreads.count - 1).run(.entities(schema)) { _, block in
            unknown.formUnion(block.unknownFieldNames)
            try block.send(to: applier)
            progress?(SyncProgress(step: .apply, dataset: schema.name, entityCount: applier.count, expectedCount: expected))
        }
        return Outcome(
            report: ImportedDataset(
                name: schema.name, recordCount: index.recordCount, syncTimestamp: asset.syncTimestamp.description,
                size: blocks.reduce(index.header.length + index.tail.length) { $0 + index.blocks[$1].member.length },
                blocks: index.blocks.count, blocksFetched: blocks.count, changeFiles: 0),
            unknownFields: unknown.sorted())
    }

    /// Completes the version's instants once its rows are in the table. An entity whose own timestamp is later than the asset's gets the asset's
    /// timestamp as its instant.
    private func settle(_ tail: StoredTail, in transaction: LocalTransaction) throws {
        try tail.finish(notAfter: asset.syncTimestamp)
        try transaction.futureInstants.limitTimestamps(of: schema, to: asset.syncTimestamp)
        if try transaction.tombstonesAndInstants.strayKey(of: schema) != nil { throw SnapshotAsset.strayEntity(asset.place) }
        if let key = try transaction.tombstonesAndInstants.doubledKey(of: schema) { throw SnapshotAsset.doubledEntity(key, asset.place) }
    }
}
