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

/// The action of a notification's button, or of a tap on the notification.
///
/// Any JSON object decodes: a missing `type` becomes empty, a missing `destructive` false.
public struct NotificationAction: Codable, Hashable, Sendable {
    /// `DELETE`, `NAVIGATE`, `MARK_AS_READ`, … as the application writes it.
    public let type: String
    public let value: String?
    public let title: String?
    package let icon: String?
    /// Whether the action destroys something and should be shown as destructive.
    package let destructive: Bool

    public init(type: String, value: String? = nil, title: String? = nil, icon: String? = nil, destructive: Bool) {
        (self.type, self.value, self.title, self.icon, self.destructive) = (type, value, title, icon, destructive)
    }

    /// - Throws: `DecodingError` if the JSON is not an object.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            type: members.tolerantText(.type) ?? "", value: members.tolerantText(.value), title: members.tolerantText(.title),
            icon: members.tolerantText(.icon), destructive: members.tolerantFlag(.destructive))
    }
}

/// A picture, sound or other medium of a notification.
///
/// Any JSON object decodes: a missing `mediaType` becomes empty.
public struct NotificationAttachment: Codable, Hashable, Sendable {
    /// `IMAGE`, `VIDEO`, `AUDIO`, … as the application writes it.
    public let mediaType: String
    public let url: String?
    public let name: String?

    public init(mediaType: String, url: String? = nil, name: String? = nil) {
        (self.mediaType, self.url, self.name) = (mediaType, url, name)
    }

    /// - Throws: `DecodingError` if the JSON is not an object.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.init(mediaType: members.tolerantText(.mediaType) ?? "", url: members.tolerantText(.url), name: members.tolerantText(.name))
    }
}

/// One version of all notifications, as the JSON document in an asset.
///
/// Any asset of the dataset `notifications`, decompressed, decodes into this.
public struct NotificationsDataContainer: Codable, Hashable, Sendable {
    public let notifications: [Notification]
    /// When the container was made, as RFC 3339 text.
    public let syncTimestamp: String

    public init(notifications: [Notification], syncTimestamp: String) {
        (self.notifications, self.syncTimestamp) = (notifications, syncTimestamp)
    }
}

extension NotificationsDataContainer: DatasetContainer {
    public static let dataset = "notifications"
    public var entities: [Notification] { notifications }

    public init(entities: [Notification], syncTimestamp: String) { self.init(notifications: entities, syncTimestamp: syncTimestamp) }
}
