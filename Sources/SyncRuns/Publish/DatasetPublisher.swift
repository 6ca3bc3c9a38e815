import CloudStore
import LocalStore
import LocalTables
import Logging
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Writes the assets of a commit's datasets, one dataset after another: a snapshot asset, a change asset, or both.
///
/// The assets have no effect before the commit. If a later step fails, the caller discards ``Written/assets``.
struct DatasetPublisher: Sendable {
    let context: SyncContext
    let session: ReadSession
    let syncTimestamp: Instant
    /// The commit's number.
    let number: Int
    let isFull: Bool
    /// Whether the session has only one reader but can be reopened with more for a large snapshot asset.
    let mayReopen: Bool
    let progress: ProgressHandler?
    let missing: MissingRows
    /// A snapshot asset leaves out tombstones from before this instant; nil if none are that old.
    var horizon: Instant?

    /// A dataset whose assets are stored but not committed yet.
    struct Written: Sendable {
        let schema: DatasetSchema
        let fields: DatasetRecord
        /// The assets that were written for it.
        let assets: [CloudAsset]
        let report: ExportedDataset
        /// The written snapshot asset has no tombstones from before this instant; nil if none were left out.
        var horizon: Instant?
    }

    /// The result for a dataset.
    enum Outcome: Sendable {
        case written(Written)
        /// The last version has the same entities.
        case unchanged
        /// The dataset needs a snapshot asset, and the session has too few readers for it.
        case needsMoreReaders
        /// More edits have an instant of their own than an asset can hold.
        case tooManyInstants
    }

    /// Writes a dataset's assets, unless nothing is new.
    func write(_ schema: DatasetSchema, after last: DatasetRecord?) async throws -> Outcome {
        var changes: StoredChanges?
        // Change assets do not name columns. If the last version lacks some of the columns, the next one is a snapshot asset.
        let isDescribed = try session.withReader(0) { try $0.transaction.state.missingColumns(of: schema).isEmpty }
        if let last, isDescribed, context.assetRule.wantsChanges(after: last) {
            changes = try await writeChanges(schema, after: last)
            if !isFull, let changes, context.assetRule.sufficesAlone(after: last, rawByteCount: changes.asset.rawByteCount, byteCount: changes.asset.byteCount)
            {
                return .written(written(schema, changes, after: last))
            }
            if mayReopen {
                await context.cloud.discard(changes.map { [$0.asset] } ?? [], in: context.zone)
                return .needsMoreReaders
            }
        }
        let shape = try session.withReader(0) { try $0.transaction.tables.check(of: schema) }
        do {
            return try await writeSnapshot(schema, shape, after: last, beside: changes)
        } catch {
            await context.cloud.discard(changes.map { [$0.asset] } ?? [], in: context.zone)
            throw error
        }
    }

    private struct StoredChanges: Sendable {
        let asset: CloudAsset
        let recordCount: Int
        let report: ExportedChanges
    }

    /// Writes the tracked changes as a change asset; nil if tracking is incomplete, if there are too many changes, or if rows are held that the last
    /// version does not have.
    private func writeChanges(_ schema: DatasetSchema, after last: DatasetRecord) async throws -> StoredChanges? {
        let isWhole = try session.withReader(0) {
            try $0.transaction.changeLog.isComplete(of: schema) && !$0.transaction.held.hasWaiting(of: schema)
        }
        guard isWhole else { return nil }
        let writer = try await context.cloud.newAsset(for: schema.recordName, number: number, kind: .changes, in: context.zone)
        let exporter = ChangeExporter(schema: schema, syncTimestamp: syncTimestamp, after: last.end, rule: context.assetRule)
        do {
            return try session.withReader(0) { reader in
                guard let encoded = try exporter.encode(reader) else {
                    writer.abandon()
                    return nil
                }
                let growth = try reader.transaction.changeLog.growth(of: schema)
                let recordCount = try growth.count == 1 ? last.recordCount + growth.lowerBound : reader.transaction.rows.rowCount(of: schema)
                let asset = try exporter.store(encoded, into: writer)
                return StoredChanges(
                    asset: asset, recordCount: recordCount,
                    report: ExportedChanges(file: asset.path, size: asset.byteCount, changed: encoded.changed, deleted: encoded.deleted))
            }
        } catch {
            writer.abandon()
            throw error
        }
    }

