package import CloudStore
package import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

/// The zone's commits after the applied version. Imports and exports both begin by reading it.
package struct UpstreamChanges: Sendable {
    /// The version that this database has.
    package let applied: AppliedVersion?
    /// The commits after it, or after the fork.
    package let changes: ZoneChanges
    /// The last version that this device and the zone have in common, if the applied version lost its number to another device's commit.
    package let fork: AppliedVersion?
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

    /// The last version that this device and the zone have in common; nil if there is none.
    var common: AppliedVersion? { isOfEarlierZone ? nil : fork ?? applied }

    /// Whether the commits directly follow the applied version, without a gap or a fork.
    var follows: Bool { fork == nil && (changes.commits.first.map { $0.parent == applied?.hash && $0.token.number == (applied?.number ?? 0) + 1 } ?? false) }

    /// Whether the zone's newest version is not the applied one.
    var isBehind: Bool { changes.token != applied?.token }

    /// Returns the number of the newest commit by another device than `device`; nil if none of the new commits is.
    func newestCommit(notBy device: String) -> Int? { changes.commits.last { $0.device != device }?.token.number }

    /// How long a publisher keeps its published changes if no other device publishes on top of them, in microseconds: 30 days.
    static let retention: Int64 = 30 * 86_400 * 1_000_000
}

extension SyncContext {
    /// Reads the zone's commits after the applied version. Changes nothing.
    ///
    /// - Throws: ``SyncError`` with `.dataRefused` if the zone was rolled back or is damaged.
    package func fetchUpstreamChanges() async throws -> UpstreamChanges {
        let (applied, intended, isOfEarlierZone) = try database.read(at: .read) { transaction in
            let applied = try transaction.state.applied()
            return (applied, try transaction.state.intended(), try transaction.state.isOfEarlierZone(applied))
        }
        let changes: ZoneChanges
        var isExpired = isOfEarlierZone
        do {
            changes = try await cloud.changes(since: isOfEarlierZone ? nil : applied?.token, in: zone)
        } catch let error as CloudError where error.code == .changeTokenExpired {
            changes = try await cloud.at(.fetch).changes(since: nil, in: zone)
            isExpired = true
        } catch let error as CloudError where error.code == .rolledBack || error.code == .damaged {
            return try await ForkFinder(device: self).news(after: error, applied: applied)
        } catch {
            throw SyncError(error, step: .fetch)
        }
        return UpstreamChanges(
            applied: applied, changes: changes, fork: nil, warnings: [], isExpired: isExpired, isOfEarlierZone: isOfEarlierZone, intended: intended)
    }

    /// Returns the error for another run that has changed the database's state since it was read.
    func anotherRun(_ step: SyncStep) -> SyncError {
        SyncError(.tryAgainLater, step: step, at: database.path, "another run changed the database meanwhile", hint: "run the same command again")
    }
}
