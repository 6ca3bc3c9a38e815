/// One version of all notifications, as the JSON document in an asset.
///
/// Any asset of the dataset `notifications`, decompressed, decodes into this.
public struct NotificationsDataContainer: Codable, Hashable, Sendable {
    public let notifications: [Notification]
    /// When the container was made, as RFC 3339 text.
    public let syncTimestamp: String

    public init(notifications: [Notification], syncTimestamp: String) {
        self.notifications = notifications
        self.syncTimestamp = syncTimestamp
    }
}

extension NotificationsDataContainer: DatasetContainer {
    public static let dataset = "notifications"
    public var entities: [Notification] { notifications }

    public init(entities: [Notification], syncTimestamp: String) { self.init(notifications: entities, syncTimestamp: syncTimestamp) }
}
