import LocalStore
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
    /// Whether to keep a local change that gave an entity the version's state with a later instant. True at a publisher.
    var keepsInstants = false
    let progress: ProgressHandler?
    /// How local changes and the version are merged.
    var rule = MergeRule.ordinary

    typealias Outcome = IncomingDataset.Outcome

    /// How the version is applied. Decided before anything is changed.
    enum Plan: Sendable {
        /// Delete everything and insert the version: no local row or change has to be kept.
        case whole
        /// Fetch these blocks. They replace the rows in their key ranges, except where a local change wins.
        case blocks([Int])
    }

    /// Compares the local rows with the version.
    ///
    /// Call it inside the import's transaction: no other connection can commit then, so the rows that are hashed are the rows that are replaced.
    func plan(_ transaction: LocalTransaction) throws -> Plan {
        let (hasRows, hasChanges) = try SyncError.at(.read) { (try transaction.rows.hasRows(schema), try transaction.changeLog.hasChanges(of: schema)) }
        guard hasRows || hasChanges else { return .whole }
        let all = Array(asset.index.blocks.indices)
        guard !all.isEmpty, asset.index.describes(schema) else { return hasChanges ? .blocks(all) : .whole }
        return try SyncError.at(.read) {
            let session = try ReadSession(alongside: database, readers: min(WorkerThreads.count, all.count))
            // In the rollback-journal modes, an open reader would prevent the import from committing.
            defer { session.end() }
            if let differing = try BlockComparison(schema: schema, index: asset.index, session: session).differingBlocks() { return .blocks(differing) }
            return hasChanges ? .blocks(all) : .whole
        }
    }

    /// Applies the plan. Afterwards the version's tombstones and instants are stored and the changes that lost are no longer tracked.
    func apply(_ plan: Plan, ledger: ImportLedger, in transaction: LocalTransaction) throws -> Outcome {
        try loadTombstonesAndInstants(in: transaction)
        let index = asset.index
        let duplicates = try SyncError.at(.apply) { try ledger.duplicates(of: schema, in: transaction) }
        func resolveDuplicates() throws -> Int { try duplicates?.resolve { try ledger.setAside($0, in: transaction) } ?? 0 }
        let outcome: Outcome
        switch plan {
        case .whole:
            outcome = try transaction.tracking.withoutTriggers {
                let applier = try transaction.rows.replaceAll(of: schema)
                applier.duplicates = duplicates
                return try insert(Array(index.blocks.indices), applier) { block, _ in try block.give(to: applier) }
            }
            try transaction.rows.checkCount(of: schema, is: index.recordCount - resolveDuplicates())
            try limitTimestamps(in: transaction)
        case .blocks(let numbers):
            let unseen = try transaction.state.unseenColumns(of: schema)
            let merge = BlockMerge(
                schema: schema, transaction: transaction, rule: rule, latest: asset.syncTimestamp, ledger: ledger, missing: index.missingColumns(of: schema),
                unseen: schema.columns.indices.filter { unseen.contains(schema.columns[$0].name.exact) })
            let hasChanges = try transaction.changeLog.hasChanges(of: schema)
            if hasChanges { try decide(numbers, merge, transaction) }
            if hasChanges { try keepLaterInstants(outside: numbers, merge, transaction) }
            let kept = try hasChanges ? UniqueConflictResolver(transaction, schema, versionStays: rule.versionStays) : nil
            try kept?.stash()
            try clear(numbers, sparingKept: hasChanges, transaction)
            let applier = try transaction.rows.inserting(into: schema)
            applier.duplicates = duplicates
            outcome = try insert(numbers, applier) { block, range in
                if hasChanges { try merge.insert(block, of: range, through: applier) } else { try block.give(to: applier) }
            }
            let displaced = try resolveDuplicates()
            try limitTimestamps(in: transaction)
            if let kept { try ledger.restore(kept, of: VersionLookup(asset, schema), in: transaction) }
            if !hasChanges { try transaction.rows.checkCount(of: schema, is: index.recordCount - displaced) }
            if hasChanges { try PatchOverlay(schema, in: transaction)?.applyOverlays(to: transaction.merge.overlaidKeys(of: schema)) }
        }
        try transaction.merge.end(of: schema, versionWins: rule.cloudWins)
        return outcome
    }

    /// Returns the key ranges of blocks. A version without entities has one range that contains every key.
    private func ranges(of blocks: [Int]) -> [KeyRange] {
        asset.index.blocks.isEmpty ? [asset.range(ofBlock: 0)] : blocks.map(asset.range)
    }

    private func decide(_ blocks: [Int], _ merge: BlockMerge, _ transaction: LocalTransaction) throws {
        if asset.index.blocks.isEmpty { return try ranges(of: []).forEach { try merge.decide(nil, in: $0) } }
        let touched = try blocks.filter { try !transaction.changeLog.changes(of: schema, in: asset.range(ofBlock: $0)).isEmpty }
        try BlockPipeline(asset: asset, blocks: touched, workerCount: WorkerThreads.count - 1).run(.entities(schema)) { number, block in
            try merge.decide(block, in: asset.range(ofBlock: number))
        }
    }

    /// Keeps tracked changes in blocks that do not differ. Such a change gave an entity the same state as the version has. If it was made later,
    /// it must win over a third device's change in between, so it is published with its instant.
    ///
    /// A reader can only send a message about it. A sent change waits for its answer; one that was not sent is kept only if it was made later. Of a
    /// table that no message changes, a reader keeps them all, as in an import of the changes alone.
    private func keepLaterInstants(outside blocks: [Int], _ merge: BlockMerge, _ transaction: LocalTransaction) throws {
        let differing = Set(blocks)
        guard keepsInstants || schema.messageRules == nil else {
            let ranges = blocks.map { asset.range(ofBlock: $0) }
            for (key, isSent) in try transaction.outbox.unansweredKeys(of: schema)
            where !asset.index.blocks.isEmpty && !ranges.contains(where: { $0.contains(key) }) {
                guard !isSent, let change = try transaction.changeLog.change(of: key, in: schema), !change.isDeletion else {
                    try transaction.merge.keep(of: key, in: schema)
                    continue
                }
                try merge.keepIfLater(change)
            }
            return
        }
        for number in asset.index.blocks.indices where !differing.contains(number) {
            try merge.keepLater(in: asset.range(ofBlock: number))
        }
    }

    private func clear(_ blocks: [Int], sparingKept: Bool, _ transaction: LocalTransaction) throws {
        // No version has an entity without a key, and no key range contains such a row.
        try transaction.rows.deleteRowsWithoutKey(of: schema)
        // Delete all before the first insertion: a UNIQUE value may move from a late block to an early one.
        for range in ranges(of: blocks) { try transaction.rows.deleteEntities(of: schema, in: range, sparingKept: sparingKept) }
    }

    private func insert(_ blocks: [Int], _ applier: EntityApplier, _ give: (EntityBlock, KeyRange) throws -> Void) throws -> Outcome {
        let index = asset.index
        let expected = blocks.reduce(0) { $0 + index.blocks[$1].count }
        var unknown: Set<String> = []
        try BlockPipeline(asset: asset, blocks: blocks, workerCount: WorkerThreads.count - 1).run(.entities(schema)) { number, block in
            unknown.formUnion(block.unknownFieldNames)
            try give(block, asset.range(ofBlock: number))
            progress?(SyncProgress(step: .apply, dataset: schema.name, entityCount: applier.count, expectedCount: expected))
        }
        return Outcome(
            report: ImportedDataset(
                name: schema.name, recordCount: index.recordCount, syncTimestamp: asset.syncTimestamp.description,
                size: blocks.reduce(index.header.length + index.tail.length) { $0 + index.blocks[$1].member.length },
                blocks: index.blocks.count, blocksFetched: blocks.count, changeFiles: 0),
            unknownFields: unknown.sorted())
    }

    /// Limits instants: an entity whose own timestamp is later than the asset's gets the asset's timestamp as its instant.
    private func limitTimestamps(in transaction: LocalTransaction) throws {
        try transaction.futureInstants.limitTimestamps(of: schema, to: asset.syncTimestamp, isMerging: true)
    }

    private func loadTombstonesAndInstants(in transaction: LocalTransaction) throws {
        try transaction.tombstonesAndInstants.clear(of: schema)
        try asset.readTail(as: schema, .storing(in: transaction, of: schema))
    }
}
