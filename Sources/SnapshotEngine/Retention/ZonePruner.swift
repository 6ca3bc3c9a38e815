package import CloudStore
package import LocalStore
import SnapshotModel
import SnapshotVersions
package import StrictText

/// What `prune` did, or with `dryRun` would do.
public struct PruneReport: Sendable, Encodable {
    public let dryRun: Bool
    /// The oldest version that is kept besides the pinned ones; nil in a zone without any.
    public let oldestKept: Int?
    /// How many versions are kept, the pinned ones among them.
    public let keptVersions: Int
    public let pinnedVersions: [Int]
    /// The versions that went.
    public let removedVersions: [Int]
    /// The files that went, beneath the zone's directory.
    public let removedFiles: [String]
    /// The size of those files in bytes.
    public let bytesFreed: Int
    /// Files that nothing needs any longer but that are not old enough to go.
    public let waitingFiles: Int
    /// The size of those in bytes.
    public let waitingBytes: Int
    /// How many answered messages went that their authors had left in the mailbox.
    public let removedMessages: Int
    /// The version that was published to make a checkpoint count; nil if none was needed.
    public let publishedVersion: Int?
    /// What is wrong with pinned versions, each in one sentence with what to do; the rest was pruned all the same.
    public let problems: [String]
    /// Why no version goes, in words; nil if one does.
    public let reason: String?
}

extension PruneReport {
    /// A report of copies beside a database that went all together.
    package init(dryRun: Bool, copies: [Int], byteCount: Int) {
        self.init(
            dryRun: dryRun, oldestKept: nil, keptVersions: 0, pinnedVersions: [], removedVersions: copies.sorted(), removedFiles: [], bytesFreed: byteCount,
            waitingFiles: 0, waitingBytes: 0, removedMessages: 0, publishedVersion: nil, problems: [], reason: nil)
    }
}

