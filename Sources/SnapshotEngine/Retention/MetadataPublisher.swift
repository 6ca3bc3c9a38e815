package import CloudStore
import LocalStore
import SnapshotModel
package import SnapshotVersions
import StrictText

/// Publishes a commit that changes no data, such as pins and the record of a prune.
///
/// The device's token moves to the new commit, so the device must have the newest version. It is imported first.
package struct MetadataPublisher: Sendable {
    let device: SyncContext

    package init(device: SyncContext) { self.device = device }

    /// The records that a commit saves and deletes. They are computed for the zone's state directly before the commit.
    package struct Changes: Sendable {
        package var saving: [CloudRecord] = []
        package var deleting: [String] = []
        var checkpoint: CheckpointReference?

        package init(saving: [CloudRecord] = [], deleting: [String] = [], checkpoint: CheckpointReference? = nil) {
            (self.saving, self.deleting, self.checkpoint) = (saving, deleting, checkpoint)
        }

        var isEmpty: Bool { saving.isEmpty && deleting.isEmpty }
    }

    /// How often a commit is made again if another device publishes first.
    private static let policy = RetryPolicy(attempts: 10)

    /// Publishes what `changes` returns, if anything. `changes` is called again after a lost race.
    ///
    /// - Returns: the zone's newest version.
    package func publish(_ changes: (ZoneState) async throws -> Changes) async throws -> ChangeToken {
        try await device.checkPublisher(.announce, else: "it makes no commits", hint: "run it on a device that publishes")
        for attempt in 1... {
            _ = try await ImportRun(device: device, progress: nil).importNewest()
            let token = try device.database.read(at: .read) { try $0.state.applied()?.token }
            let state = try await device.cloud.at(.fetch) { try await $0.records(in: device.zone, at: token?.number, notBefore: token) }
            // Check this before anything is put into the zone: a copy of the publishing database must not make pins in its name.
            let identity = try await device.checkIdentity(applied: token.map { AppliedVersion($0) }, commits: [])
            let wanted = try await changes(state)
            guard let token, !wanted.isEmpty else { return token ?? ChangeToken(number: 0, hash: "") }
            do {
                return try await MetadataPublisher(device: identity.device).commit(wanted, after: token)
            } catch let error as SyncError where error.code == .tryAgainLater && attempt < Self.policy.attempts {
                try await Task.sleep(for: Self.policy.delay(after: attempt))
            }
        }
        throw SyncError(.tryAgainLater, step: .announce, at: "zone \(device.zone)", "other devices publish without a pause", hint: "run the same command again")
    }

    private func commit(_ changes: Changes, after token: ChangeToken) async throws -> ChangeToken {
        var draft = CommitDraft(device: device.settings.device, saving: changes.saving, deleting: changes.deleting, clock: device.now())
        draft.checkpoint = changes.checkpoint
        let prepared = try await device.cloud.at(.announce) { try await $0.prepare(draft, after: token, in: device.zone) }
        // If we crash between publishing and recording the commit, the next run recognizes the commit as its own.
        try device.database.write(at: .announce) { try $0.state.setIntended(IntendedVersion(version: AppliedVersion(prepared.token), sequences: [:])) }
        let published = try await device.cloud.at(.announce) { try await $0.publish(prepared) }
        try device.database.write(at: .announce) { transaction in
            try transaction.keepFields([:], of: device.settings.datasets, before: AppliedVersion(token), now: AppliedVersion(published))
            try transaction.state.setApplied(AppliedVersion(published))
            try transaction.state.setIntended(nil)
        }
        await device.report(published)
        return published
    }
}

extension SyncContext {
    /// Refuses a reader with `reason`, and a device that may not publish in the zone.
    package func checkPublisher(_ step: SyncStep, else reason: String, hint: String) async throws {
        guard settings.role.publishes else {
            throw SyncError(.refused, step: step, at: database.path, "this device is a \(settings.role.rawValue): \(reason)", hint: hint)
        }
        try await checkPublisher()
    }
}
