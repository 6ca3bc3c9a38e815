/// What becomes of a device's own entities where it has no version in common with the cloud yet: at the first import and when
/// syncing is enabled. After that, last write wins always holds.
public enum MergePolicy: String, Codable, Sendable, CaseIterable {
    /// The cloud's entities and tombstones beat one's own; what the cloud does not know is added or replaced, as `init` was told.
    case replace
    /// All entities of both sides; of two with one key, the later.
    case merge
    /// One entity of both sides together: the later; of equally late ones, the one with more columns filled. Settings are such a dataset.
    case single
}