/// Removes what a policy lets go: old versions, and what killed runs left.
///
/// Each step can be the last: commits go oldest first and assets after them, so the next run finds and ends what this one began.
package struct ZonePruner: Sendable {
    let cloud: any CloudDatabase
    let zone: ZoneID
    let device: String
    /// What the zone must not be behind: what lacks its commit only because that has not come back would go as what a killed run left.
    let token: ChangeToken?
    /// The version that a run of this device was about to publish when it ended, if the zone is not known to have it.
    let intended: IntendedVersion?
    let policy: RetentionPolicy
    let now: Instant
    /// Messages that were answered so long ago that their authors should have removed them.
    let answered: Set<String>
    /// Makes a commit that names this checkpoint, with a record that says what goes; returns the zone's newest version then.
    let announce: @Sendable (_ checkpoint: Int, RetentionRecord) async throws -> Int

    package init(
        cloud: any CloudDatabase, zone: ZoneID, device: String, token: ChangeToken?, intended: IntendedVersion?, policy: RetentionPolicy,
        now: Instant, answered: Set<String>, announce: @escaping @Sendable (_ checkpoint: Int, RetentionRecord) async throws -> Int
    ) {
        self.cloud = cloud
        self.zone = zone
        self.device = device
        self.token = token
        self.intended = intended
        self.policy = policy
        self.now = now
        self.answered = answered
        self.announce = announce
    }

    package func run(dryRun: Bool) async throws -> PruneReport {
        let clocks = dryRun ? [now] : [now, try await cloud.at(.store).storeClock(in: zone)]
        var facts = try await facts(clocks, mending: !dryRun)
        var plan = RetentionPlan(facts, policy)
        var published: Int?
        if let checkpoint = plan.neededCheckpoint, !dryRun {
            published = try await announce(checkpoint, RetentionRecord(oldestKept: plan.oldestWanted, at: now))
            facts = try await self.facts(clocks, mending: true)
            plan = RetentionPlan(facts, policy)
        }
        var oldest: [CloudRecord] = []
        if let number = plan.keptVersions.first {
            oldest = try await cloud.at(.fetch).records(in: zone, at: number, notBefore: nil).records
        }
        let removal = plan.removal(oldest: oldest)
        let pins = facts.pins
        if !dryRun, !removal.files.isEmpty {
            guard try await self.pins() == pins.pins else {
                throw SyncError(
                    .tryAgainLater, step: .store, at: "zone \(zone)", "another device pinned or unpinned a version meanwhile; nothing was removed",
                    hint: "run it again")
            }
            try await cloud.at(.store).remove(removal.files, by: device, in: zone)
        }
        let messages = try await leftMessages()
        if !dryRun { for message in messages { try await cloud.at(.store).removeMessage(message, in: zone) } }
        let kept = plan.keptVersions
        return PruneReport(
            dryRun: dryRun, oldestKept: kept.first, keptVersions: Set(kept + pins.readable).count, pinnedVersions: pins.readable,
            removedVersions: plan.removedVersions, removedFiles: removal.files.map(\.path), bytesFreed: removal.files.reduce(0) { $0 + $1.byteCount },
            waitingFiles: removal.waiting.count, waitingBytes: removal.waiting.reduce(0) { $0 + $1.byteCount }, removedMessages: messages.count,
            publishedVersion: published,
            problems: pins.unreadable.map { "\($0.error)" } + pins.withoutCheckpoint.map { "\($0.checkpointIsMissing)" }, reason: plan.reason)
    }

    /// - Parameter mending: whether to put the checkpoint of a pinned version in place again where its commit is still there: the commit may be about
    ///   to go.
    private func facts(_ clocks: [Instant], mending: Bool) async throws -> RetentionPlan.Facts {
        // The listing first: what is published while this looks is in no listing and goes nowhere.
        let files = try await cloud.at(.fetch).storedFiles(in: zone)
        let commits = try await cloud.at(.fetch).history(in: zone)
        var pins = try await PinnedVersions(pins(), in: cloud, zone)
        if mending, !pins.withoutCheckpoint.isEmpty {
            for pin in pins.withoutCheckpoint { try? await SyncError.at(.store) { _ = try await cloud.placeCheckpoint(at: pin.version, in: zone) } }
            // One that could not be made keeps its commit, and is told.
            pins = try await PinnedVersions(pins.pins, in: cloud, zone)
        }
        if let token, commits.last.map({ $0.token.number < token.number }) ?? true {
            throw SyncError(
                .tryAgainLater, step: .fetch, at: "zone \(zone)", "version \(token.number), which is here, was not there when the zone was listed",
                hint: "run it again")
        }
        let isThere =
            intended.map { intended in
                commits.contains { intended.attempt(AppliedVersion($0.token)) != nil } || (commits.first?.token.number ?? 1) > intended.version.number
            } ?? true
        return RetentionPlan.Facts(commits: commits, files: files, pins: pins, clocks: clocks, unsettled: isThere ? nil : intended?.version.number)
    }

    /// Answered messages that lie in the mailbox still: their author is gone for good, or a sync tool has brought them back.
    private func leftMessages() async throws -> [CloudMessageName] {
        guard !answered.isEmpty else { return [] }
        return try await cloud.at(.fetch).mailbox(MailboxRequest(known: answered, limit: 0), in: zone).known
    }

    private func pins() async throws -> [VersionPin] {
        try await cloud.at(.fetch).records(in: zone, at: nil, notBefore: token).pins
    }
}

extension SyncEngine {
    /// Removes old versions that the policy does not keep. Publishers only.
    ///
    /// - Parameter dryRun: only says what would go; changes nothing, and no commit is made.
    public func prune(_ policy: RetentionPolicy, dryRun: Bool = false) async throws -> PruneReport {
        try await locked { try await prune(policy, by: device(), dryRun: dryRun) }
    }

    /// The same inside a run that holds the lock.
    func prune(_ policy: RetentionPolicy, by device: SyncContext, dryRun: Bool) async throws -> PruneReport {
        try await device.checkPublisher(.store, else: "it does not decide what is kept", hint: "prune on a device that publishes")
        let now = now(), horizon = now.advanced(byMicroseconds: -policy.grace.microseconds)
        let (token, intended, answered) = try device.database.read(at: .read) {
            (try $0.state.applied()?.token, try $0.state.intended(), try $0.inbox.answered(before: horizon))
        }
        let pruner = ZonePruner(
            cloud: device.cloud, zone: device.zone, device: device.settings.device, token: token, intended: intended, policy: policy, now: now,
            answered: answered
        ) { checkpoint, record in
            try await MetadataPublisher(device: device).publish { _ in
                let reference = try await device.cloud.at(.store).placeCheckpoint(at: checkpoint, in: device.zone)
                return MetadataPublisher.Changes(saving: [record.record], checkpoint: reference)
            }.number
        }
        return try await pruner.run(dryRun: dryRun)
    }
}
