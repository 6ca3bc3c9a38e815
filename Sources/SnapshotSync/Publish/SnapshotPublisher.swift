import CloudStore
import LocalStore
import Logging
import SnapshotFormat
import SnapshotModel
import StrictText

/// Publishes what is new in a writer's database: read, encode, compress, store, announce.
///
/// All datasets of one export are read on one state of the database and announced by one commit.
struct SnapshotPublisher: Sendable {
    let device: Device
    let level: Int
    /// Whether every dataset is written whole and anew, touched or not: where an asset in the cloud is damaged or gone.
    let isFull: Bool
    /// Whether other devices publish in the zone, too: then a race can be lost, and a later instant alone is worth a version.
    var isOneOfMany = false
    let progress: ProgressHandler?

    /// Publishes a version if anything is new.
    func run() async throws -> ExportReport {
        let settings = device.settings
        guard settings.role.publishes else {
            throw SyncError(.refused, step: .read, at: device.database.path, "this device is a \(settings.role.rawValue): read-only", hint: "publish from the writer; a reader imports")
        }
        try await device.checkPublisher()
        var warnings: [String] = []
        let token = try await settleIntended(&warnings)
        try SyncGuards.refuseUnknownFields(SyncError.at(.read) { try device.database.read { try $0.datasetStates() } })

        warnings += try SyncError.at(.read) { try device.keepTracking() }
        let state = try await device.records(at: token?.number, notBefore: token.map { AppliedVersion($0) })
        if try !isFull && SyncError.at(.read, { try device.database.read { transaction in try settings.datasets.allSatisfy { try isUntouched($0, state, in: transaction) } } }) {
            return try await nothingNew(token, settled: [], warnings)
        }
        let session = try SyncError.at(.read) { try ReadSession(device.database, readers: WorkerThreads.count + 1, folding: settings.datasets) }
        defer { session.end() }
        var exported: [Exported] = []
        var settled: [Settled] = []
        do {
            // What is published follows from the version that the rows on this state are of.
            guard try SyncError.at(.read, { try session.withReader(0) { try $0.transaction.applied() } })?.token == token else { throw device.anotherRun(.read) }
            let syncTimestamp = self.syncTimestamp(after: state)
            for schema in settings.datasets {
                // Rows and notes are read on one state: what the notes up to here say is in the rows.
                let (untouched, sequence) = try SyncError.at(.read) {
                    try session.withReader(0) { (try isUntouched(schema, state, in: $0.transaction), try $0.transaction.trackedChanges(of: schema).lastSequence) }
                }
                if untouched, !isFull { continue }
                settled.append(Settled(schema: schema, sequence: sequence))
                if let one = try await export(schema, session, state, syncTimestamp, number: (token?.number ?? 0) + 1) { exported.append(one) }
            }
            session.end()
            guard !exported.isEmpty else { return try await nothingNew(token, settled: settled, warnings) }
            return try await announce(exported, settled, after: token, warnings)
        } catch {
            await device.cloud.discard(exported.map(\.asset), in: device.zone)
            throw error
        }
    }

    /// The present time; never before a version that is there, whatever the clock does.
    private func syncTimestamp(after state: ZoneState) -> Instant {
        let last = state.records.compactMap { SnapshotFields($0)?.syncTimestamp }.max()
        let now = device.now()
        return last.map { max(now, $0.advanced(byMicroseconds: 1000)) } ?? now
    }

    private struct Exported: Sendable {
        let schema: DatasetSchema
        let asset: CloudAsset
        let report: ExportedDataset
        let syncTimestamp: Instant
    }

    /// A dataset whose rows were compared or written, and the last note that they include.
    private struct Settled: Sendable {
        let schema: DatasetSchema
        let sequence: Int64
    }

    /// Whether nothing of a dataset was touched since the version that the zone has: then no row need be read.
    private func isUntouched(_ schema: DatasetSchema, _ state: ZoneState, in transaction: LocalTransaction) throws -> Bool {
        let changes = try transaction.trackedChanges(of: schema)
        return changes.isComplete && changes.count == 0 && state.record(schema.recordName) != nil
    }

    /// The version to build on, after a run that was ended between its commit and the note of it was settled.
    private func settleIntended(_ warnings: inout [String]) async throws -> ChangeToken? {
        let news = try await device.news()
        warnings += news.warnings
        guard news.isBehind || news.fork != nil, let newest = news.changes.token else { return news.applied?.token }
        if isOneOfMany {
            throw SyncError(
                .tryAgainLater, step: .fetch, at: "zone \(device.zone)", "it has version \(newest.number), which this database has not imported yet",
                hint: "run snapsync sync, which imports, merges and publishes")
        }
        throw SyncError(
            .refused, step: .fetch, at: "zone \(device.zone)",
            news.applied == nil ? "it has data that this database has not imported; publishing would replace them" : "version \(newest.number) did not come from this database",
            hint: "run snapsync import first")
    }

