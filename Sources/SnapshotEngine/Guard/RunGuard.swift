import CloudStore
import LocalStore
import SnapshotModel
import SnapshotVersions

/// A check that can refuse a run before it changes anything.
///
/// All guards have this signature. ``ExportRun`` and ``ImportRun`` list their guards in the order of the checks. A guard changes nothing.
struct RunGuard: Sendable {
    /// The facts on which guards decide.
    struct Facts: Sendable {
        let device: SyncContext
        /// Whether other devices publish in the zone as well.
        var isOneOfMany = false
        /// The datasets that may become much smaller.
        var allowed = ShrinkApproval.none
        /// The commits of the zone after the applied version; nil until the run has read them.
        var upstream: UpstreamChanges?

        /// Runs the guards in order.
        ///
        /// - Throws: the first refusal: ``SyncError`` with `.refused`, or with `.tryAgainLater` if waiting helps.
        func ask(_ guards: [RunGuard]) async throws { for one in guards { try await one.check(self) } }
    }

    let check: @Sendable (Facts) async throws -> Void

    /// Refuses to publish from a reader.
    static let role = RunGuard { facts in
        let device = facts.device
        guard device.settings.role.publishes else {
            throw SyncError(
                .refused, step: .read, at: device.database.path, "this device is a \(device.settings.role.rawValue): read-only",
                hint: "publish from the writer; a reader imports"
            ).asSlip
        }
    }

    /// Refuses a clock that cannot be right.
    static let clock = RunGuard { try ClockGuard.verify($0.device.now()) }

    /// Refuses a device that may not publish in the zone.
    static let publisher = RunGuard { try await $0.device.checkPublisher() }

    /// Refuses to publish before the database has imported the zone's newest version: the publication would replace data that the database does
    /// not know.
    static let newestVersion = RunGuard { facts in
        guard let upstream = facts.upstream, upstream.isBehind || upstream.fork != nil, let newest = upstream.changes.token else { return }
        let place = "zone \(facts.device.zone)"
        if upstream.fork == nil { _ = try await facts.device.checkIdentity(applied: upstream.applied, commits: upstream.changes.commits) }
        if facts.isOneOfMany, upstream.applied != nil {
            throw SyncError(
                .tryAgainLater, step: .fetch, at: place, "it has version \(newest.number), which this database has not imported yet",
                hint: "run snapsync sync, which imports, merges and publishes")
        }
        throw SyncError(
            .refused, step: .fetch, at: place,
            upstream.applied == nil
                ? "it has data that this database has not imported; publishing would replace them" : "version \(newest.number) did not come from this database",
            hint: "run snapsync import first")
    }

    /// Refuses to publish before the first import, unless the database made the zone.
    static let firstPublish = RunGuard { try FirstPublishGuard.verify($0.device, token: $0.upstream?.applied?.token) }

    /// Refuses to publish if the zone's data have a field that the dataset file does not know.
    static let knownFields = RunGuard { facts in
        try SyncGuards.refuseUnknownFields(facts.device.database.read(at: .read) { try $0.datasetStates.all() })
    }

    /// Refuses versions in which a dataset lost more than half of its entities without approval.
    static let shrink = RunGuard { facts in
        guard let upstream = facts.upstream else { return }
        try await ShrinkCheck(device: facts.device, allowed: facts.allowed).verify(upstream.changes, after: upstream.common?.token)
    }
}
