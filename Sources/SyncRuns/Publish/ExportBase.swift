import CloudStore
import LocalStore
import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText

/// The version that an export builds on, and what the database has beyond it.
struct ExportBase: Sendable {
    /// The applied version, which is the zone's newest; nil before the first version.
    let token: ChangeToken?
    /// The version's records, by dataset name.
    let last: [String: DatasetRecord]
    /// The descriptions of tables that the commit must publish.
    let descriptions: PendingDescriptions
    /// The datasets that another device has removed from the zone. They are not published again.
    let takenOut: Set<ExactText>
    var warnings: [String]

    /// Reads the version `token`, and finds the descriptions and datasets that differ from it in this database.
    ///
    /// - Parameters:
    ///   - isOneOfMany: whether other devices publish in the zone as well.
    ///   - warnings: the warnings so far.
    init(_ context: SyncContext, after token: ChangeToken?, isOneOfMany: Bool, _ warnings: [String]) async throws {
        self.token = token
        let out = isOneOfMany ? try context.database.read { try $0.state.takenOut() } : []
        takenOut = out
        let published = context.settings.datasets.filter { !out.contains($0.name.exact) }
        last = try await Self.records(of: published, context, token)
        descriptions = try await PendingDescriptions.find(context, of: published, after: token, last)
        let file = context.database.path.shellWord
        self.warnings =
            warnings
            + context.settings.datasets.filter { out.contains($0.name.exact) }.map {
                "another device has taken the dataset \($0.name) out of the zone; its rows stay here and are not published (to put it back: snapsync tables add \(file) \($0.table.shellWord); to stop syncing it here, too: snapsync tables remove \(file) \($0.name))"
            }
    }

    /// Returns the version's records of the datasets from the database, or from the zone if the database does not have all of them.
    private static func records(of schemas: [DatasetSchema], _ context: SyncContext, _ token: ChangeToken?) async throws -> [String: DatasetRecord] {
        let known = try context.database.read { transaction in try schemas.map { try transaction.knownFields(of: $0) } }
        if token != nil, known.allSatisfy({ $0 != nil }) {
            return Dictionary(uniqueKeysWithValues: zip(schemas, known).compactMap { schema, fields in fields.map { (schema.name, $0) } })
        }
        let state = try await context.records(at: token?.number, notBefore: token.map { AppliedVersion($0) })
        return Dictionary(
            uniqueKeysWithValues: schemas.compactMap { schema in state.record(schema.recordName).flatMap(DatasetRecord.init).map { (schema.name, $0) } })
    }

    /// Whether there is no change, no decision and no description to publish.
    func hasNothing(toPublishBy context: SyncContext) throws -> Bool {
        guard descriptions.isEmpty else { return false }
        return try context.database.read { transaction in
            try transaction.decidedEdits.unpublished().isEmpty
                && context.settings.datasets.allSatisfy { try takenOut.contains($0.name.exact) || isUntouched($0, in: transaction) }
        }
    }

    /// Whether no row of the dataset was written since the version. If so, no row needs to be read.
    func isUntouched(_ schema: DatasetSchema, in transaction: LocalTransaction) throws -> Bool {
        guard try last[schema.name] != nil && transaction.changeLog.isComplete(of: schema) && !transaction.changeLog.isTouched(schema) else { return false }
        if try transaction.waiting.hasAny(), try !transaction.waiting.rows(of: schema).isEmpty { return false }
        // If columns are missing, the version has other columns than the table.
        return try transaction.state.missingColumns(of: schema).isEmpty
    }

    /// Returns the timestamp of the next version. It is later than this version's, and not before any published instant, whatever the clock says.
    func timestamp(_ clock: Instant, notBefore latest: Instant?) -> Instant {
        let now = max(clock, latest ?? .distantPast)
        return last.values.map(\.syncTimestamp).max().map { max(now, $0.advanced(byMicroseconds: 1000)) } ?? now
    }
}

extension SyncContext {
    /// Shows held rows that fit by now, in a run that imports nothing. A publisher's next version holds the others. Returns sentences for the run's
    /// report.
    func showHeldRows() throws -> [String] {
        let datasets = settings.datasets, publishes = settings.role.publishes
        guard try database.read({ transaction in try transaction.waiting.hasAny() || datasets.contains { try transaction.held.count(of: $0) > 0 } }) else {
            return []
        }
        return try database.withoutRollbacks {
            let ledger = ImportLedger(database: database.path, settings: settings, now: now())
            let notices = try database.write { transaction in
                try transaction.changeLog.consolidate(of: datasets)
                guard let own = try OwnEdits(transaction, of: datasets, .json, isNeeded: publishes && transaction.hasFittingRow(of: datasets)) else {
                    return [String]()
                }
                try ledger.recordOverwritten(own.overwritten, of: datasets, in: transaction)
                let keeper = try ForeignKeyEnforcer(transaction, datasets: datasets, takesVersion: true)
                try transaction.tracking.importing(datasets, then: keeper.enforce) {
                    let outcome = try Rebase(
                        transaction, datasets: datasets, state: TableVersion(transaction, of: datasets, .json, own: nil), edits: own,
                        horizons: datasets.map { _ in .distantPast }, marksOrphans: publishes, showsHeld: publishes || own.hasEdits()
                    ).run()
                    try own.settle(outcome, publishes: publishes)
                    for place in outcome.released { ledger.record(place, of: datasets, ImportLedger.isShown) }
                    try own.end()
                }
                for schema in datasets where publishes {
                    for row in try transaction.held.overwritten(of: schema) {
                        let instants = try transaction.tombstonesAndInstants.instants(of: row.key, in: schema)
                        try ledger.recordOverwritten(row.key, row.entity, at: instants.latest(own: nil), of: schema, by: nil, in: transaction)
                        try transaction.held.remove(row.key, of: schema)
                    }
                    try transaction.waiting.stage(schema)
                }
                return transaction.triggerNotices
            }
            return ledger.sentences + notices
        }
    }
}

