package import CloudStore
package import LocalTables
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

extension SyncEngine {
    /// Sets which versions this device keeps automatically from now on. After a publish, at most once a day, it removes the others as
    /// ``prune(_:dryRun:)`` does. nil: it removes nothing automatically. For publishers only.
    package func setRetention(_ policy: RetentionPolicy?) async throws {
        try await locked {
            let device = try device()
            try await device.checkPublisher(.store, else: "it does not decide what is kept", hint: "say so on a device that publishes")
            try database.write { try $0.settings.setRetention(policy.flatMap { RetentionSetting($0) }) }
        }
    }

    /// Removes old versions that the policy does not keep. For publishers only.
    ///
    /// - Parameter dryRun: only reports what would be removed. Changes nothing and makes no commit.
    package func prune(_ policy: RetentionPolicy, dryRun: Bool = false) async throws -> PruneReport {
        try await locked { try await prune(policy, by: device(), dryRun: dryRun) }
    }

    /// Does the same inside a run that holds the lock.
    func prune(_ policy: RetentionPolicy, by device: SyncContext, dryRun: Bool) async throws -> PruneReport {
        try await device.checkPublisher(.store, else: "it does not decide what is kept", hint: "prune on a device that publishes")
        let (token, intended) = try device.database.read { (try $0.state.applied()?.token, try $0.state.intended()) }
        var pruner = ZonePruner(
            cloud: device.cloud, zone: device.zone, device: device.settings.device, policy: policy, now: now()
        ) { checkpoint, record in
            try await MetadataPublisher(device: device).publish { _ in
                let reference = try await device.cloud.placeCheckpoint(at: checkpoint, in: device.zone)
                return MetadataPublisher.Changes(saving: [record.record], checkpoint: reference)
            }.number
        }
        (pruner.token, pruner.intended) = (token, intended)
        return try await pruner.run(dryRun: dryRun)
    }

    /// After a publish, removes the versions that the settings do not keep, if the last removal was a day ago.
    ///
    /// The publication stands in any case: a failure becomes a warning, and the next day's publish tries again.
    func retaining(_ report: ExportReport) async throws -> ExportReport {
        guard report.published else { return report }
        let now = now()
        let setting = try database.read { transaction -> RetentionSetting? in
            guard let setting = try transaction.settings.operatorSettings().retention else { return nil }
            // A last removal in the future means that the clock was set back. Do not wait for that time.
            if let last = try transaction.state.lastRetention(), last <= now, now.microseconds - last.microseconds < Self.retentionInterval { return nil }
            return setting
        }
        guard let setting else { return report }
        var report = report
        do {
            try database.write { try $0.state.lastRetention.set(now) }
            let outcome = try await prune(setting.policy, by: device(), dryRun: false)
            report.warnings += outcome.problems
            if !outcome.removedVersions.isEmpty || !outcome.removedFiles.isEmpty { report.pruned = RetentionOutcome(outcome) }
        } catch {
            let error = SyncError(error, step: .store)
            report.warnings.append("old versions were not removed: \(error.place): \(error.reason); snapsync prune says more")
        }
        return report
    }

    /// The time between automatic removals, in microseconds: a day.
    private static let retentionInterval: Int64 = 86_400_000_000
}
