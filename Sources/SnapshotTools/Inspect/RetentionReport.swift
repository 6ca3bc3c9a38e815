/// Which versions a publisher keeps by itself, and when it last removed others.
public struct RetentionReport: Sendable, Encodable {
    /// How many states of the data are kept; nil asks for no number.
    public let keepLast: Int?
    /// How old a version may be to be kept, in seconds; nil asks for no age.
    public let keepWithin: Int?
    /// When older ones were last looked for; nil before the first time.
    public let lastRun: String?
}
