import CloudStore
import LocalStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
package import StrictText

/// Decides which assets a commit writes for a dataset: a snapshot asset, a change asset, or both.
///
/// A snapshot asset is written while it is small, at the first export, and whenever the change assets since the last one add up to a large part
/// of its size. Otherwise only a change asset is written. With a large snapshot asset a change asset is written as well, so that an up-to-date
/// reader never needs the snapshot.
package struct AssetRule: Sendable {
    /// The rule of every export.
    package static let standard = AssetRule()

    /// Up to this size, in bytes, a snapshot asset is always written, and no change asset. Most applications never see a change asset.
    package var smallByteCount = 1 << 20
    /// The largest number of change assets after one snapshot asset.
    package var changeFileCount = 16
    /// The largest total size of the change assets, as a share of their snapshot asset's size.
    package var changeShare = 0.25
    /// The largest JSON size of one change asset, in bytes. For a larger change a snapshot asset is written.
    package var changeRawBytes = 8 << 20
    /// The largest total JSON size of the change assets after a snapshot asset, in bytes. A reader of the version needs that much memory.
    package var chainRawBytes = 32 << 20
    /// The largest number of entities in one change asset.
    package var changeCount = 20_000

    /// The largest number of entities whose instants are written one by one. Those of more are written as runs of consecutive entities.
    package var singleInstants = SnapshotTailBuilder.singleLimit
    /// The largest tail, in bytes of JSON. If it would be larger, all edits get the instant of the latest one.
    package var tailBytes = FormatLimits.tailRawBytes
    /// The largest part of the tail for tombstones, in bytes of JSON. If they need more, the oldest are dropped.
    package var tombstoneBytes = FormatLimits.tailRawBytes / 2

    package init() {}

    /// Whether a change asset of the tracked changes can be useful after this version.
    func wantsChanges(after previous: DatasetRecord) -> Bool { previous.dataFile.byteCount > smallByteCount }

    /// Whether to write the change asset without a snapshot asset.
    ///
    /// - Parameter rawByteCount: the size of its JSON. The compressed size is at most about the same.
    func sufficesAlone(after previous: DatasetRecord, rawByteCount: Int, byteCount: Int) -> Bool {
        previous.changeFiles.count < changeFileCount && previous.changeRawByteCount + rawByteCount <= chainRawBytes
            && Double(previous.changeByteCount + byteCount) <= changeShare * Double(previous.dataFile.byteCount)
    }
}

/// The warning and the error for assets that approach or exceed the size limit.
package enum AssetLimits {
    /// Returns a warning for an asset that has 80 % of the limit or more.
    static func warning(_ dataset: ExportedDataset, limit: Int) -> String? {
        guard dataset.size >= limit / 5 * 4 else { return nil }
        let share = Int((Double(dataset.size) / Double(limit) * 100).rounded(.down))
        return "the asset of \(dataset.name) has \(dataset.size) bytes, \(share) % of the limit of \(limit); beyond that nothing is published: \(advice)"
    }

    package static func exceeded(_ dataset: String, limit: Int) -> SyncError {
        SyncError(
            .refused, step: .store, at: "dataset \(dataset)", "its asset would be larger than the limit of \(limit) bytes; nothing was published",
            hint: "\(advice), or raise the limit where all devices can take it: snapsync config set asset-limit 500MB")
    }

    private static let advice = "delete what is no longer needed, or spread the table over several datasets"
}

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
    static func crowded(_ schema: DatasetSchema, by rule: AssetRule, in transaction: LocalTransaction) throws -> Instant? {
        try transaction.tombstonesAndInstants.crowdedHorizon(of: schema, limit: rule.tombstoneBytes)
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
    static func adopt(from commit: Commit, of schema: DatasetSchema, in transaction: LocalTransaction) throws {
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
