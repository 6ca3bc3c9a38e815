/// The messages in a zone's mailbox that no publisher has answered yet. A backend's ``CloudDatabase/mailbox(_:in:)`` returns it.
public struct CloudMailbox: Sendable {
    /// The messages that were read, sorted by sender, then by id.
    public var messages: [CloudMessage] = []
    /// The messages that were ignored, at most ``setAsideLimit`` of each sender.
    public var setAside: [SetAsideMessage] = []
    /// How many more messages wait: beyond ``readLimit`` or ``byteLimit``, or not completely there yet.
    public var unreadCount = 0

    /// The most messages of one sender that are read. A sender keeps one there.
    package static let readLimit = 1000
    /// How many bytes of messages of one sender are read before the next ones wait: all are in memory at once, and a hostile sender removes none.
    package static let byteLimit = 16 << 20
    /// The most ignored messages of one sender that are listed.
    package static let setAsideLimit = 100
}
