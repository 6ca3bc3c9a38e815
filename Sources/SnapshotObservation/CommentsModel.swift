public import CloudStore
public import Observation
public import ProjectSharing

/// The comments on one shared project as a user interface shows them, with the text that is being written.
///
///     TextField("Say something", text: $comments.draft)
///     Button("Send") { Task { await comments.post(by: name) } }
@MainActor @Observable public final class CommentsModel {
    /// The text to post. It is emptied when it was posted, and stays if that fails.
    public var draft = ""
    /// How far the comments have come.
    public private(set) var state = LoadState.inactive
    /// In the order in which they were posted.
    public private(set) var comments: [ProjectComment] = []
    /// Whether a comment is on its way.
    public private(set) var isPosting = false
    /// Why the last load or post failed; nil if it did not.
    public private(set) var failure: PresentableError?

    @ObservationIgnored private let thread: CommentThread
    @ObservationIgnored private let language: ErrorLanguage

    /// The comments on a project; loaded when ``load()`` is called.
    ///
    /// - Parameter language: the language of ``failure``.
    public init(on project: String, in sharing: ProjectSharing, language: ErrorLanguage = .preferred) {
        thread = CommentThread(on: project, in: sharing)
        self.language = language
    }

    /// Loads the comments, unless they were loaded already.
    public func load() async { await show { await $0.load() } }

    /// Loads the comments anew.
    public func reload() async { await show { await $0.reload() } }

    /// Posts ``draft``, and shows it at once. Does nothing while a comment is on its way.
    public func post(by name: String) async {
        guard !isPosting else { return }
        isPosting = true
        defer { isPosting = false }
        let text = draft
        do {
            try await thread.post(text, by: name)
            // What was typed meanwhile is another comment.
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
