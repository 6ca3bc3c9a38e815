public import CloudStore
public import StrictText

/// A comment on a shared project.
public struct ProjectComment: Hashable, Sendable, Identifiable, Encodable {
    /// The name of the comment's record.
    public let id: String
    public let text: String
    /// The author's name, as the author entered it.
    public let name: String
    /// When it was posted, by the commits' timestamps, which never go back.
    public let postedAt: Instant?
    /// The device that posted it.
    public let device: String?

    /// Reads a record; nil if it is not a comment.
    init?(_ record: CloudRecord) {
        guard record.type == ShareRecords.comment, let text = record.text("text"), let name = record.text("name") else { return nil }
        id = record.name
        self.text = text
        self.name = name
        postedAt = record.creation?.at
        device = record.creation?.device
    }
}

/// A comment that could not be sent, with its text, so that the user's input is not lost.
///
///     do { try await sharing.post(draft, by: name, on: "garden") }
///     catch { draft = error.text; alert = PresentableError(error) }
public struct CommentNotSent: Error, Sendable, CustomStringConvertible {
    /// The exact text of the comment.
    public let text: String
    /// The author's name.
    public let name: String
    /// Why it was not sent.
    public let cause: any Error

    /// The cause's description, without the text.
    public var description: String { String(describing: cause) }
}

extension CommentNotSent: PresentableErrorConvertible {
    /// The cause, as a user interface shows it.
    public func presentable(in language: ErrorLanguage) -> PresentableError { PresentableError(cause, in: language) }
}