    private func written(_ schema: DatasetSchema, _ changes: StoredChanges, after last: DatasetRecord) -> Written {
        let asset = changes.asset
        return Written(
            schema: schema,
            fields: DatasetRecord(
                dataFile: last.dataFile, changeFiles: last.changeFiles + [asset], syncTimestamp: syncTimestamp, recordCount: changes.recordCount),
            assets: [asset],
            report: ExportedDataset(
                name: schema.name, kind: .changes, recordCount: changes.recordCount, file: asset.path, size: asset.byteCount, rawSize: asset.rawByteCount,
                blocks: nil, blocksReused: nil, changes: changes.report))
    }

    private func writeSnapshot(_ schema: DatasetSchema, _ shape: TableShape, after last: DatasetRecord?, beside changes: StoredChanges?) async throws
        -> Outcome
    {
        let previous = try await openPrevious(schema, last)
        do {
            return try await writeSnapshot(schema, shape, previous: previous, after: last, beside: changes)
        } catch let error as SyncError where previous != nil && error.step == .store && error.code == .dataRefused {
            // A block that was to be copied differs from its index entry.
            context.logger.warning("the last asset of \(schema.name) is damaged; writing all blocks anew", metadata: ["error": "\(error)"])
            return try await writeSnapshot(schema, shape, previous: nil, after: last, beside: changes)
        }
    }

    /// - Parameter isChecked: whether rows that are missing although no deletion was tracked have been looked for.
    private func writeSnapshot(
        _ schema: DatasetSchema, _ shape: TableShape, previous: PreviousSnapshot?, after last: DatasetRecord?, beside changes: StoredChanges?,
        isChecked: Bool = false
    ) async throws -> Outcome {
        let dropping = try session.withReader(0) { reader in
            try horizon.flatMap { try reader.transaction.tombstonesAndInstants.hasTombstones(of: schema, before: $0) ? $0 : nil }
        }
        let least = try isChecked ? nil : missing.leastCount(schema, after: last, in: session)
        let writer = try await context.cloud.newAsset(for: schema.recordName, number: number, kind: .snapshot, in: context.zone)
        var exporter = DatasetExporter(
            schema: schema, shape: shape, session: session, previous: previous, syncTimestamp: syncTimestamp, progress: progress)
        (exporter.horizon, exporter.rule) = (dropping, context.assetRule)
        (exporter.trackedCount, exporter.leastCount) = (changes?.recordCount, least)
        let outcome: DatasetExporter.Outcome
        do {
            outcome = try exporter.run(into: writer)
        } catch {
            writer.abandon()
            throw SyncError(error, step: .store)
        }
        switch outcome {
        case .stored(let asset, var report):
            report.changes = changes?.report
            return .written(
                Written(
                    schema: schema,
                    fields: DatasetRecord(dataFile: asset, changeFile: changes?.asset, syncTimestamp: syncTimestamp, recordCount: report.recordCount),
                    assets: [asset] + (changes.map { [$0.asset] } ?? []), report: report, horizon: dropping))
        case .unchanged:
            await context.cloud.discard(changes.map { [$0.asset] } ?? [], in: context.zone)
            return .unchanged
        case .tooManyInstants:
            await context.cloud.discard(changes.map { [$0.asset] } ?? [], in: context.zone)
            return .tooManyInstants
        case .changesDoNotAddUp:
            context.logger.warning("the tracked changes of \(schema.name) do not add up to its rows; reading all rows")
            var unread = previous
            unread?.changes = nil
            return try await writeSnapshot(schema, shape, previous: unread, after: last, beside: changes)
        case .rowsMissing:
            try await missing.refuse(schema, after: last, in: session)
            return try await writeSnapshot(schema, shape, previous: previous, after: last, beside: changes, isChecked: true)
        }
    }

