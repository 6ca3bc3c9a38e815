import CloudStore
import LocalStore
import SnapshotFormat
import SnapshotVersions

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

    /// If every row of a table with at least this many rows was written since the last version, the table is exported from its log
    /// (``RewrittenTable``).
    package var rewrittenCount = 20_000
    /// The largest number of its rows whose instant differs both from the row's timestamp and from the instant of nearly all rows.
    package var rewrittenExceptions = RewrittenTable.exceptionLimit

    /// The largest list of single entities' instants, in bytes. A larger list is written as runs of consecutive entities.
    package var singleInstantBytes = SnapshotTailBuilder.plainByteLimit
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
enum AssetLimits {
    /// Returns a warning for an asset that has 80 % of the limit or more.
    static func warning(_ dataset: ExportedDataset, limit: Int) -> String? {
        guard dataset.size >= limit / 5 * 4 else { return nil }
        let share = Int((Double(dataset.size) / Double(limit) * 100).rounded(.down))
        return "the asset of \(dataset.name) has \(dataset.size) bytes, \(share) % of the limit of \(limit); beyond that nothing is published: \(advice)"
    }

    static func exceeded(_ dataset: String, limit: Int) -> SyncError {
        SyncError(
            .refused, step: .store, at: "dataset \(dataset)", "its asset would be larger than the limit of \(limit) bytes; nothing was published",
            hint: "\(advice), or raise the limit where all devices can take it: snapsync export --asset-limit 500MB")
    }

    private static let advice = "delete what is no longer needed, or spread the table over several datasets"
}
