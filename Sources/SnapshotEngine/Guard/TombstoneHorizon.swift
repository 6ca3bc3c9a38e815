import CloudStore
import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

/// The instant before which a zone no longer knows what was deleted.
///
/// Only a commit that writes a snapshot asset drops tombstones, and it says so in its approvals: `tombstones:` and the horizon. An entity that
/// was last changed before the horizon may be absent because it was deleted. Tombstones are dropped when they are old, or when there are so many
/// that the next version could not list all of them.
enum TombstoneHorizon {
    /// The minimum age of a dropped tombstone, by the last commit's clock and by the publisher's clock.
    static let ageInMicroseconds: Int64 = 90 * 86_400_000_000
    private static let prefix = "tombstones:"

    /// Returns the instant before which a publisher may drop tombstones now; nil before the first version.
    ///
    /// - Parameter last: the records of the last version. Their timestamp is the commits' clock.
    static func now(_ now: Instant, last: [String: DatasetRecord]) -> Instant? {
        last.values.map(\.syncTimestamp).max().map { min(now, $0).advanced(byMicroseconds: -ageInMicroseconds) }
    }

    /// Returns the instant before which a publisher must drop a dataset's tombstones because they take too large a part of the tail; nil if they
    /// do not.
    static func crowded(_ schema: DatasetSchema, _ rewritten: RewrittenTable?, _ rule: AssetRule, in transaction: LocalTransaction) throws -> Instant? {
        try transaction.tombstonesAndInstants.crowdedHorizon(of: schema, limit: rule.tombstoneBytes, besides: rewritten?.deletions ?? [])
    }

    /// Returns the approval of a commit that drops the tombstones before `horizon`.
    static func text(_ horizon: Instant) -> String { prefix + horizon.description }

    /// Returns the horizon that approvals name; nil if they name none.
    static func named(in approvals: [String]) -> Instant? {
        approvals.compactMap { $0.exact.hasPrefix(prefix) ? try? Instant(parsing: String($0.dropFirst(prefix.count))) : nil }.max()
    }

    /// Returns the horizon of a dataset in a commit that wrote its snapshot asset; nil if the commit dropped none of its tombstones.
    static func of(_ schema: DatasetSchema, in commit: Commit) -> Instant? {
        guard let horizon = named(in: commit.approvals), let record = commit.saved.first(where: { $0.name == schema.recordName }),
            let fields = DatasetRecord(record),
            AssetPath(fields.dataFile.path)?.number == commit.token.number
        else { return nil }
        return horizon
    }

    /// Drops the local tombstones that a commit dropped. The commit must be the applied version.
    static func take(from commit: Commit, of schema: DatasetSchema, in transaction: LocalTransaction) throws {
        if let horizon = of(schema, in: commit) { try transaction.tombstonesAndInstants.removeTombstones(of: schema, before: horizon) }
    }

    /// Returns the horizon of a dataset for a device that reads these commits; nil if the cloud still knows every deletion since the device's
    /// last visit.
    ///
    /// - Parameter wasPruned: whether commits that the device has not read were pruned. Their approvals are unknown then.
    static func latest(of schema: DatasetSchema, in commits: [Commit], wasPruned: Bool) -> Instant? {
        let named = commits.compactMap { of(schema, in: $0) }.max()
        guard wasPruned, let last = commits.last?.timestamp else { return named }
        return max(named ?? .distantPast, last.advanced(byMicroseconds: -ageInMicroseconds))
    }
}
