public import CloudStore
public import StrictText

/// What somebody said about a shared project.
public struct ProjectComment: Hashable, Sendable, Identifiable {
    /// The name of its record.
    public let id: String
    public let text: String
    /// Who said it, in their own words.
    public let name: String
    /// When, by the commits' clock, which never goes back.
    public let postedAt: Instant?
    /// The device that posted it.
    public let device: String?

    /// Reads a record; nil if it is not one of a comment.
    init?(_ record: CloudRecord) {
        guard record.type == ShareRecords.comment, let text = record.text("text"), let name = record.text("name") else { return nil }
        id = record.name
        self.text = text
        self.name = name
        postedAt = record.creation?.at
        device = record.creation?.device
    }
}

/// A comment that was not sent, with its text: nothing that somebody typed is lost.
///
///     do { try await sharing.post(draft, by: name, on: "garden") }
///     catch { draft = error.text; alert = PresentableError(error) }
public struct CommentNotSent: Error, Sendable, CustomStringConvertible {
    /// Exactly what was to be sent.
    public let text: String
    /// Who was to have said it.
    public let name: String
    /// Why it was not sent.
    public let cause: any Error

    /// The cause's words, without the text.
    public var description: String { String(describing: cause) }
}

extension CommentNotSent: PresentableErrorConvertible {
    /// The cause, as a user interface shows it.
    public func presentable(in language: ErrorLanguage) -> PresentableError { PresentableError(cause, in: language) }
}
