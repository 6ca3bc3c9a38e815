import CloudStore
import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

extension SyncEngine {
    /// The versions that the zone keeps.
    public var versions: SyncVersions { SyncVersions(engine: self) }
}

/// The versions that the zone keeps: `engine.versions`.
public struct SyncVersions: Sendable {
    package let engine: SyncEngine

    /// Sets which versions this device keeps automatically from now on. After a publish, at most once a day, it removes the others as
    /// ``prune(_:dryRun:)`` does. nil: it removes nothing automatically. For publishers only.
    package func setRetention(_ policy: RetentionPolicy?) async throws {
        try await engine.locked {
            let context = try engine.context()
            try await context.checkPublisher(.store, else: "it does not decide what is kept", hint: "say so on a device that publishes")
            try engine.database.write { try $0.settings.setRetention(policy.flatMap { RetentionSetting($0) }) }
        }
    }

    /// Removes old versions that the policy does not keep. For publishers only.
    ///
    /// - Parameter dryRun: only reports what would be removed. Changes nothing and makes no commit.
    package func prune(_ policy: RetentionPolicy, dryRun: Bool = false) async throws -> PruneReport {
        try await engine.locked { try await engine.prune(policy, by: engine.context(), dryRun: dryRun) }
    }
}

extension SyncEngine {
    /// Removes old versions inside a run that holds the lock.
    func prune(_ policy: RetentionPolicy, by context: SyncContext, dryRun: Bool) async throws -> PruneReport {
        try await context.checkPublisher(.store, else: "it does not decide what is kept", hint: "prune on a device that publishes")
        let (token, intended) = try context.database.read { (try $0.state.applied()?.token, try $0.state.intended()) }
        var pruner = ZonePruner(
            cloud: context.cloud, zone: context.zone, device: context.settings.device, policy: policy, now: now()
        ) { checkpoint, record in
            try await MetadataPublisher(context: context).publish { _ in
                let reference = try await context.cloud.placeCheckpoint(at: checkpoint, in: context.zone)
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
            let outcome = try await prune(setting.policy, by: context(), dryRun: false)
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
