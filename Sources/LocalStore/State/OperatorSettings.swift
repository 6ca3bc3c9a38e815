import GRDB
import StrictText

/// What an operator has decided about a database, beside what `init` needs to know.
package struct OperatorSettings: Hashable, Sendable {
    /// How large an asset may be, in bytes, unless somebody has said otherwise: CloudKit's limit.
    package static let standardAssetLimit = 250_000_000

    /// How large an asset may be, in bytes.
    package let assetLimit: Int
    /// How often a scheduler runs a sync, in seconds; nil if none was set up.
    package let interval: Int?
    /// Whether `init` was told that a tool replicates the cloud's folder.
    package let isReplicated: Bool
    /// Which versions a publisher keeps by itself; nil if it removes none unasked.
    package let retention: RetentionSetting?
}

/// Which versions a publisher keeps by itself, besides the newest and the pinned ones.
package struct RetentionSetting: Hashable, Sendable {
    /// How many states of the data; nil asks for no number.
    package let keepLast: Int?
    /// How old a version may be, in seconds; nil asks for no age.
    package let keepWithin: Int?

    package init(keepLast: Int?, keepWithin: Int?) {
        self.keepLast = keepLast
        self.keepWithin = keepWithin
    }
}
