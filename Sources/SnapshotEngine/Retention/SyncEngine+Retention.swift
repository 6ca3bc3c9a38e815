import CloudStore
import LocalStore
import SnapshotVersions
import StrictText

/// What a publisher removed by itself after it had published.
public struct RetentionOutcome: Sendable, Encodable {
    /// The versions that went.
    public let removedVersions: [Int]
    /// How many files went.
    public let removedFiles: Int
    /// The size of those in bytes.
    public let bytesFreed: Int

    init(_ report: PruneReport) {
        removedVersions = report.removedVersions
        removedFiles = report.removedFiles.count
        bytesFreed = report.bytesFreed
    }
}

extension RetentionSetting {
    /// The setting of a policy; nil for one that asks for nothing.
    init?(_ policy: RetentionPolicy) {
        guard policy.keepLast != nil || policy.keepWithin != nil else { return nil }
        // Less than a second is no age, and 0 no setting.
        self.init(keepLast: policy.keepLast, keepWithin: policy.keepWithin.map { max(1, Int($0.components.seconds)) })
    }

    var policy: RetentionPolicy { RetentionPolicy(keepLast: keepLast, keepWithin: keepWithin.map { .seconds($0) }) }
}

extension SyncEngine {
    /// Sets which versions this device keeps by itself from now on: after a publish, at most once a day, it removes the others, as
    /// ``prune(_:dryRun:)`` would. nil: none unasked. Publishers only.
    public func setRetention(_ policy: RetentionPolicy?) async throws {
        try await locked {
            let device = try device()
            try await device.checkPublisher(.store, else: "it does not decide what is kept", hint: "say so on a device that publishes")
            try database.write(at: .open) { try $0.settings.setRetention(policy.flatMap { RetentionSetting($0) }) }
        }
    }

    /// After a publish: removes what the settings do not keep, if a day has passed since that was last done.
    ///
    /// What was published stays published: a failure is a warning, and the next day's publish tries again.
    func retaining(_ report: ExportReport) async throws -> ExportReport {
        guard report.published else { return report }
        let now = now()
        let setting = try database.read(at: .read) { transaction -> RetentionSetting? in
            guard let setting = try transaction.settings.operatorSettings().retention else { return nil }
            // A clock that was set back since does not stop it for good.
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

    /// How often, in microseconds: a day.
    private static let retentionInterval: Int64 = 86_400_000_000
}
