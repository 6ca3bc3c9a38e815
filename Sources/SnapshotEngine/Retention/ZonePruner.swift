package import CloudStore
import LocalTables
import SnapshotModel
import SnapshotVersions
package import StrictText
package import SyncRuns

/// What `prune` removed, or with `dryRun` would remove.
package struct PruneReport: Sendable, Encodable {
    package let dryRun: Bool
    /// The oldest kept version, apart from pinned ones; nil in a zone without versions.
    package let oldestKept: Int?
    /// The number of kept versions, including pinned ones.
    package let keptVersions: Int
    package let pinnedVersions: [Int]
    /// The versions that were removed.
    package let removedVersions: [Int]
    /// The files that were removed, as paths below the zone's directory.
    package let removedFiles: [String]
    /// The size of those files in bytes.
    package let bytesFreed: Int
    /// The number of unneeded files that are not old enough to remove.
    package let waitingFiles: Int
    /// The size of those files in bytes.
    package let waitingBytes: Int
    /// The version that was published to name a checkpoint; nil if none was needed.
    package let publishedVersion: Int?
    /// The problems of pinned versions, one sentence each with what to do. Everything else was pruned nevertheless.
    package let problems: [String]
    /// Why no version is removed, for people; nil if one is.
    package let reason: String?
}

extension PruneReport {
    /// The report after all copies beside a database were removed.
    package init(dryRun: Bool, copies: [Int], byteCount: Int) {
        self.init(
            dryRun: dryRun, oldestKept: nil, keptVersions: 0, pinnedVersions: [], removedVersions: copies.sorted(), removedFiles: [], bytesFreed: byteCount,
            waitingFiles: 0, waitingBytes: 0, publishedVersion: nil, problems: [], reason: nil)
    }
}

/// Removes what a policy does not keep: old versions, and files that killed runs left behind.
///
/// The run may end after any step. Commits are removed oldest first and assets after them, so the next run finds and completes what this one
/// began.
package struct ZonePruner: Sendable {
    let cloud: CloudDatabase
    let zone: ZoneID
    let device: String
    /// The zone must have this commit. In a zone that is behind, assets whose commits are missing would look like leftovers of killed runs.
    var token: ChangeToken?
    /// The version that a run of this device was publishing when it ended, if it is unknown whether the zone has it.
    var intended: IntendedVersion?
    let policy: RetentionPolicy
    let now: Instant
    /// Publishes a commit that names this checkpoint and saves the record of the prune. Returns the zone's newest version.
    let announce: @Sendable (_ checkpoint: Int, RetentionRecord) async throws -> Int

    package init(
        cloud: CloudDatabase, zone: ZoneID, device: String, policy: RetentionPolicy, now: Instant,
        announce: @escaping @Sendable (_ checkpoint: Int, RetentionRecord) async throws -> Int
    ) {
        self.cloud = cloud
        self.zone = zone
        self.device = device
        self.policy = policy
        self.now = now
        self.announce = announce
    }

    package func run(dryRun: Bool) async throws -> PruneReport {
        let clocks = dryRun ? [now] : [now, try await cloud.storeClock(in: zone)]
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
            oldest = try await cloud.records(in: zone, at: number, notBefore: nil).records
        }
        let removal = plan.removal(oldest: oldest)
        let pins = facts.pins
        if !dryRun, !removal.files.isEmpty {
            guard try await self.pins() == pins.pins else {
                throw SyncError(
                    .tryAgainLater, step: .store, at: zone.place, "another device pinned or unpinned a version meanwhile; nothing was removed",
                    hint: "run it again")
            }
            try await cloud.remove(removal.files, by: device, in: zone)
        }
        let kept = plan.keptVersions
        return PruneReport(
            dryRun: dryRun, oldestKept: kept.first, keptVersions: Set(kept + pins.readable).count, pinnedVersions: pins.readable,
            removedVersions: plan.removedVersions, removedFiles: removal.files.map(\.path), bytesFreed: removal.files.reduce(0) { $0 + $1.byteCount },
            waitingFiles: removal.waiting.count, waitingBytes: removal.waiting.reduce(0) { $0 + $1.byteCount },
            publishedVersion: published,
            problems: pins.unreadable.map { "\($0.error)" } + pins.withoutCheckpoint.map { "\($0.checkpointIsMissing)" }, reason: plan.reason)
    }

    /// - Parameter mending: whether to place the checkpoint of a pinned version again if it is missing and the commit still exists. The prune may
    ///   be about to remove that commit.
    private func facts(_ clocks: [Instant], mending: Bool) async throws -> RetentionPlan.Facts {
        // Make the listing first: files that are published from now on are not in it and are not removed.
        let files = try await cloud.storedFiles(in: zone)
        let commits = try await cloud.history(in: zone)
        var pins = try await PinnedVersions(pins(), in: cloud, zone)
        if mending, !pins.withoutCheckpoint.isEmpty {
            for pin in pins.withoutCheckpoint { _ = try? await cloud.placeCheckpoint(at: pin.version, in: zone) }
            // A pin whose checkpoint could not be made keeps its commit, and the report names it.
            pins = try await PinnedVersions(pins.pins, in: cloud, zone)
        }
        if let token, commits.last.map({ $0.token.number < token.number }) ?? true {
            throw SyncError(
                .tryAgainLater, step: .fetch, at: zone.place, "version \(token.number), which is here, was not there when the zone was listed",
                hint: "run it again")
        }
        let isThere =
            intended.map { intended in
                commits.contains { intended.attempt(AppliedVersion($0.token)) != nil } || (commits.first?.token.number ?? 1) > intended.version.number
            } ?? true
        return RetentionPlan.Facts(commits: commits, files: files, pins: pins, clocks: clocks, unsettled: isThere ? nil : intended?.version.number)
    }

    private func pins() async throws -> [VersionPin] {
        try await cloud.records(in: zone, at: nil, notBefore: token).pins
    }
}

extension RetentionOutcome {
    init(_ report: PruneReport) {
        self.init(removedVersions: report.removedVersions, removedFiles: report.removedFiles.count, bytesFreed: report.bytesFreed)
    }
}

extension RetentionSetting {
    /// Makes the setting of a policy; nil for a policy without rules.
    init?(_ policy: RetentionPolicy) {
        guard policy.keepLast != nil || policy.keepWithin != nil else { return nil }
        // A setting of 0 means none, so round a shorter age up to one second.
        self.init(keepLast: policy.keepLast, keepWithin: policy.keepWithin.map { max(1, Int($0.components.seconds)) })
    }

    var policy: RetentionPolicy { RetentionPolicy(keepLast: keepLast, keepWithin: keepWithin.map { .seconds($0) }) }
}
