/// The versions that a prune keeps. The newest version and pinned versions are always kept.
public struct RetentionPolicy: Sendable, Hashable {
    /// The number of different states of the data to keep; nil for no such rule.
    public var keepLast: Int?
    /// The age up to which versions are kept; nil for no such rule.
    public var keepWithin: Duration?
    /// The minimum age of a commit's file before it is removed. A device that syncs daily then always finds its version.
    public var minimumAge: Duration
    /// How long an unreachable asset is kept: readers may still be reading it, or a publisher may be about to commit it.
    public var grace: Duration

    public init(keepLast: Int?, keepWithin: Duration?, minimumAge: Duration = .seconds(86_400), grace: Duration = .seconds(86_400)) {
        self.keepLast = keepLast
        self.keepWithin = keepWithin
        self.minimumAge = minimumAge
        self.grace = grace
    }
}

extension Duration {
    /// The duration in whole microseconds.
    var microseconds: Int64 {
        let (seconds, fraction) = components
        return seconds * 1_000_000 + fraction / 1_000_000_000_000
    }
}
