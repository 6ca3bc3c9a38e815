/// Which versions are kept when a zone is pruned; the newest and the pinned ones always are.
public struct RetentionPolicy: Sendable, Hashable {
    /// How many different states of the data are kept; nil asks for no number.
    public var keepLast: Int?
    /// How old a version may be to be kept; nil asks for no age.
    public var keepWithin: Duration?
    /// How old a commit's file must be before it goes, so that a device that syncs daily never finds its version gone.
    public var minimumAge: Duration
    /// How long an asset that nothing reaches any longer stays: readers may be in the middle of it, or a publisher before its commit.
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
