import CloudStore
import LocalStore
import SnapshotModel
import SnapshotVersions

/// One reason for which a run is refused before it changes anything.
///
/// All guards have this signature; ``ExportRun`` and ``ImportRun`` list theirs in the order in which they are asked. A guard changes nothing.
struct RunGuard: Sendable {
    /// What guards decide on.
    struct Facts: Sendable {
        let device: SyncContext
        /// Whether other devices publish in the zone, too.
        var isOneOfMany = false
        /// Which datasets may become much smaller.
        var allowed = ShrinkApproval.none
        /// What the zone has beyond the version that is here; nil before the run has looked.
        var upstream: UpstreamChanges?

        /// Asks guards, one after the other.
        ///
        /// - Throws: the first refusal: ``SyncError`` with `.refused`, or with `.tryAgainLater` where waiting helps.
        func ask(_ guards: [RunGuard]) async throws { for one in guards { try await one.check(self) } }
    }

    let check: @Sendable (Facts) async throws -> Void

    /// A reader does not publish.
    static let role = RunGuard { facts in
        let device = facts.device
        guard device.settings.role.publishes else {
            throw SyncError(
                .refused, step: .read, at: device.database.path, "this device is a \(device.settings.role.rawValue): read-only",
                hint: "publish from the writer; a reader imports"
            ).asSlip
        }
    }

    /// The clock can be right.
    static let clock = RunGuard { try ClockGuard.verify($0.device.now()) }

    /// The zone takes commits of this device.
    static let publisher = RunGuard { try await $0.device.checkPublisher() }

    /// The database has the zone's newest version, so that a publication replaces nothing that it does not know.
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

    /// No database publishes before its first import, or before it made the zone.
    static let firstPublish = RunGuard { try FirstPublishGuard.verify($0.device, token: $0.upstream?.applied?.token) }

    /// The dataset file knows every field that the zone's data have.
    static let knownFields = RunGuard { facts in
        try SyncGuards.refuseUnknownFields(facts.device.database.read(at: .read) { try $0.datasetStates.all() })
    }

    /// No dataset has lost more than half of its entities without approval.
    static let shrink = RunGuard { facts in
        guard let upstream = facts.upstream else { return }
        try await ShrinkCheck(device: facts.device, allowed: facts.allowed).verify(upstream.changes, after: upstream.common?.token)
    }
}