    private func export(_ schema: DatasetSchema, _ session: ReadSession, _ state: ZoneState, _ syncTimestamp: Instant, number: Int) async throws -> Exported? {
        let shape = try SyncError.at(.read) { try session.withReader(0) { try $0.transaction.checkTable(of: schema) } }
        let previous = try await openPrevious(schema, state.record(schema.recordName))
        do {
            return try await export(schema, shape, session, previous, syncTimestamp, number)
        } catch let error as SyncError where previous != nil && error.step == .store && error.code == .dataRefused {
            // A block that was to be copied is not what its index says.
            device.logger.warning("the last asset of \(schema.name) is damaged; writing all blocks anew", metadata: ["error": "\(error)"])
            return try await export(schema, shape, session, nil, syncTimestamp, number)
        }
    }

    private func export(
        _ schema: DatasetSchema, _ shape: TableShape, _ session: ReadSession, _ previous: PreviousSnapshot?, _ syncTimestamp: Instant, _ number: Int
    ) async throws -> Exported? {
        let lent = LentWriter(try await SyncError.at(.store) { try await device.cloud.newAsset(for: schema.recordName, number: number, kind: .snapshot, in: device.zone) })
        let exporter = DatasetExporter(
            schema: schema, shape: shape, session: session, previous: previous, syncTimestamp: syncTimestamp, level: level,
            keepsInstants: isOneOfMany, progress: progress)
        do {
            let outcome = try await WorkerThreads.run { try exporter.run(into: lent.writer) }
            guard case .stored(let asset, let report) = outcome else { return nil }
            return Exported(schema: schema, asset: asset, report: report, syncTimestamp: syncTimestamp)
        } catch {
            lent.writer.abandon()
            throw SyncError(error, step: .store)
        }
    }

    /// The last snapshot, if it can be read; one that cannot costs time, not data.
    private func openPrevious(_ schema: DatasetSchema, _ record: CloudRecord?) async throws -> PreviousSnapshot? {
        guard !isFull, let record, let fields = SnapshotFields(record) else { return nil }
        do {
            let reader = try await device.cloud.openAsset(fields.dataFile, in: device.zone)
            guard let data = try reader.index() else { return nil }
            return PreviousSnapshot(index: try SnapshotIndex.decode(data), reader: reader)
        } catch {
            device.logger.warning("the last asset of \(schema.name) cannot be read; writing all blocks anew", metadata: ["error": "\(error)"])
            return nil
        }
    }

    private func announce(_ exported: [Exported], _ settled: [Settled], after token: ChangeToken?, _ warnings: [String]) async throws -> ExportReport {
        let records = exported.map { one in
            SnapshotFields(dataFile: one.asset, syncTimestamp: one.syncTimestamp, recordCount: one.report.recordCount).record(of: one.schema)
        }
        let draft = CommitDraft(device: device.settings.device, saving: records, clock: device.now())
        let commit = try await SyncError.at(.announce) { try await device.cloud.prepare(draft, after: token, in: device.zone) }
        // Should this run end between the commit and the note of it, the next one finds what the commit settled.
        let sequences = Dictionary(uniqueKeysWithValues: settled.filter { one in exported.contains { $0.schema.name == one.schema.name } }.map { ($0.schema.name, $0.sequence) })
        try SyncError.at(.announce) {
            try device.database.write { transaction in
                guard try transaction.applied()?.token == token else { throw device.anotherRun(.announce) }
                try transaction.setIntended(IntendedVersion(version: AppliedVersion(commit.token), sequences: sequences))
            }
        }
        let published = try await SyncError.at(.announce) { try await device.cloud.publish(commit) }

        try SyncError.at(.announce) {
            try device.database.write { transaction in
                // A run that came in between has imported this very commit, and settled what is in it.
                guard try transaction.applied()?.token == token else { return }
                try transaction.record(
                    AppliedVersion(published),
                    exported.map { DatasetState(name: $0.schema.name, syncTimestamp: $0.syncTimestamp, recordCount: $0.report.recordCount, unknownFields: []) })
                for one in settled {
                    // A dataset whose entities are the last version's was touched without being changed.
                    let isWritten = exported.contains { $0.schema.name == one.schema.name }
                    if isWritten { try transaction.settle(one.schema, upTo: one.sequence, version: published.number, at: device.now()) } else { try transaction.dropChanges(of: one.schema, upTo: one.sequence) }
                }
                try transaction.setLastSuccess(device.now())
            }
        }
        await device.report(published)
        let names = Set(exported.map(\.schema.name))
        return ExportReport(
            published: true, version: published.number, written: exported.map(\.report),
            unchanged: device.settings.datasets.map(\.name).filter { !names.contains($0) },
            warnings: warnings + exported.compactMap { AssetLimits.warning($0.report) })
    }

    private func nothingNew(_ token: ChangeToken?, settled: [Settled], _ warnings: [String]) async throws -> ExportReport {
        try SyncError.at(.announce) {
            try device.database.write { transaction in
                guard try transaction.applied()?.token == token else { return }
                for one in settled { try transaction.dropChanges(of: one.schema, upTo: one.sequence) }
                try transaction.setLastSuccess(device.now())
            }
        }
        return ExportReport(published: false, version: token?.number, written: [], unchanged: device.settings.datasets.map(\.name), warnings: warnings)
    }
}

/// An asset writer on its way to the one thread that uses it.
private struct LentWriter: @unchecked Sendable {
    // SAFETY: the publisher waits while the exporter's thread has it.
    let writer: any AssetWriter
    init(_ writer: any AssetWriter) { self.writer = writer }
}
