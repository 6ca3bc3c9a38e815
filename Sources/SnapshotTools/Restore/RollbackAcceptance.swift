import CloudStore
import Foundation
import LocalStore
import LocalTables
public import SnapshotEngine
import SnapshotHistory
import SnapshotModel
import SnapshotVersions
import StrictText
public import SyncRuns

/// The result of accepting an older state of the zone.
public struct RollbackReport: Sendable, Encodable {
    /// What was imported.
    public let imported: ImportReport
    /// The version that was applied before, which the zone no longer has.
    public let versionBefore: Int
    /// The number of the backup of the previous data; ``SyncVersions/undo(progress:)`` restores it.
    public let keptCopy: Int
}

/// Imports the newest version of a zone that no longer has the applied one, after the user has confirmed that this is intended: the zone was
/// reset to an older state, or another device's version has the number.
///
/// The database's previous data is kept as a backup beside it. Changes that no version contains yet stay tracked. Data that only the missing
/// versions contained is removed.
struct RollbackAcceptance: Sendable {
    let context: SyncContext
    let progress: ProgressHandler?

    func run(_ number: Int) async throws -> RollbackReport {
        let applied = try await verifyRolledBack(), signed = context.signedZone
        let before = try members()
        // What is read here is not kept, because the number is not confirmed yet.
        signed?.authority.forgetList()
        guard let newest = try await records(in: signed?.cloud ?? context.cloud).token else {
            throw SyncError(
                .nothingThere, step: .fetch, at: context.zone.place, "it has no version at all, so there is none to accept",
                hint: "bring the directory back from a copy, or start anew: snapsync detach, then init")
        }
        guard newest.number == number else {
            throw SyncError(
                .refused, step: .fetch, at: context.zone.place, "its newest version is \(newest.number), not \(number); nothing was changed",
                hint:
                    "look at it with: snapsync log \(context.settings.cloud.shellWord); if it is the one that is meant, say --accept-rollback \(newest.number)"
            ).asSlip
        }
        let state = try await records(in: context.cloud)
        let copy = try await LocalBackups(context: context).make(reason: "before version \(number) of a zone that was put back was accepted")
        let report = try await context.cloud.deviceReport(of: context.settings.device, in: context.zone)
        let point = UndoPoint(act: "acceptance of version \(number)", at: context.now(), copy: copy.number, version: nil)
        let kept = UndoRecorder.Kept(point: point, applied: applied, sequence: copy.sequence, pin: nil)

        var importRun = ImportRun(context: context, progress: progress)
        importRun.willReplace = { transaction in
            try kept.verify(transaction)
            try kept.record(transaction)
            try forgetVersions(transaction)
            for schema in context.settings.datasets {
                try transaction.state.knownRecord.set(nil, of: schema)
                // No version that stands need have the rows that the missing one held.
                if context.settings.role.publishes { try transaction.waiting.adopt(heldOf: schema, .json) }
                // A dataset that the version does not have keeps its rows. They are all new to the zone, so the next export compares all rows.
                try transaction.tracking.setIncomplete(of: schema)
            }
            // This device's report in the cloud may be outdated like everything else there, but it is still ours and no sign of a clone.
            if let nonce = report?.nonce { try transaction.state.reportNonces.set(ReportNonces(seen: nonce, next: UUID().uuidString.lowercased())) }
        }
        let imported = try await importRun.importPutBack(state)
        var reporting = context
        reporting.reportSeen = report?.nonce
        await reporting.report(newest)
        let warned = try members().filter { !before.contains($0) }.reduce(imported) {
            $0.warning(
                "\($1.device) is a member with the role \($1.role.rawValue) again; if that is wrong: snapsync zone revoke \(context.database.path.shellWord) \($1.device)"
            )
        }
        return RollbackReport(imported: warned, versionBefore: applied.number, keptCopy: copy.number)
    }

    /// The members of a signed zone, as this device knows them.
    private func members() throws -> [ZoneMember] {
        guard let signed = context.signedZone else { return [] }
        return try signed.authority.current(of: signed.history)?.members ?? []
    }

    /// Deletes the records about versions that the zone does not have.
    ///
    /// An edit that such a version decided is decided again if its message is still in the mailbox, because its effect is gone from the zone.
    /// Descriptions are published again. Choices that wait (an empty hash) go on waiting.
    private func forgetVersions(_ transaction: LocalTransaction) throws {
        try transaction.state.setIntended(nil)
        try transaction.state.pendingPins.set([])
        try transaction.decidedEdits.forgetUnpublished()
        try transaction.decidedEdits.setOfVersion([:])
        guard let note = try transaction.state.descriptionNote() else { return }
        let names = Set(context.settings.datasets.map(\.name)), hashes = note.hashes.filter { $0.value.isEmpty || !names.contains($0.key) }
        try transaction.state.descriptionNote.set(DescriptionNote(schemaVersion: note.schemaVersion, hashes: hashes))
    }

    /// The zone's newest version.
    ///
    /// - Throws: ``SyncError`` with `.refused` if the zone goes on as another one: to follow would replace what only the missing versions had.
    private func records(in cloud: CloudDatabase) async throws -> ZoneState {
        do {
            return try await cloud.records(in: context.zone)
        } catch let error as CloudError where error.code == .zoneMoved {
            let database = context.database.path.shellWord
            throw SyncError(
                .refused, step: .fetch, at: context.zone.place, error.reason,
                hint: "keep a copy of \(database), then: snapsync detach \(database), and snapsync init for the zone that it goes on as")
        }
    }

    /// Checks that the zone no longer has the applied version.
    private func verifyRolledBack() async throws -> AppliedVersion {
        func refuse(_ reason: String) -> SyncError {
            SyncError(
                .refused, step: .fetch, at: context.zone.place, "\(reason), so there is nothing to accept",
                hint: "run: snapsync sync \(context.database.path.shellWord)"
            ).asSlip
        }
        guard let applied = try context.database.read({ try $0.state.applied() }) else {
            throw refuse("no version of it is here yet")
        }
        do {
            _ = try await context.cloud.changes(since: applied.token, in: context.zone)
        } catch let error as CloudError where error.code == .rolledBack {
            return applied
        } catch let error as CloudError where error.code == .changeTokenExpired {
            throw refuse("its older versions were pruned")
        }
        throw refuse("it has version \(applied.number), which is here")
    }
}

extension SyncVersions {
    /// Imports version `number`, the newest of a zone that was reset to an older state on purpose.
    ///
    /// The previous data is kept as a backup, which ``undo(progress:)`` restores. Changes that no version contains yet stay tracked.
    ///
    /// - Throws: ``SyncError`` with `.refused` if `number` is not the zone's newest version, or if the zone was not reset.
    public func acceptRollback(to number: Int, progress: ProgressHandler? = nil) async throws -> RollbackReport {
        try await engine.run { try await RollbackAcceptance(context: engine.context(), progress: progress).run(number) }
    }
}
