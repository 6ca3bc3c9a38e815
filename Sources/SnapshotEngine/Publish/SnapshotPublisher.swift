import CloudStore
import LocalStore
import Logging
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Publishes what is new in a writer's database: read, encode, compress, store, announce.
///
/// All datasets of one export are read on one state of the database and announced by one commit.
package struct SnapshotPublisher: Sendable {
    var device: SyncContext
    let level: Int
    /// Whether every dataset is written whole and anew, touched or not: where an asset in the cloud is damaged or gone.
    let isFull: Bool
    /// Whether other devices publish in the zone, too: then a race can be lost.
    var isOneOfMany = false
    let progress: ProgressHandler?
    /// Which datasets may become much smaller.
    var allowed = ShrinkApproval.none
    /// Whom to wait for before something is published; nil waits for nobody.
    var turn: PublishTurn?
    /// What the commit is to say of the datasets' tables.
    private var descriptions = PendingDescriptions()

    package init(
        device: SyncContext, level: Int, isFull: Bool, isOneOfMany: Bool = false, progress: ProgressHandler?, allowed: ShrinkApproval = .none,
        turn: PublishTurn? = nil
    ) {
        self.device = device
        self.level = level
        self.isFull = isFull
        self.isOneOfMany = isOneOfMany
        self.progress = progress
        self.allowed = allowed
        self.turn = turn
    }

    /// Publishes a version if anything is new.
    ///
    /// - Parameter noted: what was found to deserve attention before.
    package func run(_ noted: [String] = []) async throws -> ExportReport {
        let settings = device.settings
        guard settings.role.publishes else {
            throw SyncError(
                .refused, step: .read, at: device.database.path, "this device is a \(settings.role.rawValue): read-only",
                hint: "publish from the writer; a reader imports"
            ).asSlip
        }
        try ClockGuard.verify(device.now())
        try await device.checkPublisher()
        var warnings = noted
        let token = try await settleIntended(&warnings)
        try FirstPublishGuard.verify(device, token: token)
        warnings += try SyncError.at(.apply) { try device.returnSetAside() }
        try SyncGuards.refuseUnknownFields(SyncError.at(.read) { try device.database.read { try $0.datasetStates.all() } })

        warnings += try SyncError.at(.read) { try device.keepTracking() }
        try await device.correctFutureInstants()
        let last = try await lastFields(token)
        // Whoever publishes anything lists the mailbox, whatever its mark says.
        var publisher = self
        publisher.descriptions = try await PendingDescriptions.find(device, after: token)
        let isIdle = try !isFull && publisher.hasNothing(last)
        let mail = try await MailboxProcessor(device: device).run(mayRest: isIdle)
        var report = try await publisher.publish(token, last, mail, isIdle: isIdle, warnings)
        report.conflicts += mail.conflicts.count
        report.refusedEdits += mail.conflicts.refused
        return report
    }

    private func publish(
        _ token: ChangeToken?, _ last: [String: DatasetRecord], _ mail: MailboxProcessor.Outcome, isIdle: Bool, _ noted: [String]
    ) async throws -> ExportReport {
        var warnings = noted
        if mail.asksForFullSync, !isFull {
            return try await SnapshotPublisher(
                device: device, level: level, isFull: true, isOneOfMany: isOneOfMany, progress: progress, allowed: allowed, turn: turn
            ).run(warnings)
        }
        warnings += mail.warnings
        if try isIdle && mail.isUnchanged || !isFull && hasNothing(last) {
            return try await nothingNew(token, settled: [], warnings)
        }
        // The device that was waited for has published, so all of this is decided again.
        if let turn, try await turn.giveWay(before: (token?.number ?? 0) + 1) { return try await run(noted) }
        let identity = try await device.checkIdentity(applied: token.map { AppliedVersion($0) }, commits: [])
        var publisher = self
        publisher.device = identity.device
        do {
            return try await publisher.export(after: token, last, readers: readerCount(last), warnings + identity.warnings)
        } catch is DatasetPublisher.TooFewReaders {
            return try await publisher.export(after: token, last, readers: WorkerThreads.count + 1, warnings + identity.warnings)
        }
    }

    /// Whether there is neither a change nor an answer to publish.
    private func hasNothing(_ last: [String: DatasetRecord]) throws -> Bool {
        guard descriptions.isEmpty else { return false }
        return try SyncError.at(.read) {
            try device.database.read { transaction in
                try transaction.inbox.entries(onlyUnnamed: true).isEmpty && device.settings.datasets.allSatisfy { try isUntouched($0, last, in: transaction) }
            }
        }
    }

    /// Change assets and small snapshots need one connection; a large snapshot is read by all cores.
    private func readerCount(_ last: [String: DatasetRecord]) -> Int {
        let isSmall =
            !isFull
            && device.settings.datasets.allSatisfy { schema in
                last[schema.name].map { $0.dataFile.byteCount <= device.assetRule.smallByteCount || device.assetRule.wantsChanges(after: $0) } ?? false
            }
        return isSmall ? 1 : WorkerThreads.count + 1
    }

    private func export(after token: ChangeToken?, _ last: [String: DatasetRecord], readers: Int, _ warnings: [String]) async throws -> ExportReport {
        let settings = device.settings
        try limitOwnTimestamps(last)
        let session = try SyncError.at(.read) { try ReadSession(device.database, readers: readers, consolidating: settings.datasets) }
        defer { session.end() }
        var exported: [DatasetPublisher.Written] = []
        var settled: [Settled] = []
        do {
            // What is published follows from the version that the rows on this state are of.
            guard try SyncError.at(.read, { try session.withReader(0) { try $0.transaction.state.applied() } })?.token == token else {
                throw device.anotherRun(.read)
            }
            let latest = try SyncError.at(.read) { try session.withReader(0) { try $0.transaction.changeLog.latestInstant() } }
            let publisher = DatasetPublisher(
                device: device, session: session, syncTimestamp: syncTimestamp(after: last, latest), number: (token?.number ?? 0) + 1, level: level,
                isFull: isFull,
                mayReopen: readers == 1, progress: progress, horizon: TombstoneHorizon.now(device.now(), last: last))
            for schema in settings.datasets {
                // Rows and notes are read on one state: what the notes up to here say is in the rows.
                let (untouched, sequence) = try SyncError.at(.read) {
                    try session.withReader(0) {
                        (try isUntouched(schema, last, in: $0.transaction), try $0.transaction.changeLog.summary(of: schema).lastSequence)
                    }
                }
                if untouched, !isFull { continue }
                settled.append(Settled(schema: schema, sequence: sequence))
                try await MissingRows(device: device, allowed: allowed).refuse(schema, last[schema.name], session)
                if let one = try await publisher.write(schema, after: last[schema.name]) { exported.append(one) }
            }
            session.end()
            let answers = try SyncError.at(.read) { try device.database.read { MessageAnswers(try $0.inbox.entries(onlyUnnamed: true)) } }
            guard !exported.isEmpty || !answers.isEmpty || !descriptions.isEmpty else { return try await nothingNew(token, settled: settled, warnings) }
            return try await announce(exported, settled, answers, after: token, warnings)
        } catch {
            await device.cloud.discard(exported.flatMap(\.assets), in: device.zone)
            throw error
        }
    }

    /// Tracks rows with timestamps in the future that nobody has noted, at the present time: before a dataset's first version, and where the
    /// tracking is not complete.
    private func limitOwnTimestamps(_ last: [String: DatasetRecord]) throws {
        try SyncError.at(.read) {
            let schemas = try device.database.read { transaction in
                try device.settings.datasets.filter { try last[$0.name] == nil || !transaction.changeLog.summary(of: $0).isComplete }
            }
            guard !schemas.isEmpty else { return }
            try device.database.write { transaction in
                try transaction.changeLog.consolidate(of: schemas)
                for schema in schemas { try transaction.futureInstants.adoptRows(of: schema, now: device.now()) }
            }
        }
    }

    /// What the zone's records say of the datasets in the applied version: as it was kept here, else read.
    private func lastFields(_ token: ChangeToken?) async throws -> [String: DatasetRecord] {
        let schemas = device.settings.datasets
        let known = try SyncError.at(.read) { try device.database.read { transaction in try schemas.map { try transaction.knownFields(of: $0) } } }
        if token != nil, known.allSatisfy({ $0 != nil }) {
            return Dictionary(uniqueKeysWithValues: zip(schemas, known).compactMap { schema, fields in fields.map { (schema.name, $0) } })
        }
        let state = try await device.records(at: token?.number, notBefore: token.map { AppliedVersion($0) })
        return Dictionary(
            uniqueKeysWithValues: schemas.compactMap { schema in state.record(schema.recordName).flatMap(DatasetRecord.init).map { (schema.name, $0) } })
    }

    /// The present time; never before a version that is there, nor before an instant that is published, whatever the clock does.
    private func syncTimestamp(after last: [String: DatasetRecord], _ latest: Instant?) -> Instant {
        let now = max(device.now(), latest ?? .distantPast)
        return last.values.map(\.syncTimestamp).max().map { max(now, $0.advanced(byMicroseconds: 1000)) } ?? now
    }

    /// A dataset whose rows were compared or written, and the last note that they include.
    private struct Settled: Sendable {
        let schema: DatasetSchema
        let sequence: Int64
    }

    /// Whether nothing of a dataset was touched since the version that the zone has: then no row need be read.
    private func isUntouched(_ schema: DatasetSchema, _ last: [String: DatasetRecord], in transaction: LocalTransaction) throws -> Bool {
        let changes = try transaction.changeLog.summary(of: schema)
        return changes.isComplete && changes.count == 0 && last[schema.name] != nil
    }

    /// The version to build on, after a run that was ended between its commit and the note of it was settled.
    private func settleIntended(_ warnings: inout [String]) async throws -> ChangeToken? {
        let news = try await device.fetchUpstreamChanges()
        warnings += news.warnings
        guard news.isBehind || news.fork != nil, let newest = news.changes.token else { return news.applied?.token }
        if news.fork == nil { _ = try await device.checkIdentity(applied: news.applied, commits: news.changes.commits) }
        if isOneOfMany, news.applied != nil {
            throw SyncError(
                .tryAgainLater, step: .fetch, at: "zone \(device.zone)", "it has version \(newest.number), which this database has not imported yet",
                hint: "run snapsync sync, which imports, merges and publishes")
        }
        throw SyncError(
            .refused, step: .fetch, at: "zone \(device.zone)",
            news.applied == nil
                ? "it has data that this database has not imported; publishing would replace them" : "version \(newest.number) did not come from this database",
            hint: "run snapsync import first")
    }

    private func announce(
        _ exported: [DatasetPublisher.Written], _ settled: [Settled], _ answers: MessageAnswers, after token: ChangeToken?, _ warnings: [String]
    ) async throws -> ExportReport {
        let records = exported.map { $0.fields.record(of: $0.schema) }
        let pending = try await PendingPins(device: device).check()
        let warnings = warnings + pending.warnings
        let shrunk = try await ShrinkCheck(device: device, allowed: allowed).approvals(for: exported.map { ($0.schema, $0.fields.recordCount) }, after: token)
        let horizon = exported.compactMap(\.horizon).first
        var draft = CommitDraft(
            device: device.settings.device, saving: records + pending.pins.map(\.record) + descriptions.records, clock: device.now(),
            approvals: shrunk + (horizon.map { [TombstoneHorizon.text($0)] } ?? []))
        draft.messages = answers
        let commit = try await SyncError.at(.announce) { try await device.cloud.prepare(draft, after: token, in: device.zone) }
        // Should this run end between the commit and the note of it, the next one finds what the commit settled.
        let sequences = Dictionary(
            uniqueKeysWithValues: settled.filter { one in exported.contains { $0.schema.name == one.schema.name } }.map { ($0.schema.name, $0.sequence) })
        try SyncError.at(.announce) {
            try device.database.write { transaction in
                guard try transaction.state.applied()?.token == token else { throw device.anotherRun(.announce) }
                try transaction.state.setIntended(IntendedVersion(version: AppliedVersion(commit.token), sequences: sequences))
            }
        }
        let published = try await SyncError.at(.announce) { try await device.cloud.publish(commit) }

        try SyncError.at(.announce) {
            try device.database.write { transaction in
                // A run that came in between has imported this very commit, and settled what is in it.
                guard try transaction.state.applied()?.token == token else { return }
                try transaction.record(
                    AppliedVersion(published), exported.map { ($0.schema, $0.fields) }, after: token.map { AppliedVersion($0) }, of: device.settings.datasets)
                for one in settled {
                    // A dataset whose entities are the last version's was touched without being changed.
                    let isWritten = exported.contains { $0.schema.name == one.schema.name }
                    if isWritten {
                        try transaction.settle(one.schema, upTo: one.sequence, version: published.number, at: device.now())
                    } else {
                        try transaction.changeLog.drop(of: one.schema, upTo: one.sequence)
                    }
                }
                try transaction.state.setPendingPins([])
                if let note = descriptions.note { try transaction.state.setDescriptionNote(note) }
                for lost in pending.lost { try transaction.state.dropUndoPoint(of: lost.version) }
                for one in exported { if let horizon = one.horizon { try transaction.tombstonesAndInstants.removeTombstones(of: one.schema, before: horizon) } }
                try device.noteSuccess(.export, in: transaction)
                try device.nextNonce(in: transaction)
                try transaction.inbox.recordAnswers(applied: answers.applied, refused: answers.refused, in: published.number, at: device.now())
            }
        }
        await device.report(published)
        let names = Set(exported.map(\.schema.name))
        return ExportReport(
            published: true, version: published.number, written: exported.map(\.report),
            unchanged: device.settings.datasets.map(\.name).filter { !names.contains($0) },
            warnings: warnings + exported.compactMap { AssetLimits.warning($0.report, limit: device.assetLimit) },
            messagesApplied: answers.applied.count, messagesRefused: answers.refused.count)
    }

    private func nothingNew(_ token: ChangeToken?, settled: [Settled], _ warnings: [String]) async throws -> ExportReport {
        try SyncError.at(.announce) {
            if settled.isEmpty { return try device.noteIdleSuccess(.export) }
            try device.database.write { transaction in
                guard try transaction.state.applied()?.token == token else { return }
                for one in settled { try transaction.changeLog.drop(of: one.schema, upTo: one.sequence) }
                try device.noteSuccess(.export, in: transaction)
            }
        }
        return ExportReport(published: false, version: token?.number, written: [], unchanged: device.settings.datasets.map(\.name), warnings: warnings)
    }
}
