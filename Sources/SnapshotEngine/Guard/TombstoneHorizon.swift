import CloudStore
import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

/// Up to when a zone has forgotten what was deleted.
///
/// Tombstones are dropped only by a commit that writes a snapshot asset and says so in its approvals: `tombstones:` and the
/// horizon. Before that instant an entity's absence may mean that it was deleted. They go when they are old, and when they are so many that the
/// next version could not list them all.
enum TombstoneHorizon {
    /// How old a tombstone must be by the last commit's clock and by the publisher's.
    static let ageInMicroseconds: Int64 = 90 * 86_400_000_000
    private static let prefix = "tombstones:"

    /// The instant before which a publisher may drop tombstones now; nil before the first version.
    ///
    /// - Parameter last: what the last version has; its time is the commits' clock.
    static func now(_ now: Instant, last: [String: DatasetRecord]) -> Instant? {
        last.values.map(\.syncTimestamp).max().map { min(now, $0).advanced(byMicroseconds: -ageInMicroseconds) }
    }

    /// The instant before which a publisher must drop tombstones of a dataset, for they would take more than a part of the tail; nil if they do not.
    static func crowded(_ schema: DatasetSchema, _ rewritten: RewrittenTable?, _ rule: AssetRule, in transaction: LocalTransaction) throws -> Instant? {
        try transaction.tombstonesAndInstants.crowdedHorizon(of: schema, limit: rule.tombstoneBytes, besides: rewritten?.deletions ?? [])
    }

    /// What a commit says that drops the tombstones before `horizon`.
    static func text(_ horizon: Instant) -> String { prefix + horizon.description }

    /// The horizon that approvals name; nil if they name none.
    static func named(in approvals: [String]) -> Instant? {
        approvals.compactMap { $0.hasPrefix(prefix) ? try? Instant(parsing: String($0.dropFirst(prefix.count))) : nil }.max()
    }

    /// The horizon of a dataset that a commit wrote a snapshot asset of; nil if the commit dropped none of its tombstones.
    static func of(_ schema: DatasetSchema, in commit: Commit) -> Instant? {
        guard let horizon = named(in: commit.approvals), let record = commit.saved.first(where: { $0.name == schema.recordName }),
            let fields = DatasetRecord(record),
            AssetPath(fields.dataFile.path)?.number == commit.token.number
        else { return nil }
        return horizon
    }

    /// Drops the tombstones here that a commit dropped, which is the applied version now.
    static func take(from commit: Commit, of schema: DatasetSchema, in transaction: LocalTransaction) throws {
        if let horizon = of(schema, in: commit) { try transaction.tombstonesAndInstants.removeTombstones(of: schema, before: horizon) }
    }

    /// The horizon of a dataset for a device that reads these changes; nil if the cloud still knows of every deletion since the device was there.
    ///
    /// - Parameter wasPruned: whether commits that the device had not read are gone, and with them what they said.
    static func latest(of schema: DatasetSchema, in commits: [Commit], wasPruned: Bool) -> Instant? {
        let named = commits.compactMap { of(schema, in: $0) }.max()
        guard wasPruned, let last = commits.last?.timestamp else { return named }
        return max(named ?? .distantPast, last.advanced(byMicroseconds: -ageInMicroseconds))
    }
}
