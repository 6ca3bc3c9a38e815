package import CloudStore
package import LocalStore
import Logging
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Brings a version of the zone into the database: fetch, guard, verify, decode, apply, record.
///
/// Delete-then-insert for every dataset that differs, with the change token, in one transaction: readers of the database
/// see the old data until the commit and never a mixture.
package struct ImportRun: Sendable {
    var device: SyncContext
    let progress: ProgressHandler?
    /// Whether the cloud wins over every change that was made here, tracked or not.
    let discardsChanges: Bool
    /// Runs first in the transaction that replaces rows; what it throws ends the import with nothing changed.
    package var willReplace: @Sendable (LocalTransaction) throws -> Void
    /// Which datasets may have become much smaller.
    let allowed: ShrinkApproval
    /// Whether the device reports what it has as soon as it has it; false where the caller does when it is done.
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

    /// The guards that are asked once the zone and the device's identity are known, in this order. Those of rows are in the transaction (``replace``).
    static let guards: [RunGuard] = [.shrink]

    /// How often an import begins again where changes are made meanwhile that have to be looked at first.
    private static let attempts = 3

    /// How one attempt ends.
    private enum Outcome: Sendable {
        case applied(ImportReport)
        /// The version was here already.
        case nothingNew(ImportReport)
        /// Another program changed rows after what was changed here was last looked at; nothing was imported.
        case changedMeanwhile
    }

    /// Imports the newest version if it is newer than what is here; ends a view.
    ///
    /// - Parameter known: what the zone has, if the caller has looked already.
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

    /// Imports the newest version once.
    ///
    /// - Parameters:
    ///   - warnings: what deserves attention, of earlier attempts and of this one.
    ///   - isLast: whether to import although another program keeps changing rows.
    private mutating func attempt(_ upstream: UpstreamChanges, _ warnings: inout [String], isLast: Bool) async throws -> Outcome {
        warnings += try upstream.warnings + device.keepTracking()
        try await device.correctFutureInstants()
        // While the version that the changes were made on can still be compared with.
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
        // After a fork, this device's own commits stand beside the zone's; no copy of the database has made them.
        let identity = try await DeviceIdentity.check(device, applied: local.applied, commits: upstream.fork == nil ? upstream.changes.commits : [])
        // Another attempt goes on under the name that the device has now.
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

    /// Shows version `number` instead of the newest: a view, which ``importNewest()`` ends.
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

    /// Imports the zone's newest version, although it comes before what is here or is of another history: all rows are compared with it.
    package func importPutBack(_ state: ZoneState) async throws -> ImportReport {
        let warnings = try device.keepTracking()
        var local = try localState(nil)
        local.untracked = Set(device.settings.datasets.map(\.name))
        // What the versions that are gone have answered is not known any longer.
        return try await report(
            apply(state, local, token: state.token, view: nil, Mail(answers: MailboxAnswers(commits: [], isComplete: false)), warnings: warnings))
    }

    /// The report of an import that need not look at changes made meanwhile.
    private func report(_ outcome: Outcome) throws -> ImportReport {
        switch outcome {
        case .applied(let report), .nothingNew(let report): return report
        case .changedMeanwhile: throw device.anotherRun(.apply)
        }
    }

    /// What the new commits answer, and whether every change made here must have been compared with the applied version.
    private struct Mail: Sendable {
        var answers = MailboxAnswers()
        var mustBeCompared = false
    }

    private struct Local: Sendable {
        let applied: AppliedVersion?
        let view: String?
        /// The datasets whose rows may differ from the applied version without a note of it.
        var untracked: Set<String>
        let upstream: UpstreamChanges?
        /// The datasets that others refer to and from which something was deleted here: what comes may need it.
        let deletedParents: Set<String>
        /// Whether the applied version knows less of a dataset than this device: only whole assets say what a version describes.
        let hasMissingColumns: Bool
    }

    private func localState(_ upstream: UpstreamChanges?) throws -> Local {
        try device.database.read(at: .read) { transaction in
            // What a commit had that lost its number is in no version of the zone: all rows are compared.
            // Of a column that was taken over after the version came, the rows have nothing yet.
            let untracked = try device.settings.datasets.filter {
                try upstream?.fork != nil || !transaction.changeLog.isComplete(of: $0) || !transaction.state.unseenColumns(of: $0).isEmpty
            }
            return Local(
                applied: try transaction.state.applied(), view: try transaction.state.view(), untracked: Set(untracked.map(\.name)), upstream: upstream,
                deletedParents: try transaction.references.deletedParents(among: device.settings.datasets),
                hasMissingColumns: try device.settings.datasets.contains { try !transaction.state.missingColumns(of: $0).isEmpty })
        }
    }

    /// Follows the commits since the applied version where that is possible; else reads the newest version whole.
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
                // Whatever is wrong with a change asset, or with the rows it is laid over, the whole version heals it or says more.
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

    /// Applies a version whole, or, of the datasets that are here as it has them, nothing.
    ///
    /// - Parameter isDoubtful: whether rows may be other than the applied version and the tracked changes say.
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
            // What the token's version had is here already, unless the database shows something else.
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
                "\(dataset.report.name): this device does not know the fields \(dataset.unknownFields.sorted().joined(separator: ", ")); they were left out (snapsync describe --update --create takes them over)"
            )
        }
        return .applied(
            ImportReport(
                applied: true, version: shown ?? token?.number, datasets: replaced.datasets.map(\.report), view: view, warnings: warnings,
                conflicts: replaced.conflicts.count, refusedEdits: replaced.conflicts.refused))
    }

    /// The rows that were replaced, and what there is to say of that.
    private struct Replaced: Sendable {
        let datasets: [IncomingDataset.Outcome]
        var notices: [String]
        var conflicts = LostEdits()
    }

    /// Replaces the rows in one transaction; nil if another program changed rows meanwhile, and nothing was replaced.
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
        return try device.database.write { transaction in
            // The state that was read before the transaction must be the one that it changes.
            guard try transaction.state.applied() == local.applied, try transaction.state.view() == local.view else {
                throw device.anotherRun(.apply)
            }
            for schema in schemas {
                try SyncGuards.refuseUnfillableColumns(transaction.tables.check(of: schema), schema, at: device.database.path)
            }
            // Folding what was noted may change many pages, and the rows are looked at on other connections then.
            let prepared = try transaction.lettingOthersRead { try prepare(incoming, local, changes, view: view, mail, ledger, in: transaction) }
            guard let prepared else { return nil }
            if let upstream = local.upstream, upstream.fork == nil { try forgetPublished(upstream, in: transaction) }
            transaction.ignoresChecks = ignoringChecks
            let keeper = try ForeignKeyEnforcer(transaction, datasets: device.settings.datasets)
            let replaced = try transaction.tracking.importing(device.settings.datasets, then: keeper.enforce) {
                try prepared.merging.begin(incoming)
                let replaced = try incoming.indices.map {
                    try incoming[$0].apply(prepared.plans[$0], with: prepared.importers[$0], prepared.rules[$0], ledger, in: transaction, progress)
                }
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

    /// How each dataset is merged and applied; nothing in the datasets' tables is changed yet.
    private struct Prepared {
        let merging: MergingImport
        let rules: [MergeRule]
        let importers: [DatasetImporter?]
        let plans: [DatasetImporter.Plan?]
    }

    /// Folds what was noted and looks at the rows; nil if another program changed rows meanwhile.
    private func prepare(
        _ incoming: [IncomingDataset], _ local: Local, _ changes: ZoneChanges?, view: String?, _ mail: Mail, _ ledger: ImportLedger,
        in transaction: LocalTransaction
    ) throws -> Prepared? {
        let schemas = incoming.map(\.schema)
        if mail.mustBeCompared {
            try transaction.changeLog.consolidate(of: device.settings.datasets)
            if try MessageComposer(device: device).hasUntold(in: transaction) { return nil }
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
        // All rows are looked at before the first one changes, for other connections see only what is committed.
        return Prepared(merging: merging, rules: rules, importers: importers, plans: try importers.map { try $0?.plan(transaction) })
    }

    /// After a fork, what this device had published is tracked again.
    private func trackAgain(after fork: AppliedVersion, in transaction: LocalTransaction) throws {
        _ = try transaction.publishedChanges.trackAgain(of: device.settings.datasets, after: fork.number)
        try transaction.lineage.forget(after: fork.number)
    }

    /// Forgets what this device had published and others have built on.
    private func forgetPublished(_ upstream: UpstreamChanges, in transaction: LocalTransaction) throws {
        try transaction.publishedChanges.forget(
            before: upstream.newestCommit(notBy: device.settings.device), orAt: device.now().advanced(byMicroseconds: -UpstreamChanges.retention))
    }

    private func recordApplied(_ version: AppliedVersion, _ incoming: [IncomingDataset], _ local: Local, in transaction: LocalTransaction) throws {
        let fields = Dictionary(uniqueKeysWithValues: incoming.map { ($0.schema.name, $0.fields) })
        // After a view or a fork, what was known of a dataset is of another version than its rows.
        try transaction.keepFields(
            fields, of: device.settings.datasets, before: local.view == nil && local.upstream?.fork == nil ? local.applied : nil, now: version)
        try transaction.state.setApplied(version)
    }
}
