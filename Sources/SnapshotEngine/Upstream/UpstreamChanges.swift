package import CloudStore
package import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

/// What a zone has beyond the version that is here: the one look that importing and publishing both begin with.
package struct UpstreamChanges: Sendable {
    /// The version that is here.
    package let applied: AppliedVersion?
    /// What came after it, or after the fork.
    package let changes: ZoneChanges
    /// The last version that this device and the zone have in common, where what is here lost its number to another device's.
    package let fork: AppliedVersion?
    /// What deserves attention, in words.
    let warnings: [String]
    /// Whether the commit of what is here was pruned: then nothing is known of what lies between.
    var isExpired = false
    /// Whether the version that is here is one of the zone that this one goes on from: then it is as if its commit was pruned.
    var isOfEarlierZone = false
    /// Whether the version that is here was found to be a commit that an earlier run had published without recording it.
    var hasRecovered = false
    /// The version that this device was about to publish when a run was last ended between its commit and the record of it.
    var intended: IntendedVersion?

    /// The last version that this device and the zone have in common; nil if there is none.
    var common: AppliedVersion? { isOfEarlierZone ? nil : fork ?? applied }

    /// What the new commits say of messages.
    var answers: MailboxAnswers {
        MailboxAnswers(commits: changes.commits.filter { !$0.messages.isEmpty }.map { ($0.token.number, $0.messages) }, isComplete: !isExpired)
    }

    /// Whether the commits go on from the very version that is here, without a gap and without a fork.
    var follows: Bool { fork == nil && (changes.commits.first.map { $0.parent == applied?.hash && $0.token.number == (applied?.number ?? 0) + 1 } ?? false) }

    /// Whether the zone has anything that is not here.
    var isBehind: Bool { changes.token != applied?.token }

    /// The newest commit that another device than `device` made; nil if none of the new ones is another's.
    func newestCommit(notBy device: String) -> Int? { changes.commits.last { $0.device != device }?.token.number }

    /// For how long a publisher keeps what it published where nobody has built on it, in microseconds: 30 days.
    static let retention: Int64 = 30 * 86_400 * 1_000_000
}

extension SyncContext {
    /// Reads what the zone has beyond the version that is here. Changes nothing.
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

    /// The error where another run on this database has moved it on since it was read.
    func anotherRun(_ step: SyncStep) -> SyncError {
        SyncError(.tryAgainLater, step: step, at: database.path, "another run changed the database meanwhile", hint: "run the same command again")
    }
}
