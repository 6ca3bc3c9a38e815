package import CloudStore
package import LocalTables
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
    var context: SyncContext
    let progress: ProgressHandler?
    /// Whether the cloud wins over every local change, tracked or not.
    let discardsChanges: Bool
    /// Runs first in the transaction that replaces rows. If it throws, the import ends and nothing is changed.
    package var willReplace: @Sendable (LocalTransaction) throws -> Void
    /// The datasets that may become much smaller.
    let allowed: ShrinkApproval
    /// Whether the import reports the new version to the zone; false if the caller reports later.
    var reportsAtOnce = true
    /// Whether to compare all rows with the version, even if it is applied already.
    package var comparesAll = false

    package init(
        context: SyncContext, progress: ProgressHandler?, discardsChanges: Bool = false,
        willReplace: @escaping @Sendable (LocalTransaction) throws -> Void = { _ in }, allowed: ShrinkApproval = .none
    ) {
        self.context = context
        self.progress = progress
        self.discardsChanges = discardsChanges
        self.willReplace = willReplace
        self.allowed = allowed
    }

    /// The number of attempts if another program keeps changing rows that the import must compare first.
    private static let attempts = 3

    /// The result of one attempt.
    private enum Outcome: Sendable {
        case applied(ImportReport)
        /// The version was applied already.
        case nothingNew(ImportReport)
        /// Another program deleted rows meanwhile that the version may need. Nothing was imported.
        case changedMeanwhile
    }

    /// Imports the newest version if it is newer than the applied one.
    ///
    /// - Parameter known: the zone's new commits, if the caller has read them already.
    package func importNewest(_ known: UpstreamChanges? = nil) async throws -> ImportReport {
        var run = self, warnings = context.notices
        var upstream = if let known { known } else { try await context.recoverAndFetchUpstreamChanges() }
        for attempt in 1...Self.attempts {
            switch try await run.attempt(upstream, &warnings, countsRows: attempt == 1) {
            case .applied(let report), .nothingNew(let report): return report
            case .changedMeanwhile: upstream = try await run.context.recoverAndFetchUpstreamChanges()
            }
        }
        throw context.anotherRun(.apply)
    }

    /// Makes one attempt to import the newest version.
    ///
    /// - Parameters:
    ///   - warnings: the warnings of earlier attempts; this attempt adds its own.
    ///   - countsRows: whether the number of rows may show that changes are untracked.
    private mutating func attempt(_ upstream: UpstreamChanges, _ warnings: inout [String], countsRows: Bool) async throws -> Outcome {
        warnings += try upstream.warnings + context.keepTracking()
        try await context.correctFutureInstants()
        if !discardsChanges { warnings += try await TrackingRebuild(context: context).run(upstream) }
        var local = try ImportBase(context, upstream)
        local.countsRows = countsRows && !discardsChanges
        if upstream.isExpired || discardsChanges || comparesAll { local.untracked = Set(context.settings.datasets.map(\.name)) }
        guard let newest = upstream.changes.token else {
            throw SyncError(
                .nothingThere, step: .fetch, at: context.zone.place, "nothing has been published yet", hint: "run snapsync export on the writer first")
        }
        if newest == local.applied?.token, local.untracked.isEmpty {
            warnings += try context.showHeldRows()
            try context.recordIdleSuccess(.import)
            return .nothingNew(ImportReport(applied: false, version: newest.number, datasets: [], warnings: warnings))
        }
        let identity = try await DeviceIdentity.check(context, applied: local.applied, commits: upstream.changes.commits)
        // A further attempt must use the device's current name.
        context = identity.context
        warnings += identity.warnings
        // The guards that check rows run in the transaction (``VersionReplacement``).
        try await ShrinkCheck(context: context, allowed: allowed).verify(upstream.changes, after: upstream.appliedHere?.token)
        let followed = try SchemaUpdate(context: context).follow(upstream.changes)
        context = followed.context
        warnings += followed.notices
        local.answered = upstream.changes.answered
        let outcome = try await applyNewest(upstream, newest, over: local, noted: warnings)
        guard case .applied(var report) = outcome else { return outcome }
        if reportsAtOnce { await context.report(newest) }
        report.versionBefore = upstream.appliedHere?.number
        return .applied(report)
    }

    /// Imports the zone's newest version even if it is older than the applied one or belongs to another history. All rows are compared with it.
    package func importPutBack(_ state: ZoneState) async throws -> ImportReport {
        guard let newest = state.token else {
            throw SyncError(
                .nothingThere, step: .fetch, at: context.zone.place, "it has no version any more", hint: "bring the directory back from a copy")
        }
        let warnings = try context.keepTracking()
        var local = try ImportBase(context, nil)
        local.untracked = Set(context.settings.datasets.map(\.name))
        switch try await apply(state, local, token: newest, warnings: warnings) {
        case .applied(let report), .nothingNew(let report): return report
        case .changedMeanwhile: throw context.anotherRun(.apply)
        }
    }

    /// Follows the commits after the applied version if possible; else reads the newest version whole.
    private func applyNewest(_ upstream: UpstreamChanges, _ newest: ChangeToken, over local: ImportBase, noted: [String]) async throws -> Outcome {
        var warnings = noted
        var needsWhole = false
        let known = try context.database.read { transaction in
            try context.settings.datasets.reduce(into: [String: DatasetRecord]()) { $0[$1.name] = try transaction.knownFields(of: $1) }
        }
        if local.applied != nil, local.untracked.isEmpty, !local.hasMissingColumns, upstream.follows,
            let chain = CommitChain(upstream.changes.commits, datasets: context.settings.datasets, known: known),
            local.deletedParents.allSatisfy({ chain.isWhole($0) })
        {
            do {
                var incoming: [IncomingDataset] = []
                for schema in context.settings.datasets {
                    guard let step = chain.steps[schema.name] else { continue }
                    incoming.append(try await open(step, of: schema, after: known[schema.name]))
                }
                return try replace(incoming, local, token: newest, warnings: warnings)
            } catch let error as SyncError where error.code == .needsWholeVersion {
                needsWhole = true
            } catch {
                let error = SyncError(error, step: .fetch)
                guard chain.hasChanges, error.code == .dataRefused || error.code == .tryAgainLater else { throw error }
                // A damaged change asset, or rows that do not fit it: the whole version repairs this or gives a better error.
                warnings.append(
                    "the change assets since version \(local.applied?.number ?? 0) were of no use (\(error.place): \(error.reason)); all rows were compared with version \(newest.number)"
                )
            }
        }
        let state = try await context.records(at: newest.number, notBefore: upstream.appliedHere)
        let isDoubtful = needsWhole || warnings.count > noted.count
        do {
            return try await apply(state, local, token: newest, isDoubtful: isDoubtful, warnings: warnings)
        } catch let error as SyncError where error.code == .needsWholeVersion && !isDoubtful {
            return try await apply(state, local, token: newest, isDoubtful: true, warnings: warnings)
        }
    }

    private func open(_ step: CommitChain.Step, of schema: DatasetSchema, after known: DatasetRecord?) async throws -> IncomingDataset {
        switch step {
        case .whole(let record):
            try refuseOtherType(record, schema)
            return try await IncomingDataset(whole: record, of: schema, in: context.cloud, zone: context.zone)
        case .changes(let fields, let files):
            return try await IncomingDataset(fields, steps: files, of: schema, countBefore: known?.recordCount, in: context.cloud, zone: context.zone)
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
        _ state: ZoneState, _ local: ImportBase, token: ChangeToken, isDoubtful: Bool = false, warnings noted: [String]
    ) async throws -> Outcome {
        var incoming: [IncomingDataset] = []
        var warnings = noted, local = local
        for schema in context.settings.datasets {
            guard let record = state.record(schema.recordName) else {
                local.absent.append(schema)
                warnings.append("the zone has no dataset \(schema.name); its table stays as it is")
                continue
            }
            try refuseOtherType(record, schema)
            let isHere =
                !isDoubtful && !local.untracked.union(local.deletedParents).contains(schema.name)
                && local.applied.map { (Int(record.changeTag ?? "") ?? .max) <= $0.number } == true
            if isHere { continue }
            incoming.append(try await IncomingDataset(whole: record, of: schema, in: context.cloud, zone: context.zone))
        }
        // A device whose tables are the zone's has chosen among them.
        if try context.database.read({ try $0.settings.descriptionSource() }) != .zone {
            warnings += state.records.filter { !$0.isOfVersions }.map(\.name).filter { name in !context.settings.datasets.contains { $0.recordName == name } }
                .map { "the record \($0) is of no dataset that this device knows" }
        }
        return try replace(incoming, local, token: token, warnings: warnings)
    }

    private func replace(_ incoming: [IncomingDataset], _ local: ImportBase, token: ChangeToken, warnings noted: [String]) throws -> Outcome {
        let replacement = VersionReplacement(
            context: context, progress: progress, discardsChanges: discardsChanges, willReplace: willReplace, incoming: incoming, local: local, token: token)
        guard let replaced = try SyncError.at(.apply, replacement.run) else { return .changedMeanwhile }
        var warnings = noted + replaced.notices
        for dataset in replaced.datasets where !dataset.unknownFields.isEmpty {
            warnings.append(
                "\(dataset.report.name)\(ImportReport.unknownFields) \(dataset.unknownFields.sorted().joined(separator: ", ")); they were left out (snapsync tables adopt --create takes them over)"
            )
        }
        return .applied(
            ImportReport(
                applied: true, version: token.number, datasets: replaced.datasets.map(\.report), warnings: warnings,
                conflicts: replaced.conflicts.count, conflictReasons: replaced.conflicts.reasons))
    }
}
