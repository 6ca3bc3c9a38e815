package import CloudStore
package import LocalTables
import SnapshotModel
import SnapshotVersions
package import StrictText

/// The zone's commits after the applied version. Imports and exports both begin by reading it.
package struct UpstreamChanges: Sendable {
    /// The version that this database has.
    package let applied: AppliedVersion?
    /// The commits after it.
    package let changes: ZoneChanges
    /// Warnings, one sentence each.
    let warnings: [String]
    /// Whether the applied version's commit was pruned. The commits after it are then not all known.
    var isExpired = false
    /// Whether the applied version belongs to the zone that this zone continues. It is then treated like a pruned commit.
    var isOfEarlierZone = false
    /// Whether the applied version is a commit that an earlier run had published without recording it, and that this run has just recorded.
    var hasRecovered = false
    /// The version that this device was publishing when a run ended between the commit and recording it.
    var intended: IntendedVersion?

    package init(
        applied: AppliedVersion?, changes: ZoneChanges, warnings: [String], isExpired: Bool = false, isOfEarlierZone: Bool = false, hasRecovered: Bool = false,
        intended: IntendedVersion? = nil
    ) {
        (self.applied, self.changes, self.warnings, self.isExpired, self.isOfEarlierZone, self.hasRecovered, self.intended) = (
            applied, changes, warnings, isExpired, isOfEarlierZone, hasRecovered, intended
        )
    }

    /// The applied version, if it belongs to this zone.
    var appliedHere: AppliedVersion? { isOfEarlierZone ? nil : applied }

    /// Whether the commits directly follow the applied version, without a gap.
    var follows: Bool { changes.commits.first.map { $0.parent == applied?.hash && $0.token.number == (applied?.number ?? 0) + 1 } ?? false }

    /// Whether the zone's newest version is not the applied one.
    var isBehind: Bool { changes.token != applied?.token }
}

extension SyncContext {
    /// Reads the zone's commits after the applied version. Changes nothing.
    ///
    /// - Throws: ``SyncError`` with `.dataRefused` if the zone was rolled back or is damaged.
    package func fetchUpstreamChanges() async throws -> UpstreamChanges {
        let (applied, intended, isOfEarlierZone) = try database.read { transaction in
            let applied = try transaction.state.applied()
            return (applied, try transaction.state.intended(), try transaction.state.isOfEarlierZone(applied))
        }
        let changes: ZoneChanges
        var isExpired = isOfEarlierZone
        do {
            changes = try await cloud.changes(since: isOfEarlierZone ? nil : applied?.token, in: zone)
        } catch let error as CloudError where error.code == .changeTokenExpired {
            changes = try await cloud.changes(since: nil, in: zone)
            isExpired = true
        }
        return UpstreamChanges(
            applied: applied, changes: changes, warnings: [], isExpired: isExpired, isOfEarlierZone: isOfEarlierZone, intended: intended)
    }

    /// Returns the error for another run that has changed the database's state since it was read.
    package func anotherRun(_ step: SyncStep) -> SyncError {
        SyncError(.tryAgainLater, step: step, at: database.path, "another run changed the database meanwhile", hint: "run the same command again")
    }

    /// Returns all live records as of a commit, from a zone that has at least reached `version`.
    func records(at number: Int?, notBefore version: AppliedVersion?) async throws -> ZoneState {
        try await cloud.records(in: zone, at: number, notBefore: version?.token)
    }
}
