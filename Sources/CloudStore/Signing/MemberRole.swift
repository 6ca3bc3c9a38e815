/// What a member of a signed zone may do: the roles of devices, and one more that sends nothing.
public enum MemberRole: String, Sendable, Codable, CaseIterable {
    /// Publishes, sends messages, and admits members.
    case writer
    /// The same, in a zone in which others publish, too.
    case peer
    /// Reads and sends messages.
    case reader
    /// Reads only.
    case observer

    /// Whether its commits count.
    public var mayPublish: Bool { self == .writer || self == .peer }
    /// Whether its messages count.
    public var maySend: Bool { self != .observer }
}
