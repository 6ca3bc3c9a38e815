public import CloudStore
public import SnapshotModel

/// One project's place in the cloud, as its owner's screen shows it: whether it is shared, and the buttons that change that.
///
///     let tracker = SharedProjectTracker(of: draft.id, in: sharing)
///     Task { for await shown in tracker.values { render(shown.status, shown.failure) } }
///     await tracker.check()
///     await tracker.publish(draft, owner: "Anna")
///
/// Failures do not throw: they are part of what is shown, and the status is looked up anew.
public actor SharedProjectTracker {
    /// What a screen shows.
    public struct Shown: Sendable {
        /// Looked up after every change; `checking` until the first answer.
        public internal(set) var status = SharedProjectStatus.checking
        /// Why the last action failed; nil if it did not.
        public internal(set) var failure: PresentableError?
    }

    /// The project's id.
    public nonisolated let project: String
    private let sharing: ProjectSharing
    private let observed = ObservedValue(Shown())

    /// A project whose status is looked up when ``check()`` is called.
    public init(of project: String, in sharing: ProjectSharing) {
        self.project = project
        self.sharing = sharing
    }

    /// What is shown now.
    public nonisolated var shown: Shown { observed.current }

    /// What is shown now and each time it changes.
    public nonisolated var values: AsyncStream<Shown> { observed.values() }

    /// Looks whether the project is shared. Where that fails the status stays `checking`: nobody knows.
    public func check() async { await run {} }

    /// Shares the project, or replaces what is shared.
    public func publish(_ draft: ProjectDraft, owner: String) async {
        await run { [sharing] in _ = try await sharing.publish(draft, owner: owner) }
    }

    /// Removes the project with its items and comments.
    public func remove() async {
        await run { [sharing, project] in _ = try await sharing.remove(project) }
    }

    private func run(_ action: @Sendable () async throws -> Void) async {
        observed.change { $0.status = .checking }
        var failure: PresentableError?
        do { try await action() } catch { failure = PresentableError(error) }
        do {
            let status = try await sharing.status(of: project)
            observed.change { $0 = Shown(status: status, failure: failure) }
        } catch {
            observed.change { $0.failure = failure ?? PresentableError(error) }
        }
    }
}
