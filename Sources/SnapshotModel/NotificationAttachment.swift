/// A picture, sound or other medium of a notification.
///
/// Any JSON object decodes: a missing `mediaType` becomes empty.
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

    /// - Throws: `DecodingError` if the JSON is not an object.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.init(mediaType: members.tolerantText(.mediaType) ?? "", url: members.tolerantText(.url), name: members.tolerantText(.name))
    }
}
