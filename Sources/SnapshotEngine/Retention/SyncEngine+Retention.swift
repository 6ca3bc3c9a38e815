import CloudStore
import LocalStore
import SnapshotVersions
import StrictText

extension RetentionOutcome {
    init(_ report: PruneReport) {
        removedVersions = report.removedVersions
        removedFiles = report.removedFiles.count
        bytesFreed = report.bytesFreed
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
    public func setRetention(_ policy: RetentionPolicy?) async throws {
        try await locked {
            let device = try device()
            try await device.checkPublisher(.store, else: "it does not decide what is kept", hint: "say so on a device that publishes")
            try database.write(at: .open) { try $0.settings.setRetention(policy.flatMap { RetentionSetting($0) }) }
        }
    }

    /// Removes old versions that the policy does not keep. For publishers only.
    ///
    /// - Parameter dryRun: only reports what would be removed. Changes nothing and makes no commit.
    public func prune(_ policy: RetentionPolicy, dryRun: Bool = false) async throws -> PruneReport {
        try await locked { try await prune(policy, by: device(), dryRun: dryRun) }
    }

    /// Does the same inside a run that holds the lock.
    func prune(_ policy: RetentionPolicy, by device: SyncContext, dryRun: Bool) async throws -> PruneReport {
        try await device.checkPublisher(.store, else: "it does not decide what is kept", hint: "prune on a device that publishes")
        let (token, intended) = try device.database.read(at: .read) { (try $0.state.applied()?.token, try $0.state.intended()) }
        let pruner = ZonePruner(
            cloud: device.cloud, zone: device.zone, device: device.settings.device, token: token, intended: intended, policy: policy, now: now()
        ) { checkpoint, record in
            try await MetadataPublisher(device: device).publish { _ in
                let reference = try await device.cloud.at(.store) { try await $0.placeCheckpoint(at: checkpoint, in: device.zone) }
                return MetadataPublisher.Changes(saving: [record.record], checkpoint: reference)
            }.number
        }
        return try await pruner.run(dryRun: dryRun)
    }

    /// After a publish, removes the versions that the settings do not keep, if the last removal was a day ago.
    ///
    /// The publication stands in any case: a failure becomes a warning, and the next day's publish tries again.
    func retaining(_ report: ExportReport) async throws -> ExportReport {
        guard report.published else { return report }
        let now = now()
        let setting = try database.read(at: .read) { transaction -> RetentionSetting? in
            guard let setting = try transaction.settings.operatorSettings().retention else { return nil }
            // A last removal in the future means that the clock was set back. Do not wait for that time.
            if let last = try transaction.state.lastRetention(), last <= now, now.microseconds - last.microseconds < Self.retentionInterval { return nil }
            return setting
        }
        guard let setting else { return report }
        var report = report
        do {
            try database.write(at: .store) { try $0.state.setLastRetention(now) }
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
