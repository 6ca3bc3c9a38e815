/// One notification. Dates are RFC 3339 texts and are kept as written.
///
/// Foundation has a type of the same name. In a file that imports both, write
/// `typealias Notification = SnapshotModel.Notification`.
/// Source: the JSON fields of the dataset `notifications`; docs/format.md.
public struct Notification: Codable, Hashable, Sendable, Identifiable {
    public let id: String
    public let title: String
    public let subtitle: String?
    public let body: String?
    /// When it was read; nil if it is unread.
    public let readAt: String?
    public let sentAt: String?
    public let createdAt: String
    public let updatedAt: String
    /// The `id` of its ``Bucket``.
    public let bucketId: String
    public let attachments: [NotificationAttachment]
    public let actions: [NotificationAction]
    /// What a tap on the notification does.
    public let tapAction: NotificationAction?

    public init(
        id: String, title: String, subtitle: String? = nil, body: String? = nil, readAt: String? = nil, sentAt: String? = nil,
        createdAt: String, updatedAt: String, bucketId: String, attachments: [NotificationAttachment] = [],
        actions: [NotificationAction] = [], tapAction: NotificationAction? = nil
    ) {
        self.id = id
        self.title = title
        self.subtitle = subtitle
        self.body = body
        self.readAt = readAt
        self.sentAt = sentAt
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.bucketId = bucketId
        self.attachments = attachments
        self.actions = actions
        self.tapAction = tapAction
    }

    /// Skips elements of `attachments` and `actions` that are not objects, because these columns may hold any JSON.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        id = try members.decode(String.self, forKey: .id)
        title = try members.decode(String.self, forKey: .title)
        subtitle = try members.decodeIfPresent(String.self, forKey: .subtitle)
        body = try members.decodeIfPresent(String.self, forKey: .body)
        readAt = try members.decodeIfPresent(String.self, forKey: .readAt)
        sentAt = try members.decodeIfPresent(String.self, forKey: .sentAt)
        createdAt = try members.decode(String.self, forKey: .createdAt)
        updatedAt = try members.decode(String.self, forKey: .updatedAt)
        bucketId = try members.decode(String.self, forKey: .bucketId)
        attachments = members.tolerantList(.attachments)
        actions = members.tolerantList(.actions)
        tapAction = try? members.decodeIfPresent(NotificationAction.self, forKey: .tapAction)
    }
}
