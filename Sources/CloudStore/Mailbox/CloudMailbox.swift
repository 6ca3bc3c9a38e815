/// Which messages to read.
public struct MailboxRequest: Sendable {
    /// One sender's messages alone; nil reads everybody's.
    public var sender: String?
    /// The ids of messages that need not be read again.
    public var known: Set<String>
    /// How many messages of each sender are read at most.
    public var limit: Int

    public init(sender: String? = nil, known: Set<String> = [], limit: Int = CloudMessage.waitingLimit) {
        self.sender = sender
        self.known = known
        self.limit = limit
    }
}

/// What waits in a zone's mailbox.
public struct CloudMailbox: Sendable {
    /// The messages that were read: senders in the order of their names, the messages of each in the order of their ids.
    public package(set) var messages: [CloudMessage] = []
    /// The messages that wait and were known.
    public package(set) var known: [CloudMessageName] = []
    /// What was passed over: at most ``setAsideLimit`` of each sender.
    public package(set) var setAside: [SetAsideMessage] = []
    /// How many more wait: beyond the request's limit, or not there whole yet.
    public package(set) var unreadCount = 0
    /// The mark of the folders just before they were listed, where all that is in them was read; nil where no mark can be had.
    public package(set) var mark: MailboxMark?

    /// How many messages of one sender are told as set aside, at most.
    public static let setAsideLimit = 100

    /// How many messages wait, read or not, without those that were set aside.
    public var waitingCount: Int { messages.count + known.count + unreadCount }

    package init() {}
}
