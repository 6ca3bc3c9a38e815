package import CloudStore
package import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

/// What a zone has beyond the version that is here: the one look that importing and publishing both begin with.
package struct UpstreamChanges: Sendable {
    /// The version that is here.
    package let applied: AppliedVersion?
    /// What came after it, or after the fork.
    package let changes: ZoneChanges
    /// The last version that this device and the zone have in common, where what is here lost its number to another device's.
    package let fork: AppliedVersion?
    /// What deserves attention, in words.
    let warnings: [String]
    /// Whether the commit of what is here was pruned: then nothing is known of what lies between.
    var isExpired = false

    /// What the new commits say of messages.
    var answers: MailboxAnswers {
        MailboxAnswers(commits: changes.commits.filter { !$0.messages.isEmpty }.map { ($0.token.number, $0.messages) }, isComplete: !isExpired)
    }

    /// Whether the commits go on from the very version that is here, without a gap and without a fork.
    var follows: Bool { fork == nil && (changes.commits.first.map { $0.parent == applied?.hash && $0.token.number == (applied?.number ?? 0) + 1 } ?? false) }

    /// Whether the zone has anything that is not here.
    var isBehind: Bool { changes.token != applied?.token }

    /// The newest commit that another device than `device` made; nil if none of the new ones is another's.
    func newestCommit(notBy device: String) -> Int? { changes.commits.last { $0.device != device }?.token.number }

    /// For how long a publisher keeps what it published where nobody has built on it, in microseconds: 30 days.
    static let retention: Int64 = 30 * 86_400 * 1_000_000
}

extension SyncContext {
    /// Reads what the zone has beyond the version that is here.
    ///
    /// A commit of this device that an earlier run made without noting it is noted now, wherever others have gone on from it:
    /// it is ours if its hash is the intended one.
    ///
    /// - Parameter noting: whether to note such a commit; false for who only looks.
    /// - Throws: ``SyncError`` with `.dataRefused` if the zone was rolled back or is damaged.
    package func fetchUpstreamChanges(noting: Bool = true) async throws -> UpstreamChanges {
        let (applied, intended) = try SyncError.at(.read) { try database.read { (try $0.state.applied(), try $0.state.intended()) } }
        let changes: ZoneChanges
        var isExpired = false
        do {
            changes = try await cloud.changes(since: applied?.token, in: zone)
        } catch let error as CloudError where error.code == .changeTokenExpired {
            changes = try await SyncError.at(.fetch) { try await cloud.changes(since: nil, in: zone) }
            isExpired = true
        } catch let error as CloudError where error.code == .rolledBack || error.code == .damaged {
            return try await ForkFinder(device: self).news(after: error, applied: applied)
        } catch {
            throw SyncError(error, step: .fetch)
        }
        guard noting, settings.role.publishes, let intended, let first = changes.commits.first, first.token == intended.version.token,
            first.token.number == (applied?.number ?? 0) + 1
        else { return UpstreamChanges(applied: applied, changes: changes, fork: nil, warnings: [], isExpired: isExpired) }
        try settle(first, intended, after: applied)
        return UpstreamChanges(
            applied: intended.version, changes: ZoneChanges(base: [], commits: Array(changes.commits.dropFirst()), token: changes.token), fork: nil,
            warnings: ["found version \(first.token.number), which an earlier run had published without noting it"])
    }

    /// Notes a commit of this device as the version that is here, with the tracked changes that it has.
    private func settle(_ commit: Commit, _ intended: IntendedVersion, after applied: AppliedVersion?) throws {
        let saved = commit.saved.compactMap { record -> (DatasetSchema, DatasetRecord)? in
            guard let schema = settings.datasets.first(where: { $0.recordName == record.name }), let fields = DatasetRecord(record) else { return nil }
            return (schema, fields)
        }
        try SyncError.at(.apply) {
            try database.write { transaction in
                guard try transaction.state.applied() == applied, try transaction.state.intended() == intended else { throw anotherRun(.apply) }
                try transaction.record(intended.version, saved, after: applied, of: settings.datasets)
                try transaction.inbox.recordAnswers(applied: commit.messages.applied, refused: commit.messages.refused, in: commit.token.number, at: now())
                for schema in settings.datasets {
                    if let sequence = intended.sequences[schema.name] {
                        try transaction.settle(schema, upTo: sequence, version: intended.version.number, at: now())
                    }
                    try TombstoneHorizon.take(from: commit, of: schema, in: transaction)
                }
            }
        }
    }

    /// The error where another run on this database has moved it on since it was read.
    func anotherRun(_ step: SyncStep) -> SyncError {
        SyncError(.tryAgainLater, step: step, at: database.path, "another run changed the database meanwhile", hint: "run the same command again")
    }
}

extension LocalTransaction {
    /// Notes a version of this device's own that is now both here and in the cloud, and that no commit is under way.
    func record(_ version: AppliedVersion, _ saved: [(DatasetSchema, DatasetRecord)], after before: AppliedVersion?, of schemas: [DatasetSchema]) throws {
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
    func settle(_ schema: DatasetSchema, upTo sequence: Int64, version: Int, at clock: Instant) throws {
        try publishedChanges.keep(of: schema, upTo: sequence, version: version, at: clock)
        try changeLog.acknowledge(of: schema, upTo: sequence)
    }
}
