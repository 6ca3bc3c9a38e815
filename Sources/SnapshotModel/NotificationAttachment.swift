/// A picture, sound or other medium that belongs to a notification.
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
}
