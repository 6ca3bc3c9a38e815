/// The action of a notification's button, or of a tap on the notification.
///
/// Any JSON object decodes: a missing `type` becomes empty, a missing `destructive` false.
public struct NotificationAction: Codable, Hashable, Sendable {
    /// `DELETE`, `NAVIGATE`, `MARK_AS_READ`, … as the application writes it.
    public let type: String
    public let value: String?
    public let title: String?
    public let icon: String?
    /// Whether the action destroys something and should be shown as destructive.
    public let destructive: Bool

    public init(type: String, value: String? = nil, title: String? = nil, icon: String? = nil, destructive: Bool) {
        self.type = type
        self.value = value
        self.title = title
        self.icon = icon
        self.destructive = destructive
    }

    /// - Throws: `DecodingError` if the JSON is not an object.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            type: members.tolerantText(.type) ?? "", value: members.tolerantText(.value), title: members.tolerantText(.title),
            icon: members.tolerantText(.icon), destructive: members.tolerantFlag(.destructive))
    }
}
