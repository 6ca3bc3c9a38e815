/// A picture, sound or other medium that belongs to a notification.
///
/// Any JSON object decodes: a `mediaType` that is missing is empty.
public struct NotificationAttachment: Codable, Hashable, Sendable {
    /// `IMAGE`, `VIDEO`, `AUDIO`, … as the application writes it.
    public let mediaType: String
    public let url: String?
    public let name: String?

    public init(mediaType: String, url: String? = nil, name: String? = nil) {
        self.mediaType = mediaType
        self.url = url
        self.name = name
    }

    /// - Throws: `DecodingError` for anything but a JSON object.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.init(mediaType: members.tolerantText(.mediaType) ?? "", url: members.tolerantText(.url), name: members.tolerantText(.name))
    }
}