    /// Opens the last snapshot. If it cannot be read, the export takes longer but loses nothing.
    private func openPrevious(_ schema: DatasetSchema, _ last: DatasetRecord?) async throws -> PreviousSnapshot? {
        guard !isFull, let last else { return nil }
        do {
            let reader = try await context.cloud.openAsset(last.dataFile, in: context.zone)
            guard let data = try reader.index() else { return nil }
            // A small dataset is read whole each time. That costs little and does not depend on the change assets.
            let changes =
                !context.assetRule.wantsChanges(after: last)
                ? nil : (try? await ChangeAsset.open(last.chain, dataset: schema.name, in: context.cloud, zone: context.zone))
            return PreviousSnapshot(index: try SnapshotIndex.decode(data), reader: reader, isWhole: last.changeFiles.isEmpty, changes: changes)
        } catch let error as CloudError where error.code == .keyUnavailable || error.code == .notAuthorized {
            // Without the keys the new asset cannot be sealed either.
            throw error
        } catch {
            context.logger.warning("the last asset of \(schema.name) cannot be read; writing all blocks anew", metadata: ["error": "\(error)"])
            return nil
        }
    }
}

/// Writes the changes of one dataset since the applied version as a change asset. It reads the tracked changes and does not scan the table.
///
/// Memory: the changes, at most ``AssetRule/changeRawBytes`` of JSON.
struct ChangeExporter: Sendable {
    let schema: DatasetSchema
    let syncTimestamp: Instant
    /// The asset that the last version ends with.
    let after: CloudAsset
    let rule: AssetRule

    /// The encoded changes.
    struct Encoded {
        let text: ByteBuffer
        /// The number of entities that were changed or inserted, and the number that were deleted.
        let changed: Int
        let deleted: Int
    }

    /// Reads and encodes the tracked changes of one state of the database; nil if there are too many for a change asset.
    func encode(_ reader: DatasetReader) throws -> Encoded? {
        let transaction = reader.transaction
        guard try transaction.changeLog.count(of: schema, upTo: rule.changeCount + 1) <= rule.changeCount else { return nil }
        let changes = try transaction.changeLog.changes(of: schema, in: KeyRange(number: 0, first: nil, next: nil))
        let rows = try transaction.rows.lookup(of: schema)
        let encoder = ChangeEncoder(schema: schema, syncTimestamp: syncTimestamp, after: AssetPath(after.path)?.stem ?? "")
        var tail = SnapshotTailBuilder(), undated: Set<EntityKey> = []
        for change in changes where !change.isDeletion {
            encoder.changed = change.partialColumns(of: schema)
            if let changed = encoder.changed, let timestamp = schema.timestampIndex, !changed.contains(timestamp) { undated.insert(change.key) }
            guard try rows.send(change.key, to: encoder) else {
                throw SyncError(
                    .tryAgainLater, step: .read, at: "\(schema.name), key \(change.key)", "the row is not as its tracked change says",
                    hint: "run snapsync check --local")
            }
            guard encoder.rawByteCount <= rule.changeRawBytes else { return nil }
        }
        for change in changes where change.isDeletion { tail.addDeletion(of: change.key, at: change.instant) }
        try tail.addChangedInstants(of: schema, except: undated, in: transaction)
        return Encoded(text: try encoder.end(tail), changed: encoder.count, deleted: changes.count { $0.isDeletion })
    }

    /// Compresses and stores the asset.
    func store(_ encoded: Encoded, into asset: any AssetWriter) throws -> CloudAsset {
        let compressor = MemberCompressor(boxes: asset.boxes)
        let member = try SyncError.at(.compress) { try encoded.text.withBytes { try compressor.compress($0) } }
        return try SyncError.at(.store) {
            try asset.write(member.bytes)
            return try asset.finish(rawByteCount: encoded.text.count)
        }
    }
}
