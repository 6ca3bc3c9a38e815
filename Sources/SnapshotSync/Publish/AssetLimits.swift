/// What an asset may be, as CloudKit limits it.
enum AssetLimits {
    /// The size at which a warning is due: 80 % of CloudKit's 250 MB for one asset.
    static let warningByteCount = 200_000_000

    /// A warning for an asset that comes close to the limit.
    static func warning(_ dataset: ExportedDataset) -> String? {
        guard dataset.size >= warningByteCount else { return nil }
        return "the asset of \(dataset.name) is \(dataset.size / 1_000_000) MB; CloudKit takes assets of at most 250 MB"
    }
}
