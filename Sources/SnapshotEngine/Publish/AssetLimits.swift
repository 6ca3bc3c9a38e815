import LocalStore
import SnapshotVersions

/// The warning and the error for assets that approach or exceed the size limit.
enum AssetLimits {
    /// Returns a warning for an asset that has 80 % of the limit or more.
    static func warning(_ dataset: ExportedDataset, limit: Int) -> String? {
        guard dataset.size >= limit / 5 * 4 else { return nil }
        let share = Int((Double(dataset.size) / Double(limit) * 100).rounded(.down))
        return "the asset of \(dataset.name) has \(dataset.size) bytes, \(share) % of the limit of \(limit); beyond that nothing is published: \(advice)"
    }

    /// Returns the error for an asset that exceeds the limit.
    static func exceeded(_ dataset: String, limit: Int) -> SyncError {
        SyncError(
            .refused, step: .store, at: "dataset \(dataset)", "its asset would be larger than the limit of \(limit) bytes; nothing was published",
            hint: "\(advice), or raise the limit where all devices can take it: snapsync export --asset-limit 500MB")
    }

    private static let advice = "delete what is no longer needed, or spread the table over several datasets"
}
