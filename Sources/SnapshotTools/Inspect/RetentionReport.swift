/// Which versions a publisher keeps automatically, and when it last searched for others.
public struct RetentionReport: Sendable, Encodable {
    /// How many states of the data are kept; nil if there is no limit by number.
    public let keepLast: Int?
    /// The maximum age of kept versions, in seconds; nil if there is no limit by age.
    public let keepWithin: Int?
    /// When old versions were last searched for; nil before the first time.
    public let lastRun: String?
}
