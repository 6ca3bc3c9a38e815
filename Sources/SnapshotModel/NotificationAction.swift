/// What a button of a notification, or a tap on it, does.
public struct NotificationAction: Codable, Hashable, Sendable {
    /// `DELETE`, `NAVIGATE`, `MARK_AS_READ`, … as the application writes it.
    public let type: String
    public let value: String?
    public let title: String?
    public let icon: String?
    /// Whether the action destroys something and is to be shown so.
    public let destructive: Bool

    public init(type: String, value: String? = nil, title: String? = nil, icon: String? = nil, destructive: Bool) {
        self.type = type
        self.value = value
        self.title = title
        self.icon = icon
        self.destructive = destructive
    }
}
