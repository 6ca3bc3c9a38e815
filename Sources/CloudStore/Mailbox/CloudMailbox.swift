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

/// The messages in a zone's mailbox that no publisher has answered yet. A backend's ``CloudDatabase/mailbox(_:in:)`` returns it.
///
///     CloudMailbox(messages: waiting.filter { !request.known.contains($0.id) }, known: waiting.filter { request.known.contains($0.id) }.map(\.name))
public struct CloudMailbox: Sendable {
    /// The messages that were read, sorted by sender, then by id.
    public var messages: [CloudMessage] = []
    /// The waiting messages whose ids the request listed as known.
    public var known: [CloudMessageName] = []
    /// The messages that were ignored, at most ``setAsideLimit`` of each sender.
    public var setAside: [SetAsideMessage] = []
    /// How many more messages wait: beyond the request's limit, or not completely there yet.
    public var unreadCount = 0
    /// A mark of the mailbox's folders, taken just before they were listed. nil if not everything in them was read, or the backend has no
    /// marks.
    public var mark: MailboxMark?

    /// The most ignored messages of one sender that are listed.
    public static let setAsideLimit = 100

    /// How many messages wait, read or not, without the ignored ones.
    public var waitingCount: Int { messages.count + known.count + unreadCount }

    /// Describes a mailbox; an empty one by default.
    ///
    /// - Parameters:
    ///   - messages: the messages that were read, sorted by sender, then by id. At most the request's limit of each sender, and none that the
    ///     request lists as known.
    ///   - known: the waiting messages whose ids the request lists as known.
    ///   - setAside: the messages that can never be read, with the reasons.
    ///   - unreadCount: how many more messages wait.
    public init(messages: [CloudMessage] = [], known: [CloudMessageName] = [], setAside: [SetAsideMessage] = [], unreadCount: Int = 0) {
        self.messages = messages
        self.known = known
        self.setAside = setAside
        self.unreadCount = unreadCount
    }
}