extension SyncContext {
    /// Reads the zone's commits after the applied version. If the first of them is a commit that an earlier run of this device published but did
    /// not record, it is recorded first.
    ///
    /// If a run ends between publishing and recording its commit, the next run recovers here. The commit is ours if its hash is an intended one:
    /// of the last run, or of an earlier run whose request arrived late. Other devices may have published after it.
    ///
    /// - Throws: ``SyncError`` with `.dataRefused` if the zone was rolled back or is damaged.
    package func recoverAndFetchUpstreamChanges() async throws -> UpstreamChanges {
        let upstream = try await fetchUpstreamChanges()
        try noteFreshness(upstream.changes)
        guard settings.role.publishes, let first = upstream.changes.commits.first, let intended = upstream.intended?.attempt(AppliedVersion(first.token)),
            first.token.number == (upstream.applied?.number ?? 0) + 1
        else { return upstream }
        try recordPublished(first, intended, after: upstream.applied)
        return UpstreamChanges(
            applied: intended.version,
            changes: ZoneChanges(base: [], commits: Array(upstream.changes.commits.dropFirst()), token: upstream.changes.token),
            warnings: ["found version \(first.token.number), which an earlier run had published without noting it"], hasRecovered: true)
    }

    /// Records a commit of this device as the applied version, and its tracked changes as published.
    private func recordPublished(_ commit: Commit, _ intended: IntendedVersion, after applied: AppliedVersion?) throws {
        let saved = commit.saved.compactMap { record -> (DatasetSchema, DatasetRecord)? in
            guard let schema = settings.datasets.first(where: { $0.recordName == record.name }), let fields = DatasetRecord(record) else { return nil }
            return (schema, fields)
        }
        try database.write { transaction in
            guard try transaction.state.applied() == applied, try transaction.state.intended()?.attempt(intended.version) == intended else {
                throw anotherRun(.apply)
            }
            try transaction.recordPublished(intended.version, saved, after: applied, of: settings.datasets)
            try transaction.decidedEdits.setOfVersion(commit.answered)
            try transaction.state.removedRecords.set(transaction.state.removedRecords().filter { !commit.deleted.contains($0) })
            for schema in settings.datasets {
                if let sequence = intended.sequences[schema.name] { try transaction.changeLog.acknowledge(of: schema, upTo: sequence) }
                try TombstoneHorizon.adopt(from: commit, of: schema, in: transaction)
            }
        }
    }
}

extension LocalTransaction {
    /// Whether a held row fits by now, because a table has fewer constraints than before.
    fileprivate func hasFittingRow(of datasets: [DatasetSchema]) throws -> Bool {
        let obstacles = try datasets.map { try held.obstacles(in: $0) }
        let rows = try TableVersion(self, of: datasets, .json, own: nil, hasChanges: true).heldRows()
        return try rows.contains { try obstacles[$0.place.dataset]($0.row.values).isEmpty }
    }

    /// Records a version of this device that is now both local and in the cloud. No commit is under way afterwards.
    func recordPublished(_ version: AppliedVersion, _ saved: [(DatasetSchema, DatasetRecord)], after before: AppliedVersion?, of schemas: [DatasetSchema])
        throws
    {
        try keepFields(Dictionary(uniqueKeysWithValues: saved.map { ($0.name, $1) }), of: schemas, before: before, now: version)
        try state.setApplied(version)
        try state.setIntended(nil)
        for (schema, fields) in saved {
            try datasetStates.set(DatasetState(name: schema.name, syncTimestamp: fields.syncTimestamp, recordCount: fields.recordCount, unknownFields: []))
            // A snapshot asset of this version has every column of the description.
            if AssetPath(fields.dataFile.path)?.number == version.number { try state.missingColumns.set([], of: schema) }
        }
    }
}

extension SyncContext {
    /// Returns the records that a zone's first version has besides its datasets: the freshness promise from `init`, and from the zone that it
    /// continues the key ranges of devices.
    func recordsOfFirstVersion(after token: ChangeToken?) async throws -> [CloudRecord] {
        guard token == nil else { return [] }
        let (last, note) = try database.read { (try $0.state.earlierZones().last, try $0.state.freshness()) }
        let promise = signedZone == nil ? [] : [note.map { FreshnessRecord(interval: $0.interval).record }].compactMap(\.self)
        guard let earlier = last, earlier.madeNext, let version = earlier.version else { return promise }
        let state = try await cloud.records(in: ZoneID(earlier.zone, scope: zone.scope), at: version.number)
        return promise + (state.record(KeyRangeRecord.recordName) == nil ? [] : [try KeyRangeRecord(state).record])
    }
}
