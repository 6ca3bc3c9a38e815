/// What a button of a notification, or a tap on it, does.
///
/// Any JSON object decodes: a `type` that is missing is empty, `destructive` is then false.
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

    /// - Throws: `DecodingError` for anything but a JSON object.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            type: members.tolerantText(.type) ?? "", value: members.tolerantText(.value), title: members.tolerantText(.title),
            icon: members.tolerantText(.icon), destructive: members.tolerantFlag(.destructive))
    }
}
