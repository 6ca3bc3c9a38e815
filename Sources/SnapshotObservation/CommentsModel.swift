public import CloudStore
public import Observation
public import ProjectSharing

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

    @ObservationIgnored private let thread: CommentThread
    @ObservationIgnored private let language: ErrorLanguage

    /// Creates a model of the comments on a project. ``load()`` loads them.
    ///
    /// - Parameter language: the language of ``failure``.
    public init(on project: String, in sharing: ProjectSharing, language: ErrorLanguage = .preferred) {
        thread = CommentThread(on: project, in: sharing)
        self.language = language
    }

    /// Loads the comments, unless they are loaded already.
    public func load() async { await show { await $0.load() } }

    /// Loads the comments again.
    public func reload() async { await show { await $0.reload() } }

    /// Posts ``draft``, and shows it at once. Does nothing while another comment is being posted.
    public func post(by name: String) async {
        guard !isPosting else { return }
        isPosting = true
        defer { isPosting = false }
        let text = draft
        do {
            try await thread.post(text, by: name)
            // If the user has typed meanwhile, keep that text: it is another comment.
            if draft == text { draft = "" }
            mirror()
            failure = nil
        } catch {
            failure = PresentableError(error, in: language)
        }
    }

    private func show(_ body: @Sendable (CommentThread) async -> Void) async {
        let watching = Task { for await _ in thread.values { mirror() } }
        await body(thread)
        watching.cancel()
        mirror()
    }

    private func mirror() {
        let shown = thread.shown
        state = shown.state
        if comments != shown.comments { comments = shown.comments }
        failure = shown.failure?.translated(to: language)
    }
}
