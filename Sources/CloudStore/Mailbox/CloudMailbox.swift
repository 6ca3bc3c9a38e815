/// Selects the messages to read.
public struct MailboxRequest: Sendable {
    /// Read only the messages of this sender; nil reads those of all senders.
    public var sender: String?
    /// The ids of messages that need not be read again.
    public var known: Set<String>
    /// The most messages of each sender to read.
    public var limit: Int

    public init(sender: String? = nil, known: Set<String> = [], limit: Int = CloudMessage.waitingLimit) {
        self.sender = sender
        self.known = known
        self.limit = limit
    }
}

/// The messages in a zone's mailbox that no publisher has answered yet.
public struct CloudMailbox: Sendable {
    /// The messages that were read, sorted by sender, then by id.
    public package(set) var messages: [CloudMessage] = []
    /// The waiting messages whose ids the request listed as known.
    public package(set) var known: [CloudMessageName] = []
    /// The messages that were ignored, at most ``setAsideLimit`` of each sender.
    public package(set) var setAside: [SetAsideMessage] = []
    /// How many more messages wait: beyond the request's limit, or not completely there yet.
    public package(set) var unreadCount = 0
    /// A mark of the mailbox's folders, taken just before they were listed. nil if not everything in them was read, or the backend has no
    /// marks.
    public package(set) var mark: MailboxMark?

    /// The most ignored messages of one sender that are listed.
    public static let setAsideLimit = 100

    /// How many messages wait, read or not, without the ignored ones.
    public var waitingCount: Int { messages.count + known.count + unreadCount }

    package init() {}
}
