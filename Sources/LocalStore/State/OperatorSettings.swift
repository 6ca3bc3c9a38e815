import GRDB
import StrictText

/// What an operator decided about a database, besides what `init` requires.
package struct OperatorSettings: Hashable, Sendable {
    /// The default limit of an asset's size, in bytes: CloudKit's limit.
    package static let standardAssetLimit = 250_000_000

    /// The largest size of an asset, in bytes.
    package let assetLimit: Int
    /// How often a scheduler runs a sync, in seconds; nil if there is no schedule.
    package let interval: Int?
    /// Whether the operator told `init` that a tool replicates the cloud's folder.
    package let isReplicated: Bool
    /// Which versions a publisher keeps when it removes versions automatically; nil if it removes none.
    package let retention: RetentionSetting?
}

/// Which versions a publisher keeps when it removes versions automatically, besides the newest and the pinned ones.
package struct RetentionSetting: Hashable, Sendable {
    /// How many states of the data to keep; nil for no such rule.
    package let keepLast: Int?
    /// The greatest age of versions to keep, in seconds; nil for no such rule.
    package let keepWithin: Int?

    package init(keepLast: Int?, keepWithin: Int?) {
        self.keepLast = keepLast
        self.keepWithin = keepWithin
    }
}
