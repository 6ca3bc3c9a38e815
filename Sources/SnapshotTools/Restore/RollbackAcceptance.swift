import CloudStore
import Foundation
import LocalStore
public import SnapshotEngine
import SnapshotModel
import SnapshotVersions
import StrictText

/// The result of accepting an older state of the zone.
public struct RollbackReport: Sendable, Encodable {
    /// What was imported.
    public let imported: ImportReport
    /// The version that was applied before, which the zone no longer has.
    public let versionBefore: Int
    /// The number of the backup of the previous data; ``SyncEngine/undo(progress:)`` restores it.
    public let keptCopy: Int
}

/// Imports the newest version of a zone that was reset to an older state, after the user has confirmed that this is intended.
///
/// The database's previous data is kept as a backup beside it. Changes that no version contains yet stay tracked. Data that only the missing
/// versions contained is removed.
struct RollbackAcceptance: Sendable {
    let device: SyncContext
    let progress: ProgressHandler?

    func run(_ number: Int) async throws -> RollbackReport {
        let applied = try await verifyRolledBack()
        let state = try await device.cloud.at(.fetch) { try await $0.records(in: device.zone) }
        guard let newest = state.token else {
            throw SyncError(
                .nothingThere, step: .fetch, at: "zone \(device.zone)", "it has no version at all, so there is none to accept",
                hint: "bring the directory back from a copy, or start anew: snapsync detach, then init")
        }
        guard newest.number == number else {
            throw SyncError(
                .refused, step: .fetch, at: "zone \(device.zone)", "its newest version is \(newest.number), not \(number); nothing was changed",
                hint:
                    "look at it with: snapsync history --cloud \(device.settings.cloud.shellWord); if it is the one that is meant, say --accept-rollback \(newest.number)"
            ).asSlip
        }
        let common = try await lastInCommon()
        let copy = try await LocalBackups(device: device).make(reason: "before version \(number) of a zone that was put back was accepted")
        let report = try await device.cloud.at(.fetch) { try await $0.deviceReport(of: device.settings.device, in: device.zone) }
        let point = UndoPoint(act: "acceptance of version \(number)", at: device.now(), copy: copy.number, version: nil)
        let kept = UndoRecorder.Kept(point: point, applied: applied, sequence: copy.sequence, pin: nil)

        var importRun = ImportRun(device: device, progress: progress)
        importRun.willReplace = { transaction in
            try kept.verify(transaction)
            try kept.record(transaction)
            try transaction.forgetVersions(after: common)
            for schema in device.settings.datasets {
                try transaction.state.knownRecord.set(nil, of: schema)
                // A dataset that the version does not have keeps its rows. They are all new to the zone, so the next export compares all rows.
                try transaction.tracking.setIncomplete(of: schema)
            }
            // This device's report in the cloud may be outdated like everything else there, but it is still ours and no sign of a clone.
            if let nonce = report?.nonce { try transaction.state.reportNonces.set(ReportNonces(seen: nonce, next: UUID().uuidString.lowercased())) }
        }
        let imported = try await importRun.importPutBack(state)
        var reporting = device
        reporting.reportSeen = report?.nonce
        await reporting.report(newest)
        return RollbackReport(imported: imported, versionBefore: applied.number, keptCopy: copy.number)
    }

    /// Checks that the zone no longer has the applied version, and that this is no fork, which a sync would resolve.
    private func verifyRolledBack() async throws -> AppliedVersion {
        func refuse(_ reason: String) -> SyncError {
            SyncError(
                .refused, step: .fetch, at: "zone \(device.zone)", "\(reason), so there is nothing to accept",
                hint: "run: snapsync sync --db \(device.database.path.shellWord)"
            ).asSlip
        }
        guard let applied = try device.database.read(at: .read, { try $0.state.applied() }) else {
            throw refuse("no version of it is here yet")
        }
        do {
            _ = try await device.cloud.changes(since: applied.token, in: device.zone)
        } catch let error as CloudError where error.code == .rolledBack {
            guard try await isHealable() else { return applied }
            throw refuse("two devices have published one version, and the zone goes on")
        } catch let error as CloudError where error.code == .changeTokenExpired {
            throw refuse("its older versions were pruned")
        } catch {
            throw SyncError(error, step: .fetch)
        }
        throw refuse("it has version \(applied.number), which is here")
    }

    /// The newest version of this database's history that the zone still has; 0 if there is none.
    private func lastInCommon() async throws -> Int {
        let kept = Set(try await device.cloud.at(.fetch) { try await $0.history(in: device.zone) }.map(\.token))
        return try device.database.read(at: .read) { try $0.lineage.versions() }.first { kept.contains($0.token) }?.number ?? 0
    }

    private func isHealable() async throws -> Bool {
        do {
            return try await device.fetchUpstreamChanges().fork != nil
        } catch let error as SyncError where error.code == .dataRefused {
            return false
        }
    }
}

extension SyncEngine {
    /// Imports version `number`, the newest of a zone that was reset to an older state on purpose.
    ///
    /// The previous data is kept as a backup, which ``undo(progress:)`` restores. Changes that no version contains yet stay tracked.
    ///
    /// - Throws: ``SyncError`` with `.refused` if `number` is not the zone's newest version, or if the zone was not reset.
    public func acceptRollback(to number: Int, progress: ProgressHandler? = nil) async throws -> RollbackReport {
        try await run { try await RollbackAcceptance(device: device(), progress: progress).run(number) }
    }
}
