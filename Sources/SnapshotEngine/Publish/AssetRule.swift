import CloudStore
import LocalStore
import SnapshotFormat
import SnapshotVersions

/// Which assets a commit writes for a dataset: the snapshot, the changes, or both.
///
/// A snapshot asset while it is small, at the first export, and whenever the change assets since the last one have grown to
/// much of it; else a change asset alone. Beside a large snapshot asset the change asset is written, too, so that a reader
/// that is up to date never needs the whole.
package struct AssetRule: Sendable {
    /// What every export keeps to.
    package static let standard = AssetRule()

    /// Up to this size a snapshot asset is always written, and no change asset: most apps never see one.
    package var smallByteCount = 1 << 20
    /// The most change assets that follow one snapshot asset.
    package var changeFileCount = 16
    /// The largest share of the snapshot asset's size that its change assets reach together.
    package var changeShare = 0.25
    /// The most JSON in one change asset, in bytes; a larger change is a new snapshot asset's.
    package var changeRawBytes = 8 << 20
    /// The most JSON in all change assets since a snapshot asset, in bytes: what looking at such a version costs in memory.
    package var chainRawBytes = 32 << 20
    /// The most entities in one change asset.
    package var changeCount = 20_000

    /// The fewest rows of a table that is exported from its log if every row was written since the last version (``RewrittenTable``).
    package var rewrittenCount = 20_000
    /// The most rows of it whose instants are not those of their timestamps, or that of nearly all rows.
    package var rewrittenExceptions = RewrittenTable.exceptionLimit

    /// The largest list of instants of single entities, in bytes; a larger one names runs of consecutive entities instead.
    package var singleInstantBytes = SnapshotTailBuilder.plainByteLimit
    /// The largest tail, in bytes of JSON; where it would be larger, edits get the instant of the latest one.
    package var tailBytes = FormatLimits.tailRawBytes
    /// The most that tombstones take of a tail, in bytes of JSON; of more, the oldest are dropped.
    package var tombstoneBytes = FormatLimits.tailRawBytes / 2

    package init() {}

    /// Whether a change asset of the tracked changes can be of use at all after this version.
    func wantsChanges(after previous: DatasetRecord) -> Bool { previous.dataFile.byteCount > smallByteCount }

    /// Whether the change asset alone is written.
    ///
    /// - Parameter rawByteCount: the length of its JSON; its size is at most about that.
    func sufficesAlone(after previous: DatasetRecord, rawByteCount: Int, byteCount: Int) -> Bool {
        previous.changeFiles.count < changeFileCount && previous.changeRawByteCount + rawByteCount <= chainRawBytes
            && Double(previous.changeByteCount + byteCount) <= changeShare * Double(previous.dataFile.byteCount)
    }
}
