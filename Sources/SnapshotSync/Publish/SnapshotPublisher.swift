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
    var device: Device
    let level: Int
    /// Whether every dataset is written whole and anew, touched or not: where an asset in the cloud is damaged or gone.
    let isFull: Bool
    let progress: ProgressHandler?
    /// Which datasets may become much smaller.
    var allowed = ShrinkApproval.none

    /// Publishes a version if anything is new.
    func run() async throws -> ExportReport {
        let settings = device.settings
        guard settings.role.publishes else {
            throw SyncError(.refused, step: .read, at: device.database.path, "this device is a \(settings.role.rawValue): read-only", hint: "publish from the writer; a reader imports")
        }
        try ClockGuard.verify(device.now())
        try await device.checkPublisher()
        var warnings: [String] = []
        let token = try await settleIntended(&warnings)
        try BootstrapLatch.verify(device, token: token)
        warnings += try SyncError.at(.apply) { try device.returnSetAside() }
        try SyncGuards.refuseUnknownFields(SyncError.at(.read) { try device.database.read { try $0.datasetStates() } })

        warnings += try SyncError.at(.read) { try device.keepTracking() }
        let state = try await SyncError.at(.fetch) { try await device.cloud.records(in: device.zone, at: token?.number, notBefore: token) }
        if try !isFull && SyncError.at(.read, { try device.database.read { transaction in try settings.datasets.allSatisfy { try isUntouched($0, state, in: transaction) } } }) {
            return try await nothingNew(token, settled: [], warnings)
        }
        let identity = try await device.checkIdentity(applied: token.map { AppliedVersion($0) }, commits: [])
        guard identity.reason == nil else {
            var report = try await SnapshotPublisher(device: identity.device, level: level, isFull: isFull, progress: progress, allowed: allowed).run()
            report.warnings = identity.warnings + report.warnings
            return report
        }
        let session = try SyncError.at(.read) { try ReadSession(device.database, readers: WorkerThreads.count + 1, folding: settings.datasets) }
        defer { session.end() }
        var exported: [Exported] = []
        var settled: [Settled] = []
        do {
            let syncTimestamp = self.syncTimestamp(after: state), oldest = TombstoneHorizon.now(device.now(), lastCommit: state.timestamp)
            for schema in settings.datasets {
                // Rows and notes are read on one state: what the notes up to here say is in the rows.
                let (untouched, sequence) = try SyncError.at(.read) {
                    try session.withReader(0) { (try isUntouched(schema, state, in: $0.transaction), try $0.transaction.trackedChanges(of: schema).lastSequence) }
                }
                if untouched, !isFull { continue }
                settled.append(Settled(schema: schema, sequence: sequence))
                try await MissingRows(device: device, allowed: allowed).refuse(schema, state.record(schema.recordName), session)
                if let one = try await export(schema, session, state, syncTimestamp, number: (token?.number ?? 0) + 1, oldest: oldest) { exported.append(one) }
            }
            session.end()
            guard !exported.isEmpty else { return try await nothingNew(token, settled: settled, warnings) }
            return try await identified(identity).announce(exported, settled, after: token, warnings)
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
        /// The instant before which the asset has no tombstones; nil if none were dropped.
        let horizon: Instant?
    }

    private func identified(_ identity: DeviceIdentity) -> SnapshotPublisher {
        var known = self
        known.device = identity.device
        return known
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

    /// A run that was ended between its commit and the note of it: the commit is ours if its hash is the intended one.
    private func settleIntended(_ warnings: inout [String]) async throws -> ChangeToken? {
        let (applied, intended) = try SyncError.at(.read) { try device.database.read { (try $0.applied(), try $0.intended()) } }
        let changes = try await SyncError.at(.fetch) { try await device.cloud.changes(since: applied?.token, in: device.zone) }
        guard let newest = changes.token, newest != applied?.token else { return applied?.token }
        guard let first = changes.commits.first, changes.commits.count == 1, let intended, first.token == intended.version.token else {
            _ = try await device.checkIdentity(applied: applied, commits: changes.commits)
            throw SyncError(
                .refused, step: .fetch, at: "zone \(device.zone)",
                applied == nil ? "it has data that this database has not imported; publishing would replace them" : "version \(newest.number) did not come from this database",
                hint: "run snapsync import first")
        }
        try SyncError.at(.apply) {
            try device.database.write { transaction in
                try transaction.record(AppliedVersion(newest), states(of: first))
                for schema in device.settings.datasets {
                    guard let sequence = intended.sequences[schema.name] else { continue }
                    try transaction.settleChanges(of: schema, upTo: sequence)
                    if let horizon = TombstoneHorizon.named(in: first.approvals) { try transaction.dropTombstones(of: schema, before: horizon) }
                }
            }
        }
        warnings.append("found version \(newest.number), which an earlier run had published without noting it")
        return newest
    }

    private func states(of commit: Commit) -> [DatasetState] {
        commit.saved.compactMap { record in
            guard let schema = device.settings.datasets.first(where: { $0.recordName == record.name }), let fields = SnapshotFields(record) else { return nil }
            return DatasetState(name: schema.name, syncTimestamp: fields.syncTimestamp, recordCount: fields.recordCount, unknownFields: [])
        }
    }

    private func export(_ schema: DatasetSchema, _ session: ReadSession, _ state: ZoneState, _ syncTimestamp: Instant, number: Int, oldest: Instant?) async throws -> Exported? {
        let (shape, horizon) = try SyncError.at(.read) {
            try session.withReader(0) { reader in
                // Only where there are tombstones that old.
                let dropped = try oldest.flatMap { try reader.transaction.hasTombstones(of: schema, before: $0) ? $0 : nil }
                return (try reader.transaction.checkTable(of: schema), dropped)
            }
        }
        let previous = try await openPrevious(schema, state.record(schema.recordName))
        do {
            return try await export(schema, shape, session, previous, syncTimestamp, number, horizon: horizon)
        } catch let error as SyncError where previous != nil && error.step == .store && error.code == .dataRefused {
            // A block that was to be copied is not what its index says.
            device.logger.warning("the last asset of \(schema.name) is damaged; writing all blocks anew", metadata: ["error": "\(error)"])
            return try await export(schema, shape, session, nil, syncTimestamp, number, horizon: horizon)
        }
    }

    private func export(
        _ schema: DatasetSchema, _ shape: TableShape, _ session: ReadSession, _ previous: PreviousSnapshot?, _ syncTimestamp: Instant, _ number: Int,
        horizon: Instant?
    ) async throws -> Exported? {
        let lent = LentWriter(try await SyncError.at(.store) { try await device.cloud.newAsset(for: schema.recordName, number: number, kind: .snapshot, in: device.zone) })
        let exporter = DatasetExporter(
            schema: schema, shape: shape, session: session, previous: previous, syncTimestamp: syncTimestamp, level: level, progress: progress, horizon: horizon)
        do {
            let outcome = try await WorkerThreads.run { try exporter.run(into: lent.writer) }
            guard case .stored(let asset, let report) = outcome else { return nil }
            return Exported(schema: schema, asset: asset, report: report, syncTimestamp: syncTimestamp, horizon: horizon)
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
        let shrunk = try await ShrinkCheck(device: device, allowed: allowed).approvals(for: exported.map { ($0.schema, $0.report.recordCount) }, after: token)
        // One horizon for the commit: the earliest, for what was dropped after it may not be claimed.
        let horizon = exported.compactMap(\.horizon).min()
        let draft = CommitDraft(
            device: device.settings.device, saving: records, clock: device.now(), approvals: shrunk + (horizon.map { [TombstoneHorizon.text($0)] } ?? []))
        let commit = try await SyncError.at(.announce) { try await device.cloud.prepare(draft, after: token, in: device.zone) }
        // Should this run end between the commit and the note of it, the next one finds what the commit settled.
        let sequences = Dictionary(uniqueKeysWithValues: settled.filter { one in exported.contains { $0.schema.name == one.schema.name } }.map { ($0.schema.name, $0.sequence) })
        try SyncError.at(.announce) { try device.database.write { try $0.setIntended(IntendedVersion(version: AppliedVersion(commit.token), sequences: sequences)) } }
        let published = try await SyncError.at(.announce) { try await device.cloud.publish(commit) }

        try SyncError.at(.announce) {
            try device.database.write { transaction in
                try transaction.record(
                    AppliedVersion(published),
                    exported.map { DatasetState(name: $0.schema.name, syncTimestamp: $0.syncTimestamp, recordCount: $0.report.recordCount, unknownFields: []) })
                for one in settled {
                    // A dataset whose entities are the last version's was touched without being changed.
                    let isWritten = exported.contains { $0.schema.name == one.schema.name }
                    if isWritten {
                        try transaction.settleChanges(of: one.schema, upTo: one.sequence)
                        if let horizon { try transaction.dropTombstones(of: one.schema, before: horizon) }
                    } else { try transaction.dropChanges(of: one.schema, upTo: one.sequence) }
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
                for one in settled { try transaction.dropChanges(of: one.schema, upTo: one.sequence) }
                try transaction.setLastSuccess(device.now())
            }
        }
        return ExportReport(published: false, version: token?.number, written: [], unchanged: device.settings.datasets.map(\.name), warnings: warnings)
    }
}

extension LocalTransaction {
    /// Notes a version that is now both here and in the cloud, and that no commit is under way.
    fileprivate func record(_ version: AppliedVersion, _ states: [DatasetState]) throws {
        try setApplied(version)
        try setIntended(nil)
        for state in states { try setDatasetState(state) }
    }
}

/// An asset writer on its way to the one thread that uses it.
private struct LentWriter: @unchecked Sendable {
    // SAFETY: the publisher waits while the exporter's thread has it.
    let writer: any AssetWriter
    init(_ writer: any AssetWriter) { self.writer = writer }
}
