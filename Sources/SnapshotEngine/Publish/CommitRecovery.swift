import CloudStore
import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

extension SyncContext {
    /// Reads what the zone has beyond the version that is here, once a commit that an earlier run published and did not record is recorded.
    ///
    /// If a run ends between publishing and recording its commit, the next run recovers here. The commit is ours if its hash is an
    /// intended one, of the last run or of an earlier one whose request came late; others may have gone on from it.
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

    /// Records a commit of this device as the version that is here, with the tracked changes that it has.
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
            try transaction.inbox.recordAnswers(applied: commit.messages.applied, refused: commit.messages.refused, in: commit.token.number, at: now())
            for schema in settings.datasets {
                if let sequence = intended.sequences[schema.name] {
                    // A table that was written whole is published from the log (``RewrittenTable``).
                    try transaction.changeLog.consolidate(of: schema, upTo: sequence)
                    try transaction.acknowledgePublished(schema, upTo: sequence, version: intended.version.number, at: now())
                }
                try TombstoneHorizon.take(from: commit, of: schema, in: transaction)
            }
        }
    }
}

extension LocalTransaction {
    /// Records a version of this device's own that is now both here and in the cloud, and that no commit is under way.
    func recordPublished(_ version: AppliedVersion, _ saved: [(DatasetSchema, DatasetRecord)], after before: AppliedVersion?, of schemas: [DatasetSchema])
        throws
    {
        try keepFields(Dictionary(uniqueKeysWithValues: saved.map { ($0.name, $1) }), of: schemas, before: before, now: version)
        try state.setApplied(version)
        try state.setIntended(nil)
        for (schema, fields) in saved {
            try datasetStates.set(DatasetState(name: schema.name, syncTimestamp: fields.syncTimestamp, recordCount: fields.recordCount, unknownFields: []))
            // A snapshot asset of this version describes all that is described here.
            if AssetPath(fields.dataFile.path)?.number == version.number { try state.setMissingColumns([], of: schema) }
        }
    }

    /// Makes tracked changes part of the version that has them, and keeps them for the case of a fork.
    func acknowledgePublished(
        _ schema: DatasetSchema, upTo sequence: Int64, _ rewritten: RewrittenTable? = nil, version: Int, at clock: Instant
    ) throws {
        guard let rewritten else {
            try publishedChanges.keep(of: schema, upTo: sequence, version: version, at: clock)
            return try changeLog.acknowledge(of: schema, upTo: sequence)
        }
        try publishedChanges.keep(rewritten, of: schema, version: version, at: clock)
        try changeLog.acknowledge(rewritten, of: schema)
    }
}
