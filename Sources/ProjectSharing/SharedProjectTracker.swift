public import CloudStore
public import SnapshotModel

/// The state of one project in the cloud, for its owner's screen: whether it is shared, and the actions that change that.
///
///     let tracker = SharedProjectTracker(of: draft.id, in: sharing)
///     Task { for await shown in tracker.values { render(shown.status, shown.failure) } }
///     await tracker.check()
///     await tracker.publish(draft, owner: "Anna")
///
/// Failures do not throw: they are part of the shown values. After each action the status is read from the cloud again.
public actor SharedProjectTracker {
    /// The values for the screen.
    public struct Shown: Sendable {
        /// Read from the cloud after every action; `checking` until the first answer.
        public internal(set) var status = SharedProjectStatus.checking
        /// Why the last action failed; nil if it succeeded.
        public internal(set) var failure: PresentableError?
    }

    /// The project's id.
    public nonisolated let project: String
    private let sharing: ProjectSharing
    private let observed = ObservedValue(Shown())

    /// Makes a tracker. Call ``check()`` to read the status.
    public init(of project: String, in sharing: ProjectSharing) { (self.project, self.sharing) = (project, sharing) }

    /// The present values.
    public nonisolated var shown: Shown { observed.current }

    /// The present values, and each later change.
    public nonisolated var values: AsyncStream<Shown> { observed.values() }

    /// Reads whether the project is shared. If that fails, the status stays `checking`, since it is unknown.
    public func check() async { await run {} }

    /// Shares the project, or replaces the shared one.
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
