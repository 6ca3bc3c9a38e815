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
            changes = try await cloud.at(.fetch) { try await $0.changes(since: nil, in: zone) }
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

/// Distinguishes a fork from a rollback. In a fork, the applied version lost its number to another device's commit.
///
/// Forks happen if a tool replicates the folder of a zone with several publishers: two devices each saw their own copy and published the same
/// number. The commit under the plain name counts. A device follows it once the fork is certain, and publishes its own lost changes again.
struct ForkFinder: Sendable {
    let device: SyncContext

    /// Returns the zone's commits after the last version that it has in common with this device.
    ///
    /// - Parameter error: the error of reading the commits after `applied`.
    /// - Throws: `error`, with what was found, if this is no fork or not certainly one.
    func news(after error: CloudError, applied: AppliedVersion?) async throws -> UpstreamChanges {
        guard let applied, try await device.zoneInfo(at: .fetch).publishers == .many else {
            throw SyncError(error, step: .fetch)
        }
        let copies = try await device.cloud.at(.fetch) { try await $0.conflictCopies(in: device.zone) }
        guard error.code == .rolledBack, let (common, changes) = try await lastInCommon(before: applied) else { throw SyncError(error, step: .fetch) }
        guard let newest = changes.token, newest.number > common.number else { throw SyncError(error, step: .fetch) }
        // The fork is certain once the tool has set our own commit aside as a conflict copy, or once a device has published after the other
        // commit.
        let isDecided = newest.number > applied.number || newest.number == applied.number && copies.contains { $0.token == applied.token }
        guard isDecided else {
            throw SyncError(
                .dataRefused, step: .fetch, at: error.place,
                "\(error.reason); two devices may have published this version; that cannot be resolved until one of them syncs again",
                hint: "if a tool replicates the folder, sync on the other device; otherwise an older copy of the folder was restored")
        }
        if let signed = device.signedZone, signed.keys != nil {
            // The known keys may come from a commit that no longer counts.
            let record = try await signed.cloud.at(.fetch) { try await $0.records(in: device.zone) }.record(KeyRing.recordName)
            try SyncError.at(.verify) { try signed.authority.replaceKeys(by: record, of: signed.history) }
        }
        return UpstreamChanges(
            applied: applied, changes: changes, fork: common,
            warnings: [
                "a fork: version \(common.number + 1) was published by two devices, and another device's stands; what only this device had published is published again"
            ])
    }

    /// Returns the newest version of this database's history that is still in the zone's; nil if there is none.
    private func lastInCommon(before applied: AppliedVersion) async throws -> (AppliedVersion, ZoneChanges)? {
        let lineage = try device.database.read(at: .read) { try $0.lineage.versions() }
        for version in lineage where version.number < applied.number {
            do {
                return (version, try await device.cloud.changes(since: version.token, in: device.zone))
            } catch let error as CloudError where error.code == .rolledBack {
                continue
            } catch let error as CloudError where error.code == .changeTokenExpired || error.code == .damaged {
                return nil
            } catch var error as CloudError where error.code == .zoneMoved {
                error.commonVersion = version.number
                throw SyncError(error, step: .fetch)
            } catch {
                throw SyncError(error, step: .fetch)
            }
        }
        return nil
    }

}

extension SyncContext {
    /// Returns all live records as of a commit, from a zone that has at least reached `version`.
    ///
    func records(at number: Int?, notBefore version: AppliedVersion?) async throws -> ZoneState {
        try await cloud.at(.fetch) { try await $0.records(in: zone, at: number, notBefore: version?.token) }
    }
}
