import CloudStore
import LocalStore
import LocalTables
import Logging
import SnapshotModel
import SnapshotVersions
import StrictText

/// Publishes what is new in a publisher's database. The stages: prepare, guard, read, encode, compress, store, announce, record.
///
/// Each stage takes the previous stage's value and returns one. An export reads all datasets from one state of the database and announces them by
/// one commit. Nothing takes effect before that commit is in place.
package struct ExportRun: Sendable {
    var context: SyncContext
    /// Whether to write every dataset whole, changed or not. Use it if an asset in the cloud is damaged or missing.
    var isFull: Bool
    /// Whether other devices publish in the zone as well, so that a race can be lost.
    let isOneOfMany: Bool
    let progress: ProgressHandler?
    /// The datasets that may become much smaller.
    let allowed: ShrinkApproval
    /// The identity to publish under. It is checked once; later attempts after lost races reuse it.
    var identity = OnceValue<DeviceIdentity>()
    /// The zone's new commits, if the caller has just read them and changed nothing since.
    var upstream: UpstreamChanges?

    package init(
        context: SyncContext, isFull: Bool, isOneOfMany: Bool = false, progress: ProgressHandler?, allowed: ShrinkApproval = .none,
        upstream: UpstreamChanges? = nil
    ) {
        self.context = context
        self.isFull = isFull
        self.isOneOfMany = isOneOfMany
        self.progress = progress
        self.allowed = allowed
        self.upstream = upstream
    }

    /// The result of an attempt to publish where other devices publish as well.
    enum Outcome: Sendable {
        /// A version was published, or nothing was new.
        case finished(ExportReport)
        /// Another device published first, or a request of an earlier run arrived late. The next attempt starts from these commits.
        case lostRace(UpstreamChanges)
    }

    /// Publishes a version if anything is new, unless another device publishes first.
    func attempt() async throws -> Outcome {
        do {
            return .finished(try await run())
        } catch  where SyncError(error).code == .tryAgainLater {
            let upstream = try await context.recoverAndFetchUpstreamChanges()
            guard upstream.isBehind || upstream.hasRecovered else { throw error }
            return .lostRace(upstream)
        }
    }

    /// Publishes a version if anything is new.
    ///
    /// - Parameter warnings: the warnings so far.
    package func run(_ warnings: [String] = []) async throws -> ExportReport {
        var base = try await prepare(context.notices + warnings)
        let mail = try await EditReceiver(context: context).run()
        // Before a version has the edits, because it states which of them the source took.
        if mail.appliedCount > 0 { base.warnings += try context.refreshViews(refusing: true) }
        var report = try await publish(on: base, mail)
        report.conflicts += mail.conflicts.count
        report.conflictReasons.merge(mail.conflicts.reasons, uniquingKeysWith: +)
        (report.messagesApplied, report.messagesRefused) = (mail.appliedCount, mail.refusedCount)
        return report
    }

    private func publish(on prepared: ExportBase, _ mail: EditReceiver.Outcome) async throws -> ExportReport {
        if mail.asksForFullSync, !isFull {
            var full = self
            full.isFull = true
            full.upstream = nil
            return try await full.run(prepared.warnings)
        }
        var base = prepared
        base.warnings += mail.warnings
        if try !isFull && base.hasNothing(toPublishBy: context) { return try recordNothingNew(on: base, read: []) }
        let token = base.token
        let identity = try await identity.value { try await context.checkIdentity(applied: token.map { AppliedVersion($0) }, commits: []) }
        base.warnings += identity.warnings
        var run = self
        run.context = identity.context
        // The identity may have been determined before a description was changed. Use the current descriptions.
        run.context.settings.datasets = context.settings.datasets
        return try await run.publish(on: base)
    }

    private func publish(on base: ExportBase) async throws -> ExportReport {
        let writer = VersionWriter(context: context, isFull: isFull, progress: progress, allowed: allowed)
        var readers = writer.readerCount(base.last)
        var base = base
        var levelled: [String: Int] = [:]
        while true {
            switch try await writer.store(on: base, readers: readers) {
            case .tooManyInstants(let schema):
                if let warning = try joinColumns(of: schema) {
                    base.warnings.append(warning)
                    continue
                }
                levelled[schema.name, default: 0] += 1
                base.warnings.append(try level(schema, attempt: levelled[schema.name] ?? 1))
            case .needsMoreReaders: readers = WorkerThreads.count + 1
            case .nothingNew(let read): return try recordNothingNew(on: base, read: read)
            case .stored(let stored):
                base.warnings += stored.notices
                return try await record(announce(stored, on: base), on: base)
            }
        }
    }

    // MARK: prepare, guard

    /// Runs the guards, updates change tracking and finds the version to build on.
    private func prepare(_ noted: [String]) async throws -> ExportBase {
        try context.verifyRole()
        try ClockGuard.verify(context.now())
        try await context.checkPublisher()
        let upstream = if let upstream { upstream } else { try await context.recoverAndFetchUpstreamChanges() }
        try await context.verifyNewest(upstream, isOneOfMany: isOneOfMany)
        try context.verifyFirstPublish(after: upstream.applied)
        try SyncGuards.refuseUnknownFields(context.database.read { try $0.datasetStates.all() })
        let returned = try context.showHeldRows()
        let warnings = try noted + upstream.warnings + returned + context.keepTracking()
        try await context.correctFutureInstants()
        try refuseUnseen()
        return try await ExportBase(context, after: upstream.applied?.token, isOneOfMany: isOneOfMany, warnings)
    }

    /// Refuses rows that lack columns of the applied version: they would be published without these columns' values.
    private func refuseUnseen() throws {
        let unseen = try context.database.read { transaction in
            try context.settings.datasets.first { try !transaction.state.unseenColumns(of: $0).isEmpty }
        }
        guard let unseen else { return }
        throw SyncError(
            .refused, step: .read, at: "dataset \(unseen.name)", "its description was changed, and the rows have not been imported since",
            hint: "run snapsync import first")
    }

    // MARK: announce

    /// A version whose commit is in place.
    private struct AnnouncedVersion: Sendable {
        let token: ChangeToken
        let stored: StoredVersion
        let pending: PendingPins.Outcome
    }

    /// Puts the commit in place, after recording its hash in the database as intended. After an error, discards the assets unless a commit may
    /// name them.
    private func announce(_ stored: StoredVersion, on base: ExportBase) async throws -> AnnouncedVersion {
        do {
            let pending = try await PendingPins(context: context).check()
            let shrunk = try await ShrinkCheck(context: context, allowed: allowed).approvals(
                for: stored.datasets.map { ($0.schema, $0.fields.recordCount) }, after: base.token)
            let horizon = stored.datasets.compactMap(\.horizon).first
            let carried = try await context.recordsOfFirstVersion(after: base.token)
            var draft = CommitDraft(
                device: context.settings.device,
                saving: stored.datasets.map { $0.fields.record(of: $0.schema) } + pending.pins.map(\.record) + base.descriptions.records + carried,
                deleting: base.descriptions.removed, clock: context.now(), approvals: shrunk + (horizon.map { [TombstoneHorizon.text($0)] } ?? []))
            draft.answered = stored.decided
            let commit = try await context.cloud.prepare(draft, after: base.token, in: context.zone)
            let sequences = Dictionary(
                uniqueKeysWithValues: stored.read.filter { stored.isWritten($0.schema) }.map { ($0.schema.name, $0.sequence) })
            // If this run ends between publishing and recording the commit, the next one recovers from this record.
            try context.database.write { transaction in
                guard try transaction.state.applied()?.token == base.token else { throw context.anotherRun(.announce) }
                try transaction.state.setIntended(IntendedVersion(version: AppliedVersion(commit.token), sequences: sequences))
            }
            let token = try await context.cloud.publish(commit)
            return AnnouncedVersion(token: token, stored: stored, pending: pending)
        } catch let error as CloudError where error.code == .serverResponseLost {
            // The commit may still arrive, and then it needs its assets. If it does not arrive, a prune removes them.
            throw error
        } catch {
            await context.cloud.discard(stored.assets, in: context.zone)
            throw SyncError(error, step: .announce)
        }
    }

    // MARK: record

    /// Records the published version as the applied one in one transaction, and reports it to the zone.
    private func record(_ announced: AnnouncedVersion, on base: ExportBase) async throws -> ExportReport {
        let stored = announced.stored
        try context.database.write { transaction in
            // Another run in between may have imported this commit and acknowledged its changes.
            guard try transaction.state.applied()?.token == base.token else { return }
            try transaction.recordPublished(
                AppliedVersion(announced.token), stored.datasets.map { ($0.schema, $0.fields) }, after: base.token.map { AppliedVersion($0) },
                of: context.settings.datasets)
            for one in stored.read {
                if stored.isWritten(one.schema) {
                    try transaction.changeLog.acknowledge(of: one.schema, upTo: one.sequence, settling: one.doubt)
                } else {
                    // The dataset's rows were written without being changed.
                    try transaction.changeLog.drop(of: one.schema, upTo: one.sequence, settling: one.doubt)
                }
            }
            try transaction.state.pendingPins.set([])
            if let note = base.descriptions.note { try transaction.state.descriptionNote.set(note) }
            try transaction.state.removedRecords.set([])
            for lost in announced.pending.lost { try transaction.state.dropUndoPoint(of: lost.version) }
            for one in stored.datasets {
                if let horizon = one.horizon { try transaction.tombstonesAndInstants.removeTombstones(of: one.schema, before: horizon) }
            }
            try context.recordSuccess(.export, in: transaction)
            try context.nextNonce(in: transaction)
            try transaction.decidedEdits.setOfVersion(transaction.decidedEdits.ofVersion().merging(stored.decided) { $1 })
            if isFull { try transaction.state.isFullSyncRequested.set(false) }
        }
        await context.report(announced.token)
        return ExportReport(
            published: true, version: announced.token.number, written: stored.datasets.map(\.report),
            unchanged: context.settings.datasets.filter { !stored.isWritten($0) }.map(\.name),
            warnings: base.warnings + announced.pending.warnings + stored.datasets.compactMap { AssetLimits.warning($0.report, limit: context.assetLimit) })
    }

    /// Records that the run succeeded and published nothing.
    private func recordNothingNew(on base: ExportBase, read: [ReadDataset]) throws -> ExportReport {
        if read.isEmpty {
            try context.recordIdleSuccess(.export)
        } else {
            try context.database.write { transaction in
                guard try transaction.state.applied()?.token == base.token else { return }
                for one in read { try transaction.changeLog.drop(of: one.schema, upTo: one.sequence, settling: one.doubt) }
                try context.recordSuccess(.export, in: transaction)
            }
        }
        return ExportReport(
            published: false, version: base.token?.number, written: [], unchanged: context.settings.datasets.map(\.name), warnings: base.warnings)
    }

    /// Gives the columns of each row of a dataset one instant, so that the instants fit into an asset.
    ///
    /// - Returns: a warning; nil if every row has only one.
    private func joinColumns(of schema: DatasetSchema) throws -> String? {
        let count = try context.database.write { transaction in
            try transaction.changeLog.consolidate(of: [schema])
            return try transaction.tombstonesAndInstants.joinColumns(of: schema)
        }
        guard count > 0 else { return nil }
        return
            "\(schema.name): \(Format.count(count, "row")) had more instants of single columns than a version can hold; their columns count as changed when the latest of them was"
    }

    /// Gives the edits of a dataset the instant of the latest one, so that the instants fit into an asset. The first attempt does this for
    /// unpublished local edits, the second for all rows. An instant only becomes later, and never later than the latest edit.
    ///
    /// - Returns: a warning.
    /// - Throws: ``SyncError`` with `.dataRefused` after both attempts: then the deletions alone are too many.
    private func level(_ schema: DatasetSchema, attempt: Int) throws -> String {
        guard attempt <= 2 else {
            throw SyncError(
                .dataRefused, step: .store, at: "dataset \(schema.name)", "its deletions are more than an asset can hold",
                hint: "sync after each part where an application deletes so many rows")
        }
        let count = try context.database.write { try $0.changeLog.levelInstants(of: schema, includingPublished: attempt > 1) }
        return
            "\(schema.name): \(Format.count(count, "row")) had more different instants than a version can hold; they count as changed when the latest of them was"
    }
}
