import CloudStore
import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

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
            changes: ZoneChanges(base: [], commits: Array(upstream.changes.commits.dropFirst()), token: upstream.changes.token), fork: nil,
            warnings: ["found version \(first.token.number), which an earlier run had published without noting it"], hasRecovered: true)
    }

    /// Records a commit of this device as the applied version, and its tracked changes as published.
    private func recordPublished(_ commit: Commit, _ intended: IntendedVersion, after applied: AppliedVersion?) throws {
        let saved = commit.saved.compactMap { record -> (DatasetSchema, DatasetRecord)? in
            guard let schema = settings.datasets.first(where: { $0.recordName == record.name }), let fields = DatasetRecord(record) else { return nil }
            return (schema, fields)
        }
        try database.write(at: .apply) { transaction in
            guard try transaction.state.applied() == applied, try transaction.state.intended()?.attempt(intended.version) == intended else {
                throw anotherRun(.apply)
            }
            try transaction.recordPublished(intended.version, saved, after: applied, of: settings.datasets)
            try transaction.decidedEdits.setOfVersion(commit.answered)
            for schema in settings.datasets {
                if let sequence = intended.sequences[schema.name] {
                    // The intended version may come from a table that was rewritten and exported from the log (``RewrittenTable``). Consolidate
                    // its entries first.
                    try transaction.changeLog.consolidate(of: schema, upTo: sequence)
                    try transaction.acknowledgePublished(schema, upTo: sequence, version: intended.version.number, at: now())
                }
                try TombstoneHorizon.take(from: commit, of: schema, in: transaction)
            }
        }
    }
}

extension LocalTransaction {
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
            if AssetPath(fields.dataFile.path)?.number == version.number { try state.setMissingColumns([], of: schema) }
        }
    }

    /// Removes tracked changes that the version contains, and keeps a copy of them in case of a fork.
    ///
    /// - Parameter doubt: what was known of the tracking when the version's rows were read; nil if that is not known any more.
    func acknowledgePublished(
        _ schema: DatasetSchema, upTo sequence: Int64, _ rewritten: RewrittenTable? = nil, settling doubt: TrackingDoubt? = nil, version: Int,
        at clock: Instant
    ) throws {
        guard let rewritten else {
            try publishedChanges.keep(of: schema, upTo: sequence, version: version, at: clock)
            return try changeLog.acknowledge(of: schema, upTo: sequence, settling: doubt)
        }
        try publishedChanges.keep(rewritten, of: schema, version: version, at: clock)
        try changeLog.acknowledge(rewritten, of: schema, settling: doubt)
    }
}
