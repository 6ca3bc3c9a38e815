package import CloudStore
package import LocalStore
import Logging
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Imports a version of the zone into the database. The stages: fetch, guard, verify, decode, apply, record.
///
/// One transaction replaces every dataset that differs and stores the change token. Other connections see the old data until it commits, and
/// never a mixture.
package struct ImportRun: Sendable {
    var device: SyncContext
    let progress: ProgressHandler?
    /// Whether the cloud wins over every local change, tracked or not.
    let discardsChanges: Bool
    /// Runs first in the transaction that replaces rows. If it throws, the import ends and nothing is changed.
    package var willReplace: @Sendable (LocalTransaction) throws -> Void
    /// The datasets that may become much smaller.
    let allowed: ShrinkApproval
    /// Whether the import reports the new version to the zone; false if the caller reports later.
    var reportsAtOnce = true

    package init(
        device: SyncContext, progress: ProgressHandler?, discardsChanges: Bool = false,
        willReplace: @escaping @Sendable (LocalTransaction) throws -> Void = { _ in }, allowed: ShrinkApproval = .none
    ) {
        self.device = device
        self.progress = progress
        self.discardsChanges = discardsChanges
        self.willReplace = willReplace
        self.allowed = allowed
    }

    /// The guards that run after the zone is read, in this order. The guards that check rows run in the transaction (``replace``).
    static let guards: [RunGuard] = [.shrink]

    /// The number of rows of a dataset from which an import may write more pages than SQLite's cache holds.
    private static let largeImport = 5000

    /// The number of attempts if another program keeps changing rows that the import must compare first.
    private static let attempts = 3

    /// The result of one attempt.
    private enum Outcome: Sendable {
        case applied(ImportReport)
        /// The version was applied already.
        case nothingNew(ImportReport)
        /// Another program changed rows since the run composed messages of the local changes. Nothing was imported.
        case changedMeanwhile
    }

    /// Imports the newest version if it is newer than the applied one, and ends a view.
    ///
    /// - Parameter known: the zone's new commits, if the caller has read them already.
    package func importNewest(_ known: UpstreamChanges? = nil) async throws -> ImportReport {
        var run = self, warnings = device.notices, attempt = 1
        var upstream = if let known { known } else { try await device.recoverAndFetchUpstreamChanges() }
        while true {
            switch try await run.attempt(upstream, &warnings, isLast: attempt >= Self.attempts) {
            case .applied(let report), .nothingNew(let report): return report
            case .changedMeanwhile: upstream = try await run.device.recoverAndFetchUpstreamChanges()
            }
            attempt += 1
        }
    }

    /// Makes one attempt to import the newest version.
    ///
    /// - Parameters:
    ///   - warnings: the warnings of earlier attempts; this attempt adds its own.
    ///   - isLast: whether to import even if another program keeps changing rows.
    private mutating func attempt(_ upstream: UpstreamChanges, _ warnings: inout [String], isLast: Bool) async throws -> Outcome {
        warnings += try upstream.warnings + device.keepTracking()
        try await device.correctFutureInstants()
        // Compose messages now, while the version that the local changes are based on is still available for comparison.
        let uncompared = discardsChanges || upstream.isOfEarlierZone ? nil : try await MessageComposer(device: device).runIfPossible()
        if let uncompared { warnings.append(uncompared) }
        try await TrackingRebuild(device: device).run(upstream)
        var local = try localState(upstream)
        if upstream.isExpired || discardsChanges { local.untracked = Set(device.settings.datasets.map(\.name)) }
        guard let newest = upstream.changes.token else {
            throw SyncError(
                .nothingThere, step: .fetch, at: "zone \(device.zone)", "nothing has been published yet", hint: "run snapsync export on the writer first")
        }
        if newest == local.applied?.token, local.view == nil, local.untracked.isEmpty, upstream.fork == nil {
            try SyncError.at(.apply) { try device.recordIdleSuccess(.import) }
            return .nothingNew(ImportReport(applied: false, version: newest.number, datasets: [], view: nil, warnings: warnings))
        }
        // After a fork, commits in this device's name may be its own, although it no longer intends them. They are no sign of a copy, so they are
        // not checked.
        let identity = try await DeviceIdentity.check(device, applied: local.applied, commits: upstream.fork == nil ? upstream.changes.commits : [])
        // A further attempt must use the device's current name.
        device = identity.device
        warnings += identity.warnings
        try await RunGuard.Facts(device: device, allowed: allowed, upstream: upstream).ask(Self.guards)
        let followed = try SchemaUpdate(device: device).follow(upstream.changes.commits)
        device = followed.device
        warnings += followed.notices
        let agreed = try SchemaUpdate(device: device).followMessages(upstream.changes)
        device = agreed.device
        warnings += agreed.notices
        let mail = Mail(answers: upstream.answers, mustBeCompared: !discardsChanges && !upstream.isOfEarlierZone && uncompared == nil && !isLast)
        let outcome = try await applyNewest(upstream, newest, local, mail, warnings)
        if case .applied = outcome, reportsAtOnce { await device.report(newest) }
        return outcome
    }

    /// Shows version `number` instead of the newest. ``importNewest()`` ends this view.
    func importVersion(_ number: Int) async throws -> ImportReport {
        guard device.settings.role == .reader else {
            throw SyncError(
                .refused, step: .apply, at: device.database.path,
                "this device is a \(device.settings.role.rawValue); an old version would be published as its next one",
                hint: "look at it with snapsync cat, or import it at a reader"
            ).asSlip
        }
        let warnings = try device.keepTracking()
        let local = try localState(nil)
        let state: ZoneState
        do {
            state = try await VersionFinder(cloud: device.cloud, zone: device.zone, token: local.applied?.token).state(of: number)
        } catch let error as SyncError where error.code == .nothingThere {
            throw error.asSlip
        }
        return try await report(apply(state, local, token: nil, view: "version \(number)", warnings: warnings))
    }

    /// Imports the zone's newest version even if it is older than the applied one or belongs to another history. All rows are compared with it.
    package func importPutBack(_ state: ZoneState) async throws -> ImportReport {
        let warnings = try device.keepTracking()
        var local = try localState(nil)
        local.untracked = Set(device.settings.datasets.map(\.name))
        // The answers in the versions that are gone are no longer known.
        return try await report(
            apply(state, local, token: state.token, view: nil, Mail(answers: MailboxAnswers(commits: [], isComplete: false)), warnings: warnings))
    }

    /// Returns the report of an import that need not compare changes made meanwhile.
    private func report(_ outcome: Outcome) throws -> ImportReport {
        switch outcome {
        case .applied(let report), .nothingNew(let report): return report
        case .changedMeanwhile: throw device.anotherRun(.apply)
        }
    }

    /// The answers in the new commits, and whether every local change must have been compared with the applied version.
    private struct Mail: Sendable {
        var answers = MailboxAnswers()
        var mustBeCompared = false
    }

    private struct Local: Sendable {
        let applied: AppliedVersion?
        let view: String?
        /// The datasets whose rows may differ from the applied version without a tracked change.
        var untracked: Set<String>
        let upstream: UpstreamChanges?
        /// The datasets that other datasets refer to and from which rows were deleted locally. New children may need these rows.
        let deletedParents: Set<String>
        /// Whether the applied version has fewer columns than this device describes. Only snapshot assets name a version's columns.
        let hasMissingColumns: Bool
    }

    private func localState(_ upstream: UpstreamChanges?) throws -> Local {
        try device.database.read(at: .read) { transaction in
            // After a fork, the commits that lost their number are in no version of the zone, so all rows are compared. A column that was added
            // after the version was applied has no values in the rows yet.
            let untracked = try device.settings.datasets.filter {
                try upstream?.fork != nil || !transaction.changeLog.isComplete(of: $0) || !transaction.state.unseenColumns(of: $0).isEmpty
            }
            return Local(
                applied: try transaction.state.applied(), view: try transaction.state.view(), untracked: Set(untracked.map(\.name)), upstream: upstream,
                deletedParents: try transaction.references.deletedParents(among: device.settings.datasets),
                hasMissingColumns: try device.settings.datasets.contains { try !transaction.state.missingColumns(of: $0).isEmpty })
        }
    }

    /// Follows the commits after the applied version if possible; else reads the newest version whole.
    private func applyNewest(_ upstream: UpstreamChanges, _ newest: ChangeToken, _ local: Local, _ mail: Mail, _ noted: [String]) async throws -> Outcome {
        var warnings = noted
        var needsWhole = false
        if local.applied != nil, local.view == nil, local.untracked.isEmpty, !local.hasMissingColumns, upstream.follows, mail.answers.isComplete,
            let chain = CommitChain(upstream.changes.commits, datasets: device.settings.datasets), local.deletedParents.allSatisfy({ chain.isWhole($0) })
        {
            do {
                var incoming: [IncomingDataset] = []
                for schema in device.settings.datasets {
                    guard let step = chain.steps[schema.name] else { continue }
                    incoming.append(try await open(step, of: schema))
                }
                return try await apply(incoming, local, token: newest, view: nil, mail, warnings: warnings)
            } catch let error as SyncError where error.code == .needsWholeVersion {
                needsWhole = true
            } catch let error as SyncError where chain.hasChanges && (error.code == .dataRefused || error.code == .tryAgainLater) {
                // A damaged change asset, or rows that do not fit it: the whole version repairs this or gives a better error.
                warnings.append(
                    "the change assets since version \(local.applied?.number ?? 0) were of no use (\(error.place): \(error.reason)); all rows were compared with version \(newest.number)"
                )
            }
        }
        let state = try await device.records(at: newest.number, notBefore: upstream.common)
        return try await apply(state, local, token: newest, view: nil, mail, isDoubtful: needsWhole || warnings.count > noted.count, warnings: warnings)
    }

    private func open(_ step: CommitChain.Step, of schema: DatasetSchema) async throws -> IncomingDataset {
        switch step {
        case .whole(let record):
            try refuseOtherType(record, schema)
            return try await IncomingDataset(whole: record, of: schema, in: device.cloud, zone: device.zone)
        case .changes(let fields, let files):
            let count = try device.database.read(at: .read) { try $0.knownFields(of: schema)?.recordCount }
            return try await IncomingDataset(fields, steps: files, of: schema, countBefore: count, in: device.cloud, zone: device.zone)
        }
    }

    private func refuseOtherType(_ record: CloudRecord, _ schema: DatasetSchema) throws {
        guard record.type == schema.recordType else {
            throw SyncError(
                .refused, step: .fetch, at: "record \(record.name)", "its type is \(record.type), the dataset file says \(schema.recordType)",
                hint: "correct the dataset file")
        }
    }

    /// Applies a version whole. Datasets that the database already has in this version are skipped.
    ///
    /// - Parameter isDoubtful: whether the rows may differ from the applied version plus the tracked changes.
    private func apply(
        _ state: ZoneState, _ local: Local, token: ChangeToken?, view: String?, _ mail: Mail = Mail(), isDoubtful: Bool = false, warnings noted: [String]
    ) async throws -> Outcome {
        var incoming: [IncomingDataset] = []
        var warnings = noted
        for schema in device.settings.datasets {
            guard let record = state.record(schema.recordName) else {
                warnings.append("the zone has no dataset \(schema.name); its table stays as it is")
                continue
            }
            try refuseOtherType(record, schema)
            // The database already has what the token's version has, unless it shows a view.
            let isHere =
                view == nil && local.view == nil && !isDoubtful && !local.untracked.union(local.deletedParents).contains(schema.name)
                && local.applied.map { (Int(record.changeTag ?? "") ?? .max) <= $0.number } == true
            if isHere { continue }
            incoming.append(try await IncomingDataset(whole: record, of: schema, in: device.cloud, zone: device.zone))
        }
        warnings += state.records.filter { !$0.isOfVersions }.map(\.name).filter { name in !device.settings.datasets.contains { $0.recordName == name } }
            .map { "the record \($0) is of no dataset that this device knows" }
        return try await apply(incoming, local, token: token, shown: state.token?.number, view: view, mail, warnings: warnings)
    }

    private func apply(
        _ incoming: [IncomingDataset], _ local: Local, token: ChangeToken?, shown: Int? = nil, view: String?, _ mail: Mail, warnings noted: [String]
    ) async throws -> Outcome {
        let replaced = try SyncError.at(.apply) { try replace(incoming, local, token: token, view: view, mail) }
        guard let replaced else { return .changedMeanwhile }
        var warnings = noted + replaced.notices
        for dataset in replaced.datasets where !dataset.unknownFields.isEmpty {
            warnings.append(
                "\(dataset.report.name)\(ImportReport.unknownFields) \(dataset.unknownFields.sorted().joined(separator: ", ")); they were left out (snapsync describe --update --create takes them over)"
            )
        }
        return .applied(
            ImportReport(
                applied: true, version: shown ?? token?.number, datasets: replaced.datasets.map(\.report), view: view, warnings: warnings,
                conflicts: replaced.conflicts.count, refusedEdits: replaced.conflicts.refused))
    }

    /// The datasets that were replaced, and the sentences for the report.
    private struct Replaced: Sendable {
        let datasets: [IncomingDataset.Outcome]
        var notices: [String]
        var conflicts = LostEdits()
    }

    /// Replaces the rows in one transaction; nil if another program changed rows meanwhile, in which case nothing was replaced.
    private func replace(_ incoming: [IncomingDataset], _ local: Local, token: ChangeToken?, view: String?, _ mail: Mail) throws -> Replaced? {
        do {
            return try replace(incoming, local, token: token, view: view, mail, ignoringChecks: false)
        } catch  where LocalStoreError.isBrokenCheck(error) {
            // The version's rows are what other devices hold, and only a device that has the row can correct it.
            return try replace(incoming, local, token: token, view: view, mail, ignoringChecks: true)
        }
    }

    private func replace(
        _ incoming: [IncomingDataset], _ local: Local, token: ChangeToken?, view: String?, _ mail: Mail, ignoringChecks: Bool
    ) throws -> Replaced? {
        try device.database.withoutRollbacks {
            let ledger = ImportLedger(database: device.database.path, settings: device.settings, now: device.now())
            // A device that joins with stricter tables is told before it takes rows out of the zone, and a reader takes none out.
            ledger.resolvesDuplicates = device.settings.role.publishes && local.applied != nil && view == nil
            do {
                guard var replaced = try replace(incoming, local, token: token, view: view, mail, ledger, ignoringChecks: ignoringChecks) else { return nil }
                replaced.notices = ledger.sentences + replaced.notices
                replaced.conflicts = ledger.conflicts
                return replaced
            } catch {
                ledger.discard()
                throw error
            }
        }
    }

    private func replace(
        _ incoming: [IncomingDataset], _ local: Local, token: ChangeToken?, view: String?, _ mail: Mail, _ ledger: ImportLedger, ignoringChecks: Bool
    ) throws -> Replaced? {
        let changes = local.upstream?.changes
        for commit in changes?.commits ?? [] { ledger.authors[commit.token.number] = commit.device }
        let schemas = incoming.map(\.schema)
        let isLarge = incoming.contains { ($0.snapshot?.index.recordCount ?? 0) >= Self.largeImport }
        return try device.database.write(isLarge: isLarge) { transaction in
            // The transaction must start from the state that was read before it.
            guard try transaction.state.applied() == local.applied, try transaction.state.view() == local.view else {
                throw device.anotherRun(.apply)
            }
            for schema in schemas {
                try SyncGuards.refuseUnfillableColumns(transaction.tables.check(of: schema), schema, at: device.database.path)
            }
            // Consolidating the log may write many pages. The rows are read on other connections meanwhile.
            let prepared = try transaction.lettingOthersRead { try prepare(incoming, local, changes, view: view, mail, ledger, in: transaction) }
            guard let prepared else { return nil }
            if let upstream = local.upstream, upstream.fork == nil { try forgetPublished(upstream, in: transaction) }
            transaction.ignoresChecks = ignoringChecks
            let keeper = try ForeignKeyEnforcer(transaction, datasets: device.settings.datasets, takesVersion: true)
            let replaced = try transaction.tracking.importing(device.settings.datasets, then: keeper.enforce) {
                try prepared.merging.begin(incoming)
                let replaced = try incoming.indices.map {
                    try incoming[$0].apply(prepared.plans[$0], with: prepared.importers[$0], prepared.rules[$0], ledger, in: transaction, progress)
                }
                try transaction.merge.setCompared(incoming.filter { $0.snapshot != nil }.map(\.schema))
                try prepared.merging.finish(incoming, changes)
                return replaced
            }
            if view != nil { for schema in schemas { try transaction.tracking.setIncomplete(of: schema) } }
            if let token { try recordApplied(AppliedVersion(token), incoming, local, in: transaction) }
            try transaction.state.setView(view)
            for (one, done) in zip(incoming, replaced) {
                try transaction.datasetStates.set(
                    DatasetState(
                        name: one.schema.name, syncTimestamp: one.fields.syncTimestamp, recordCount: one.fields.recordCount, unknownFields: done.unknownFields))
            }
            try device.recordSuccess(.import, in: transaction)
            if token != nil { try device.nextNonce(in: transaction) }
            try ledger.finish()
            return Replaced(
                datasets: replaced, notices: try transaction.triggerNotices + (ignoringChecks ? brokenChecks(schemas, in: transaction) : []))
        }
    }

    /// What there is to say of rows that break CHECK constraints of this device's tables.
    private func brokenChecks(_ schemas: [DatasetSchema], in transaction: LocalTransaction) throws -> [String] {
        try schemas.flatMap { schema in
            try transaction.tables.rowsBreakingChecks(of: schema, keys: 3).map { CheckReport(schema, $0.check, $0.count, $0.keys).sentence }
        }
    }

    /// How each dataset is merged and applied. Nothing in the datasets' tables is changed yet.
    private struct Prepared {
        let merging: MergingImport
        let rules: [MergeRule]
        let importers: [DatasetImporter?]
        let plans: [DatasetImporter.Plan?]
    }

    /// Consolidates the log and compares the rows; nil if another program changed rows meanwhile.
    private func prepare(
        _ incoming: [IncomingDataset], _ local: Local, _ changes: ZoneChanges?, view: String?, _ mail: Mail, _ ledger: ImportLedger,
        in transaction: LocalTransaction
    ) throws -> Prepared? {
        let schemas = incoming.map(\.schema)
        if mail.mustBeCompared {
            try transaction.changeLog.consolidate(of: device.settings.datasets)
            if try MessageComposer(device: device).hasUnsent(in: transaction) { return nil }
        }
        try willReplace(transaction)
        var acting = device
        if discardsChanges {
            for schema in device.settings.datasets { try transaction.changeLog.discard(of: schema) }
            acting.settings.replacesOwnRows = true
        }
        if view != nil { try SyncGuards.refuseViewOverChanges(transaction, schemas, at: device.database.path) }
        let merging = try MergingImport(device: acting, transaction: transaction, schemas: schemas, isView: view != nil, ledger: ledger)
        if let fork = local.upstream?.fork, device.settings.role.publishes { try transaction.inbox.forgetAnswers(after: fork.number) }
        try mail.answers.take(in: transaction, role: device.settings.role, at: device.now())
        if let fork = local.upstream?.fork { try trackAgain(after: fork, in: transaction) }
        let rules = incoming.map { merging.rule(of: $0, in: changes, isFirst: local.applied == nil) }
        let importers = incoming.indices.map { index in
            incoming[index].snapshot.map {
                DatasetImporter(
                    schema: incoming[index].schema, asset: $0, database: device.database, keepsInstants: device.settings.role.publishes, progress: progress,
                    rule: rules[index])
            }
        }
        // Compare all rows before the first one changes: other connections see only committed data.
        return Prepared(merging: merging, rules: rules, importers: importers, plans: try importers.map { try $0?.plan(transaction) })
    }

    /// Tracks this device's published changes again after a fork.
    private func trackAgain(after fork: AppliedVersion, in transaction: LocalTransaction) throws {
        _ = try transaction.publishedChanges.trackAgain(of: device.settings.datasets, after: fork.number)
        try transaction.lineage.forget(after: fork.number)
    }

    /// Forgets published changes after other devices have published on top of them.
    private func forgetPublished(_ upstream: UpstreamChanges, in transaction: LocalTransaction) throws {
        try transaction.publishedChanges.forget(
            before: upstream.newestCommit(notBy: device.settings.device), orAt: device.now().advanced(byMicroseconds: -UpstreamChanges.retention))
    }

    private func recordApplied(_ version: AppliedVersion, _ incoming: [IncomingDataset], _ local: Local, in transaction: LocalTransaction) throws {
        let fields = Dictionary(uniqueKeysWithValues: incoming.map { ($0.schema.name, $0.fields) })
        // After a view or a fork, the stored records of a dataset belong to another version than its rows.
        try transaction.keepFields(
            fields, of: device.settings.datasets, before: local.view == nil && local.upstream?.fork == nil ? local.applied : nil, now: version)
        try transaction.state.setApplied(version)
    }
}
