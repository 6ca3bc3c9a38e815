import CloudStore
import LocalStore
import SnapshotFormat
import SnapshotModel
import SnapshotVersions

/// Finds entities of the applied version that are missing here without a tracked deletion.
///
/// Tracking is incomplete where an application rebuilt a table: what went with the triggers was noted by nobody, and an entity
/// that is missing then counts as damaged, not as deleted.
struct MissingRows: Sendable {
    let device: SyncContext
    let allowed: ShrinkApproval

    /// Refuses to publish a dataset whose tracking is incomplete and whose rows are missing.
    ///
    /// - Throws: ``SyncError`` with `.refused`.
    func refuse(_ schema: DatasetSchema, _ last: DatasetRecord?, _ session: ReadSession) async throws {
        guard let last, !allowed.covers(schema.name) else { return }
        let isComplete = try SyncError.at(.read) { try session.withReader(0) { try $0.transaction.changeLog.summary(of: schema).isComplete } }
        guard !isComplete else { return }
        // An asset that cannot be read is another step's matter; it is written anew then.
        let record = last.record(of: schema)
        guard let asset = try? await SnapshotAsset(of: record, dataset: schema.name, in: device.cloud, zone: device.zone),
            let changes = try? await ChangeAsset.open(last.changeFiles, dataset: schema.name, in: device.cloud, zone: device.zone)
        else { return }
        let count = try await WorkerThreads.run { try countMissing(schema, asset, changes, session) }
        guard count > 0 else { return }
        throw SyncError(
            .refused, step: .read, at: "\(device.database.path), table \(schema.table)",
            "\(count) \(count == 1 ? "entity" : "entities") of the last version of \(schema.name) \(count == 1 ? "is" : "are") missing, and no deletion was tracked (the table may have been rebuilt or emptied while its triggers were gone); nothing was published",
            hint: "snapsync import brings them back; if they were meant to go: snapsync sync --allow-shrink \(schema.name)")
    }

    private func countMissing(_ schema: DatasetSchema, _ asset: SnapshotAsset, _ changes: [ChangeAsset], _ session: ReadSession) throws -> Int {
        guard asset.index.describes(schema) else { return 0 }
        let overlay = try ChangeOverlay(reading: changes, schema)
        let blocks = try SyncError.at(.read) { try BlockComparison(schema: schema, index: asset.index, session: session).allDifferences() }
        var missing = 0
        func count(_ version: EntityStates, in range: KeyRange) throws {
            try session.withReader(0) { reader in
                let rows = EntityStates(schema: schema)
                try reader.ranges(of: schema).read(range, into: rows)
                missing +=
                    Set(version.states.keys).subtracting(rows.states.keys).subtracting(try reader.transaction.changeLog.touchedKeys(of: schema, in: range))
                    .count
            }
        }
        if asset.index.blocks.isEmpty {
            let version = EntityStates(schema: schema)
            try overlay.give(nil, from: nil, upTo: nil, to: version)
            try count(version, in: KeyRange(number: 0, first: nil, next: nil))
        }
        try BlockPipeline(asset: asset, blocks: blocks, workerCount: 1).run(.entities(schema)) { number, block in
            let version = EntityStates(schema: schema)
            let range = BlockComparison.range(ofBlock: number, in: asset.index)
            try overlay.give(block, from: range.first, upTo: range.next, to: version)
            try count(version, in: range)
        }
        return missing
    }
}
