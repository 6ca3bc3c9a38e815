public import CloudStore
import StrictText

/// The comments on one project, for a screen that shows them.
///
///     let thread = CommentThread(on: "garden", in: sharing)
///     await thread.load()
///     do { try await thread.post(field.text, by: name); field.text = "" }
///     catch { field.text = error.text; alert = PresentableError(error) }
public actor CommentThread {
    /// The values for the screen.
    public struct Shown: Sendable {
        public internal(set) var state = LoadState.inactive
        /// In the order in which they were posted.
        public internal(set) var comments: [ProjectComment] = []
        /// Why the last load failed; nil if it succeeded.
        public internal(set) var failure: PresentableError?
    }

    /// The project's id.
    public nonisolated let project: String
    private let sharing: ProjectSharing
    private let observed = ObservedValue(Shown())

    /// The comments on a project. Call ``load()`` to load them.
    public init(on project: String, in sharing: ProjectSharing) { (self.project, self.sharing) = (project, sharing) }

    /// The present values.
    public nonisolated var shown: Shown { observed.current }

    /// The present values, and each later change.
    public nonisolated var values: AsyncStream<Shown> { observed.values() }

    /// Loads the comments, unless they are already loaded or being loaded.
    public func load() async {
        guard shown.state == .inactive else { return }
        await reload()
    }

    /// Loads the comments again.
    public func reload() async {
        let before = shown.state
        guard before != .loading else { return }
        observed.change { $0.state = .loading }
        do {
            let comments = try await sharing.comments(on: project)
            observed.change { shown in
                // A comment that this device posted after the read is not among the loaded ones. Keep it.
                let last = comments.last?.postedAt ?? .distantPast
                shown.comments = comments + shown.comments.filter { ($0.postedAt ?? .distantPast) > last }
                shown.state = shown.comments.isEmpty ? .noResults : .success
                shown.failure = nil
            }
        } catch {
            observed.change { shown in
                shown.state = before
                shown.failure = PresentableError(error)
            }
        }
    }

    /// Posts a comment and shows it at once.
    ///
    /// - Throws: ``CommentNotSent`` with the text, as ``ProjectSharing/post(_:by:on:)`` does.
    public func post(_ text: String, by name: String) async throws(CommentNotSent) {
        let comment = try await sharing.post(text, by: name, on: project)
        observed.change { shown in
            guard !shown.comments.contains(where: { $0.id == comment.id }) else { return }
            shown.comments.append(comment)
            if shown.state == .noResults { shown.state = .success }
        }
    }
}
