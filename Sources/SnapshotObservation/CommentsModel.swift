public import CloudStore
public import Observation
public import ProjectSharing
import StrictText

/// The comments on one shared project for a user interface, with the text that the user is writing.
///
///     TextField("Say something", text: $comments.draft)
///     Button("Send") { Task { await comments.post(by: name) } }
@MainActor @Observable public final class CommentsModel {
    /// The text to post. It is cleared after it was posted, and kept if posting fails.
    public var draft = ""
    /// The loading state of the comments.
    public private(set) var state = LoadState.inactive
    /// The comments in the order in which they were posted.
    public private(set) var comments: [ProjectComment] = []
    /// Whether a comment is being posted.
    public private(set) var isPosting = false
    /// Why the last load or post failed; nil if it succeeded.
    public private(set) var failure: PresentableError?

    @ObservationIgnored private let project: String
    @ObservationIgnored private let sharing: ProjectSharing
    @ObservationIgnored private let language: ErrorLanguage

    /// Creates a model of the comments on a project. ``load()`` loads them.
    ///
    /// - Parameter language: the language of ``failure``.
    public init(on project: String, in sharing: ProjectSharing, language: ErrorLanguage = .preferred) {
        (self.project, self.sharing, self.language) = (project, sharing, language)
    }

    /// Loads the comments, unless they are loaded already.
    public func load() async { if state == .inactive { await reload() } }

    /// Loads the comments again.
    public func reload() async {
        let before = state
        guard before != .loading else { return }
        state = .loading
        do {
            let loaded = try await sharing.comments(on: project)
            // A comment that this device posted after the read is not among the loaded ones. Keep it.
            let last = loaded.last?.postedAt ?? .distantPast
            let shown = loaded + comments.filter { ($0.postedAt ?? .distantPast) > last }
            if comments != shown { comments = shown }
            (state, failure) = (shown.isEmpty ? .noResults : .success, nil)
        } catch {
            (state, failure) = (before, PresentableError(error, in: language))
        }
    }

    /// Posts ``draft``, and shows it at once. Does nothing while another comment is being posted.
    public func post(by name: String) async {
        guard !isPosting else { return }
        isPosting = true
        defer { isPosting = false }
        let text = draft
        do {
            let comment = try await sharing.post(text, by: name, on: project)
            if !comments.contains(where: { $0.id == comment.id }) { comments.append(comment) }
            if state == .noResults { state = .success }
            // If the user has typed meanwhile, keep that text: it is another comment.
            if draft == text { draft = "" }
            failure = nil
        } catch {
            failure = PresentableError(error, in: language)
        }
    }
}
