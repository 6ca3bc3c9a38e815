/// What a member of a signed zone may do: the roles of devices, and the role of an observer, which sends nothing.
public enum MemberRole: String, Sendable, Codable, CaseIterable {
    /// Publishes, sends messages, and admits members.
    case writer
    /// The same as a writer, in a zone in which other devices publish too.
    case peer
    /// Reads and sends messages.
    case reader
    /// Reads only.
    case observer

    /// Whether the member may publish commits.
    public var mayPublish: Bool { self == .writer || self == .peer }
    /// Whether the member may send messages.
    public var maySend: Bool { self != .observer }
}
